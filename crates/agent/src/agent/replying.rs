//! What becomes of a reply: words that end it or lead on, calls that are run, refused or answered.

use posse_protocol::{
    Ending, EventKind, Failure, Message, Purpose, Reply, Sender, StopReason, ToolCall, ToolResult,
};

use super::{Agent, Heard, INTERRUPTED, MODEL_REFUSED, NO_MORE_TOOLS, NOT_RUN, REPEATING, State};
use crate::calls::{SortedCalls, distinct_ids, sort};
use crate::step::{Done, Step};
use crate::{limits, prompts};

impl Agent {
    pub(super) fn replied(
        &mut self,
        purpose: Purpose,
        mut reply: Reply,
        record: &mut Vec<EventKind>,
    ) -> Step {
        let cost_usd = self.cost_of(&reply);
        self.count(&reply, cost_usd);
        match purpose {
            Purpose::Summary => return self.take_notes(&reply, record),
            Purpose::SumUp => return self.take_sum(&reply, record),
            Purpose::Work | Purpose::LastWord => {}
        }
        let duplicates = distinct_ids(&mut reply.calls, self.spent.turns);
        let (text, calls, cut) = (reply.text.clone(), reply.calls.clone(), was_cut(&reply));
        let refused = reply.stop == StopReason::Refusal;
        self.keep(reply);
        if let Some(ending) = self.closing.clone() {
            self.refuse_all(&calls, NO_MORE_TOOLS, record);
            return self.finish(ending);
        }
        if refused {
            self.refuse_all(&calls, MODEL_REFUSED, record);
            return self.finish(Ending::Refused);
        }
        if calls.is_empty() {
            return self.said(&text, cut, record);
        }
        let SortedCalls { run, refused, repeated } = sort(&calls, &duplicates, &self.guard);
        for result in &refused {
            record.push(refusal(&calls, result));
        }
        self.work_on(calls, refused);
        if let Some(tool) = repeated {
            self.answer(Vec::new(), REPEATING, record);
            let ending = Ending::Failed { failure: Failure::RepeatedCall { tool } };
            return self.close(ending, "you kept making the same call with the same result", record);
        }
        if run.is_empty() {
            self.answer(Vec::new(), NOT_RUN, record);
            return self.next_turn(record);
        }
        Step::CallTools { calls: run }
    }

    /// Whether a reply is meant to be its last: it works, the reply is complete and has no calls, and nothing waits for it.
    pub fn would_end(&self, reply: &Reply) -> bool {
        matches!(self.state, State::Replying { purpose: Purpose::Work })
            && self.closing.is_none()
            && reply.calls.is_empty()
            && !reply.text.trim().is_empty()
            && !was_cut(reply)
            && reply.stop != StopReason::Refusal
            && self.inbox.is_empty()
            && self.kin.live == 0
    }

    /// Puts a reply into the conversation.
    pub(super) fn keep(&mut self, reply: Reply) {
        self.speak(&reply.text);
        self.compactions_in_a_row = 0;
        let tokens = reply.usage.total_tokens();
        let Reply { text, reasoning, calls, .. } = reply;
        self.conversation.push(Message::Assistant { text, reasoning, calls });
        self.measured = tokens.map(|tokens| (tokens, self.conversation.bytes()));
    }

    pub(super) fn work_on(&mut self, calls: Vec<ToolCall>, refused: Vec<ToolResult>) {
        self.empty_replies = 0;
        self.cut_replies = 0;
        self.beginnings.clear();
        let order = calls.iter().map(|c| c.id.clone()).collect();
        self.state = State::Working { calls, order, results: refused };
    }

    /// A reply without calls: the end, unless it is empty or was cut.
    pub(super) fn said(&mut self, text: &str, cut: bool, record: &mut Vec<EventKind>) -> Step {
        if cut && !text.trim().is_empty() {
            self.cut_replies += 1;
            if self.cut_replies >= limits::CUT_REPLIES_MAX {
                return self.finish(Ending::Failed { failure: Failure::ReplyCutOff });
            }
            self.beginnings.push_str(text);
            self.inbox.insert(0, Heard::new(Sender::Posse, prompts::CUT_OFF));
            return self.next_turn(record);
        }
        self.beginnings.clear();
        self.cut_replies = 0;
        if text.trim().is_empty() {
            // Nothing to say while others work is resting.
            if self.kin.live > 0 && self.inbox.is_empty() {
                self.state = State::Idle;
                return Step::Wait;
            }
            self.empty_replies += 1;
            if self.empty_replies >= limits::EMPTY_REPLIES_MAX {
                return self.finish(Ending::Failed { failure: Failure::EmptyReply });
            }
            self.inbox.insert(0, Heard::new(Sender::Posse, prompts::EMPTY_REPLY));
            return self.next_turn(record);
        }
        self.spoke(record)
    }

