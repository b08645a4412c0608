//! Shortening a conversation that no longer fits: by the model's own notes, or by dropping the older part.

use std::sync::Arc;

use posse_protocol::{Ending, EventKind, Failure, Message, Reply, Sender};

use super::Agent;
use crate::step::{Purpose, Step};
use crate::{compact, limits, prompts};

impl Agent {
    /// Tokens the next request would take: what the provider counted last plus what was added since.
    fn context_tokens(&self) -> u64 {
        let bytes = self.conversation.bytes();
        match self.measured {
            Some((tokens, at)) if at <= bytes => tokens + (bytes - at) as u64 / limits::BYTES_PER_TOKEN,
            _ => (self.settings.fixed_bytes + bytes) as u64 / limits::BYTES_PER_TOKEN,
        }
    }

    pub(super) fn too_long(&self) -> bool {
        let Some(window) = self.settings.context_window else { return false };
        self.context_tokens() > window * limits::COMPACT_AT_PERCENT / 100
    }

    /// Whether shortening can still help: there is something besides the task, and it was not just tried twice.
    fn can_shorten(&self) -> bool {
        self.conversation.messages().len() > 1
            && self.compactions_in_a_row < limits::FRUITLESS_COMPACTIONS_MAX
    }

    pub(super) fn ask_for_notes(&mut self, record: &mut Vec<EventKind>) -> Step {
        if !self.can_shorten() {
            return self.settle(Ending::Failed { failure: Failure::ContextFull });
        }
        self.say(Sender::Posse, prompts::SUMMARISE.to_string(), record);
        self.call_model(Purpose::Summary, record)
    }

    pub(super) fn take_notes(&mut self, reply: &Reply, record: &mut Vec<EventKind>) -> Step {
        let notes = &reply.text;
        // Words around a call are no notes.
        if notes.trim().is_empty() || !reply.calls.is_empty() {
            return self.no_notes(record);
        }
        let messages = compact::with_notes(&self.task, &self.pinned, notes);
        self.shortened(messages, notes.trim().to_string(), record)
    }

    pub(super) fn no_notes(&mut self, record: &mut Vec<EventKind>) -> Step {
        self.conversation.take_back();
        self.drop_older(record)
    }

    /// Drops the older part without asking the model, when the model cannot take it or gave no notes.
    pub(super) fn drop_older(&mut self, record: &mut Vec<EventKind>) -> Step {
        if !self.can_shorten() {
            return self.settle(Ending::Failed { failure: Failure::ContextFull });
        }
        let window_bytes = self.settings.context_window.map(|window| {
            let bytes = window * limits::BYTES_PER_TOKEN * limits::TRIM_TO_PERCENT / 100;
            usize::try_from(bytes).unwrap_or(usize::MAX).saturating_sub(self.settings.fixed_bytes)
        });
        let half = self.conversation.bytes() / 2;
        let bytes_max = window_bytes.map_or(half, |bytes| bytes.min(half));
        let messages = compact::trimmed(&self.task, self.conversation.messages(), &self.pinned, bytes_max);
        self.shortened(messages, prompts::AFTER_TRIM.to_string(), record)
    }

    fn shortened(
        &mut self,
        messages: Vec<Arc<Message>>,
        summary: String,
        record: &mut Vec<EventKind>,
    ) -> Step {
        let before = self.conversation.bytes();
        self.conversation.replace(messages);
        self.measured = None;
        let after = self.conversation.bytes();
        self.compactions_in_a_row += 1;
        record.push(EventKind::Compacted { summary, bytes_before: before as u64, bytes_after: after as u64 });
        self.next_turn(record)
    }
}
