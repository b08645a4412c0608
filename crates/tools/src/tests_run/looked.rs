//! The files of the workspace that say what a command runs, as they were when it was judged.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::limits::TEST_FILES_LOOKED_MAX;

/// What is at a path of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// Nothing, or it is outside.
    Missing,
    /// A file: the beginning of it, and which one it is since when.
    File { bytes: Vec<u8>, stamp: Option<(SystemTime, u64)> },
    /// A link that leads out of the workspace, and where.
    Leads(String),
    /// Something that cannot be read.
    Closed,
}

/// Looks up a path of the workspace.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Looked;

/// Remembers what was looked up.
pub(super) struct LookedFiles<'a> {
    lookup: Lookup<'a>,
    seen: RefCell<BTreeMap<String, Looked>>,
}

impl<'a> LookedFiles<'a> {
    pub(super) fn new(lookup: Lookup<'a>) -> Self {
        Self { lookup, seen: RefCell::default() }
    }

    pub(super) fn look(&self, path: &str) -> Looked {
        if let Some(known) = self.seen.borrow().get(path) {
            return known.clone();
        }
        if self.seen.borrow().len() >= TEST_FILES_LOOKED_MAX {
            return Looked::Closed;
        }
        let looked = (self.lookup)(path);
        self.seen.borrow_mut().insert(path.to_owned(), looked.clone());
        looked
    }

    /// Whether anything is there.
    pub(super) fn is_there(&self, path: &str) -> bool {
        self.look(path) != Looked::Missing
    }

    /// The text of a file.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        match self.look(path) {
            Looked::File { bytes, .. } => String::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// All that was looked up.
    pub(super) fn into_seen(self) -> BTreeMap<String, Looked> {
        self.seen.into_inner()
    }
}

/// A path in a folder of the workspace, without its dots. One that leads out keeps them.
pub(super) fn joined(folder: &str, path: &str) -> String {
    if path.starts_with('/') || path.starts_with('~') {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let absolute = if folder.starts_with('/') { "/" } else { "" };
    format!("{absolute}{}", parts.join("/"))
}
