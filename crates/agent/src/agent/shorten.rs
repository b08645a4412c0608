//! Shortening a conversation that no longer fits: by the model's own notes, or by dropping the older part.

use std::sync::Arc;

use posse_protocol::{Ending, EventKind, Failure, Purpose, Reply, Sender, Words};

use super::{Agent, State};
use crate::compact::Shorter;
use crate::step::Step;
use crate::{compact, limits, prompts};

impl Agent {
    /// Tokens the next request would take: what the provider counted last plus what was added since.
    fn context_tokens(&self) -> u64 {
        let waiting = self.inbox.iter().map(|heard| heard.words.bytes()).sum::<usize>();
        let bytes = self.conversation.bytes() + waiting;
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
    pub(super) fn can_shorten(&self) -> bool {
        self.conversation.messages().len() > 1
            && self.compactions_in_a_row < limits::FRUITLESS_COMPACTIONS_MAX
    }

    /// Shortens the conversation because the person wants it: at once while it rests, else at the next turn.
    pub(super) fn compact_now(&mut self, record: &mut Vec<EventKind>) -> Step {
        let State::Resting { ending } = &self.state else {
            self.compact_soon();
            return Step::Wait;
        };
        let ending = ending.clone();
        if !self.can_shorten() {
            return Step::Wait;
        }
        self.wake();
        self.rested = Some(ending);
        self.ask_for_notes(record)
    }

    pub(super) fn ask_for_notes(&mut self, record: &mut Vec<EventKind>) -> Step {
        if !self.can_shorten() {
            return self.too_large();
        }
        self.say(Sender::Posse, prompts::SUMMARISE.to_string(), record);
        self.call_model(Purpose::Summary, record)
    }

    /// Nothing can be left out any more.
    fn too_large(&mut self) -> Step {
        let (tokens, window) = (Some(self.context_tokens()), self.settings.context_window);
        self.finish(Ending::Failed { failure: Failure::ContextFull { tokens, window } })
    }

    pub(super) fn take_notes(&mut self, reply: &Reply, record: &mut Vec<EventKind>) -> Step {
        let notes = &reply.text;
        // Words around a call are no notes.
        if notes.trim().is_empty() || !reply.calls.is_empty() {
            return self.no_notes(record);
        }
        self.conversation.take_back();
        let unread_bytes_max = self.window_bytes(limits::UNREAD_KEPT_PERCENT).unwrap_or(0);
        let messages = self.conversation.messages();
        let shorter = compact::with_notes(&self.task, messages, &self.pinned, notes, unread_bytes_max);
        self.shortened(shorter, notes.trim().to_string(), record)
    }

    pub(super) fn no_notes(&mut self, record: &mut Vec<EventKind>) -> Step {
        self.conversation.take_back();
        self.drop_older(record)
    }

    /// Drops the older part without asking the model, when the model cannot take it or gave no notes.
    pub(super) fn drop_older(&mut self, record: &mut Vec<EventKind>) -> Step {
        if !self.can_shorten() {
            return self.too_large();
        }
        let window_bytes = self
            .window_bytes(limits::TRIM_TO_PERCENT)
            .map(|bytes| bytes.saturating_sub(self.settings.fixed_bytes));
        let half = self.conversation.bytes() / 2;
        let bytes_max = window_bytes.map_or(half, |bytes| bytes.min(half));
        let shown = Words { text: String::new(), attachments: self.task_attachments.clone() };
        let bytes_max = bytes_max.saturating_sub(shown.bytes());
        let shorter = compact::trimmed(&self.task, self.conversation.messages(), &self.pinned, bytes_max);
        self.shortened(shorter, prompts::AFTER_TRIM.to_string(), record)
    }

    fn shortened(&mut self, shorter: Shorter, summary: String, record: &mut Vec<EventKind>) -> Step {
        let before = self.conversation.bytes() as u64;
        let Shorter { opening, kept } = shorter;
        self.begin_anew(opening.clone(), kept);
        record.push(EventKind::Compacted {
            summary,
            bytes_before: before,
            bytes_after: self.conversation.bytes() as u64,
            opening,
            kept: u32::try_from(kept).unwrap_or(u32::MAX),
        });
        if let Some(ending) = self.rested.take() {
            let rest = self.finish(ending);
            if self.inbox.is_empty() || !self.is_resting() {
                return rest;
            }
            self.wake();
        }
        self.next_turn(record)
    }

    /// Replaces the conversation by an opening and its newest messages.
    pub(super) fn begin_anew(&mut self, opening: String, kept: usize) {
        let messages = self.conversation.messages();
        let newest = &messages[messages.len().saturating_sub(kept)..];
        let words = Words { text: opening, attachments: self.task_attachments.clone() };
        let opening = Arc::new(words.into());
        let messages = std::iter::once(opening).chain(newest.iter().cloned()).collect();
        self.conversation.replace(messages);
        self.measured = None;
        self.compactions_in_a_row += 1;
    }

    /// So many percent of the context window, where that is known.
    fn window_bytes(&self, percent: u64) -> Option<usize> {
        let window = self.settings.context_window?;
        Some(usize::try_from(window * limits::BYTES_PER_TOKEN * percent / 100).unwrap_or(usize::MAX))
    }
}
