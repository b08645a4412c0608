//! Changes of a text that can be taken back, as many as there is room for.

use std::collections::VecDeque;

use crate::limits::{UNDO_BYTES_MAX, UNDO_STEPS_MAX};

/// One change: what was at a place and what is there now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextChange {
    pub(super) at: usize,
    pub(super) removed: String,
    pub(super) inserted: String,
    pub(super) cursor_before: usize,
    /// Typed text joins what was typed just before it.
    pub(super) is_typing: bool,
}

impl TextChange {
    fn bytes(&self) -> usize {
        self.removed.len() + self.inserted.len()
    }
}

/// What can be taken back, and what was.
#[derive(Clone, Debug, Default)]
pub(super) struct UndoSteps {
    done: VecDeque<TextChange>,
    undone: Vec<TextChange>,
    bytes: usize,
    is_closed: bool,
}

impl UndoSteps {
    /// A change was made.
    pub(super) fn push(&mut self, change: TextChange) {
        self.bytes -= self.undone.drain(..).map(|change| change.bytes()).sum::<usize>();
        self.bytes += change.bytes();
        let is_closed = std::mem::take(&mut self.is_closed);
        match self.done.back_mut() {
            Some(last) if !is_closed && joins(last, &change) => last.inserted.push_str(&change.inserted),
            _ => self.done.push_back(change),
        }
        while self.bytes > UNDO_BYTES_MAX || self.done.len() > UNDO_STEPS_MAX {
            let Some(oldest) = self.done.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }

    /// What is typed from now on is a step of its own.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// The change to take back.
    pub(super) fn undo(&mut self) -> Option<TextChange> {
        let change = self.done.pop_back()?;
        self.undone.push(change.clone());
        self.is_closed = true;
        Some(change)
    }

    /// The change to make again.
    pub(super) fn redo(&mut self) -> Option<TextChange> {
        let change = self.undone.pop()?;
        self.done.push_back(change.clone());
        self.is_closed = true;
        Some(change)
    }

    /// All texts in it.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let changes = self.done.iter().chain(&self.undone);
        changes.flat_map(|change| [change.removed.as_str(), change.inserted.as_str()])
    }
}

/// Letters join a word, and spaces join what is before them.
fn joins(last: &TextChange, next: &TextChange) -> bool {
    let is_behind = last.at + last.inserted.len() == next.at && next.removed.is_empty();
    let begins_word =
        last.inserted.ends_with(char::is_whitespace) && !next.inserted.starts_with(char::is_whitespace);
    last.is_typing && next.is_typing && is_behind && !begins_word
}
