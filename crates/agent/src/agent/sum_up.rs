//! A report that is longer than its reader takes is summed up once, out of what is left of the agent's own budget. The
//! request and its answer are no part of the conversation: whoever takes that up again goes on from the report itself.

use posse_protocol::{Ending, EventKind, Purpose, Reply, Sender};

use super::Agent;
use super::replying::was_cut;
use crate::prompts;
use crate::step::Step;

impl Agent {
    /// How long its report may be, if it is longer than that and can still be summed up.
    pub(super) fn to_be_summed_up(&self) -> Option<usize> {
        let bytes_max = self.settings.sum_up_over.filter(|max| self.words.len() > *max)?;
        (!self.summed_up && self.over_budget().is_none()).then_some(bytes_max)
    }

    pub(super) fn ask_to_sum_up(&mut self, bytes_max: usize, record: &mut Vec<EventKind>) -> Step {
        self.summed_up = true;
        self.say(Sender::Posse, prompts::sum_up(bytes_max), record);
        self.call_model(Purpose::SumUp, record)
    }

    /// Takes the summary, if it is one, and ends: the work was done before.
    pub(super) fn take_sum(&mut self, reply: &Reply, record: &mut Vec<EventKind>) -> Step {
        let sum = reply.text.trim();
        let whole = reply.calls.is_empty() && !was_cut(reply) && !sum.is_empty();
        let short = (whole && sum.len() < self.words.len()).then(|| sum.to_string());
        self.without_sum(record, short)
    }

    /// Ends with or without a summary, unless something was said meanwhile.
    pub(super) fn without_sum(&mut self, record: &mut Vec<EventKind>, short: Option<String>) -> Step {
        self.conversation.take_back();
        if !self.inbox.is_empty() {
            return self.next_turn(record);
        }
        self.short = short;
        self.finish(Ending::Completed)
    }
}
