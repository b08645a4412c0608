//! What a command has named so far in order to change it, on its way to the outside.

use std::{
    collections::HashSet,
    os::unix::{ffi::OsStrExt, net::UnixStream},
    path::{Path, PathBuf},
};

use super::{calls::Does, guard::may_be_there};
use crate::{
    limits,
    linux::plan::{Message, Told},
};

/// What a call does to what it names. See [`crate::Touched`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Written,
    Moved,
    Marked,
}

/// Paths in the workspace, relative to it.
pub(crate) struct Touches {
    workspace: PathBuf,
    known: HashSet<(Kind, Vec<u8>)>,
    known_bytes: usize,
    /// Those that were not told yet.
    pending: Vec<(Kind, Vec<u8>)>,
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

    /// A call is about to be made. What is outside of the workspace is not kept.
    pub(crate) fn took(&mut self, does: Does, flags: libc::c_int, names: [Option<&Path>; 2]) {
        let kind = if keeps(does, flags, names) {
            Kind::Marked
        } else if matches!(does, Does::Renames(_)) && names.iter().flatten().any(|path| is_folder(path)) {
            // All that is in a folder moves with it.
            Kind::Moved
        } else {
            Kind::Written
        };
        names.iter().flatten().for_each(|path| self.add(kind, path));
    }

    /// Something was made by this name.
    pub(crate) fn wrote(&mut self, path: &Path) {
        self.add(Kind::Written, path);
    }

    fn add(&mut self, kind: Kind, path: &Path) {
        let Some(relative) = self.relative(path) else { return };
        let mut one = (Kind::Written, relative.as_os_str().as_bytes().to_vec());
        let written = self.known.contains(&one);
        one.0 = kind;
        if (written && kind == Kind::Marked) || self.known.contains(&one) {
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
        let messages: [(Kind, fn(Vec<Told>) -> Message); 3] = [
            (Kind::Written, Message::Touched),
            (Kind::Moved, Message::Moved),
            (Kind::Marked, Message::Marked),
        ];
        let pending = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        for (kind, message) in messages {
            let of_kind = pending.iter().filter(|(one, _)| *one == kind);
            let told: Vec<Told> = of_kind.map(|(_, path)| Told::new(path.clone())).collect();
            if !told.is_empty() {
                message(told).tell(line);
            }
        }
    }

    /// Tells the rest, and whether that was all.
    pub(crate) fn end(mut self, line: &UnixStream) {
        self.tell(line);
        Message::Watched(self.complete).tell(line);
    }
}

/// Whether all that a call names holds afterwards what it holds now: it changes attributes alone, or fails as things are.
fn keeps(does: Does, flags: libc::c_int, [first, second]: [Option<&Path>; 2]) -> bool {
    let there = |path: Option<&Path>| path.is_some_and(|path| path.symlink_metadata().is_ok());
    let missing = |path: Option<&Path>| path.is_some_and(|path| !may_be_there(path));
    match does {
        Does::Marks => true,
        Does::Changes => missing(first),
        Does::Empties => false,
        Does::Makes | Does::Points(_) => there(first),
        Does::Opens(_) if flags & libc::O_CREAT == 0 => missing(first),
        Does::Opens(_) => {
            let reads = flags & (libc::O_ACCMODE | libc::O_TRUNC) == libc::O_RDONLY;
            // So `touch` opens a file in order to set its times. What is written into one opened like that is not certain
            // to be the command's.
            let as_touch = libc::O_NONBLOCK | libc::O_NOCTTY;
            let touches = flags & (as_touch | libc::O_TRUNC | libc::O_APPEND) == as_touch;
            (reads || touches || flags & libc::O_EXCL != 0) && there(first)
        }
        Does::Renames(_) => {
            let flags = flags.cast_unsigned();
            let must_be_missing = flags & libc::RENAME_NOREPLACE != 0;
            let must_be_there = flags & libc::RENAME_EXCHANGE != 0;
            missing(first) || (must_be_missing && there(second)) || (must_be_there && missing(second))
        }
        Does::Links => missing(first) || there(second),
    }
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}
