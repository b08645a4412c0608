//! Text that was cut out and can be put back: the newest first, older ones by turning.

use std::collections::VecDeque;

use crate::limits::{KILL_BYTES_MAX, KILLS_MAX};

/// What was cut out, newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct KillRing {
    texts: VecDeque<String>,
}

impl KillRing {
    /// Something was cut out. It joins what was cut out just before it, if `joins`, on the side where it stood.
    pub(super) fn push(&mut self, text: &str, joins: bool, is_before: bool) {
        if text.is_empty() {
            return;
        }
        match self.texts.front_mut().filter(|newest| joins && newest.len() + text.len() <= KILL_BYTES_MAX) {
            Some(newest) if is_before => newest.insert_str(0, text),
            Some(newest) => newest.push_str(text),
            None => self.texts.push_front(text.to_owned()),
        }
        self.texts.truncate(KILLS_MAX);
    }

    /// The newest.
    pub(super) fn newest(&self) -> Option<&str> {
        self.texts.front().map(String::as_str)
    }

    /// Makes the next older one the newest, and the newest the oldest.
    pub(super) fn turn(&mut self) {
        self.texts.rotate_left(usize::from(self.texts.len() > 1));
    }

    /// Forgets some of them.
    pub(super) fn drop_if(&mut self, is_unwanted: impl Fn(&str) -> bool) {
        self.texts.retain(|text| !is_unwanted(text));
    }

    /// All of them.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }
}
