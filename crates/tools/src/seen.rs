//! What one agent has read or written, so that it does not write over what it has not seen.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use posse_workspace::{Stamp, WorkspacePath};

use crate::limits;

/// Files by path, as the agent last saw them.
#[derive(Debug, Default)]
pub(crate) struct SeenFiles(Mutex<Files>);

#[derive(Debug, Default)]
struct Files {
    turn: u64,
    by_path: HashMap<WorkspacePath, Sight>,
}

/// A file as it was, and the turn from which on the agent knows.
#[derive(Clone, Copy, Debug)]
struct Sight {
    stamp: Stamp,
    from_turn: u64,
}

impl SeenFiles {
    /// The agent has been told the results of all calls so far.
    pub(crate) fn next_turn(&self) {
        self.lock().turn += 1;
    }

    /// Remembers a file that was read. The agent knows its content from the next turn on: a call in the same reply
    /// was made without it.
    pub(crate) fn read(&self, path: &WorkspacePath, stamp: Stamp) {
        let from_turn = self.lock().turn + 1;
        self.note(path, Sight { stamp, from_turn });
    }

    /// Remembers a file that the agent wrote, and so knows already.
    pub(crate) fn written(&self, path: &WorkspacePath, stamp: Stamp) {
        self.note(path, Sight { stamp, from_turn: 0 });
    }

    /// The file as the agent knows it.
    pub(crate) fn last(&self, path: &WorkspacePath) -> Option<Stamp> {
        let files = self.lock();
        files.by_path.get(path).filter(|sight| sight.from_turn <= files.turn).map(|sight| sight.stamp)
    }

    fn note(&self, path: &WorkspacePath, sight: Sight) {
        let mut files = self.lock();
        // Forgetting only means that a file has to be read again.
        if files.by_path.len() >= limits::SEEN_FILES_MAX && !files.by_path.contains_key(path) {
            files.by_path.clear();
        }
        files.by_path.insert(path.clone(), sight);
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
