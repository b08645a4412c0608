//! What one agent has read or written, so that it does not write over what it has not seen.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use posse_workspace::{Stamp, WorkspacePath};

use crate::limits;

/// Files by path, as the agent last saw them.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<HashMap<WorkspacePath, Stamp>>);

impl Seen {
    /// Remembers a file as it is now.
    pub(crate) fn note(&self, path: &WorkspacePath, stamp: Stamp) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Forgetting only means that a file has to be read again.
        if files.len() >= limits::SEEN_FILES_MAX && !files.contains_key(path) {
            files.clear();
        }
        files.insert(path.clone(), stamp);
    }

    /// The file as it was last seen.
    pub(crate) fn last(&self, path: &WorkspacePath) -> Option<Stamp> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied()
    }
}
