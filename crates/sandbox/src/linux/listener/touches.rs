//! What a command has named so far in order to change it, on its way to the outside.

use std::{
    collections::HashSet,
    os::unix::{ffi::OsStrExt, net::UnixStream},
    path::{Path, PathBuf},
};

use crate::{
    limits,
    linux::plan::{Message, Told},
};

/// Paths in the workspace, relative to it.
pub(crate) struct Touches {
    workspace: PathBuf,
    /// Each with whether it stands for all that is below it.
    known: HashSet<(bool, Vec<u8>)>,
    known_bytes: usize,
    /// Those that were not told yet.
    pending: Vec<(bool, Vec<u8>)>,
    pending_bytes: usize,
    complete: bool,
}

impl Touches {
    pub(crate) fn new(workspace: &Path) -> Self {
        Self {
            workspace: workspace.to_owned(),
            known: HashSet::new(),
            known_bytes: 0,
            pending: Vec::new(),
            pending_bytes: 0,
            complete: true,
        }
    }

    /// Where a path is in the workspace, if it is.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.workspace).ok()
    }

    /// One more. What is outside of the workspace is not kept.
    pub(crate) fn add(&mut self, path: &Path, with_all_below: bool) {
        let Some(relative) = self.relative(path) else { return };
        let one = (with_all_below, relative.as_os_str().as_bytes().to_vec());
        if self.known.contains(&one) {
            return;
        }
        let bytes = one.1.len();
        if self.known.len() >= limits::TOUCHED_MAX || self.known_bytes + bytes > limits::TOUCHED_BYTES_MAX {
            self.complete = false;
            return;
        }
        self.known_bytes += bytes;
        self.pending_bytes += bytes;
        self.pending.push(one.clone());
        self.known.insert(one);
    }

    /// Something was changed by a name that is not known.
    pub(crate) fn missed(&mut self) {
        self.complete = false;
    }

    /// Whether there is something to tell.
    pub(crate) fn has_news(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether there is so much of it that it should be told now.
    pub(crate) fn has_much(&self) -> bool {
        self.pending_bytes >= limits::TOUCHED_CHUNK_BYTES
    }

    /// Tells what is new.
    pub(crate) fn tell(&mut self, line: &UnixStream) {
        let (below, single): (Vec<_>, Vec<_>) = self.pending.drain(..).partition(|(below, _)| *below);
        self.pending_bytes = 0;
        for (all, message) in [(single, Message::Touched as fn(_) -> _), (below, Message::TouchedBelow)] {
            if !all.is_empty() {
                message(all.into_iter().map(|(_, path)| Told::new(path)).collect()).tell(line);
            }
        }
    }

    /// Tells the rest, and whether that was all.
    pub(crate) fn end(mut self, line: &UnixStream) {
        self.tell(line);
        Message::Watched(self.complete).tell(line);
    }
}