    /// Words that were meant to be the last.
    pub(super) fn spoke(&mut self, record: &mut Vec<EventKind>) -> Step {
        if !self.inbox.is_empty() {
            return self.next_turn(record);
        }
        if self.kin.live > 0 {
            self.state = State::Idle;
            return Step::Wait;
        }
        if let Some(bytes_max) = self.to_be_summed_up() {
            return self.ask_to_sum_up(bytes_max, record);
        }
        self.finish(Ending::Completed)
    }

    /// Puts the results of all calls under way into the conversation; what has none gets `otherwise`.
    pub(super) fn answer(&mut self, done: Vec<Done>, otherwise: &str, record: &mut Vec<EventKind>) {
        let State::Working { calls, order, results } = &mut self.state else { return };
        let (calls, order, mut results) =
            (std::mem::take(calls), std::mem::take(order), std::mem::take(results));
        let any_ran = done.iter().any(|d| d.ran);
        // That nothing ran is not the model's doing if it was interrupted.
        let interrupted = otherwise == INTERRUPTED && done.len() + results.len() < order.len();
        if any_ran {
            self.bad_turns = 0;
        } else if !interrupted {
            self.bad_turns += 1;
        }
        for result in &results {
            let (ok, text) = (result.ok, result.text.clone());
            let (id, attachments) = (result.id.clone(), Vec::new());
            let refused = Done { id, ok, text, attachments, ran: false, read_only: true };
            let Some(call) = calls.iter().find(|c| c.id == result.id) else { continue };
            // A copy of an earlier call of the same reply must not pass for a new result of that call.
            let first = calls.iter().find(|c| c.name == call.name && c.arguments == call.arguments);
            if first.is_some_and(|first| first.id == call.id) {
                self.guard.note(call, &refused);
            }
        }
        for done in done {
            let Some(call) = calls.iter().find(|c| c.id == done.id) else { continue };
            let last = self.guard.note(call, &done);
            let text = if last { format!("{}\n{}", done.text, prompts::REPEATED) } else { done.text };
            results.push(ToolResult { id: done.id, ok: done.ok, text, attachments: done.attachments });
        }
        let results = order
            .into_iter()
            .map(|id| {
                let found = results.iter().position(|r| r.id == id).map(|at| results.swap_remove(at));
                found.unwrap_or_else(|| {
                    let text = otherwise.to_string();
                    let result = ToolResult { id, ok: false, text, attachments: Vec::new() };
                    record.push(refusal(&calls, &result));
                    result
                })
            })
            .collect::<Vec<_>>();
        self.tool_calls = self.tool_calls.saturating_add(u32::try_from(results.len()).unwrap_or(u32::MAX));
        self.conversation.push(Message::Tools { results });
    }

    pub(super) fn refuse_all(&mut self, calls: &[ToolCall], text: &str, record: &mut Vec<EventKind>) {
        if calls.is_empty() {
            return;
        }
        self.work_on(calls.to_vec(), Vec::new());
        self.answer(Vec::new(), text, record);
    }
}

/// Whether a reply ran into a limit of its length.
pub(super) fn was_cut(reply: &Reply) -> bool {
    matches!(reply.stop, StopReason::MaxTokens | StopReason::Other(_))
}

fn refusal(calls: &[ToolCall], result: &ToolResult) -> EventKind {
    let tool = calls.iter().find(|c| c.id == result.id).map(|c| c.name.clone()).unwrap_or_default();
    EventKind::ToolFinished {
        call: result.id.clone(),
        tool,
        ok: result.ok,
        text: result.text.clone(),
        attachments: Vec::new(),
        effects: Vec::new(),
        duration_ms: 0,
    }
}
