//! What commands changed: the workspace as it was last seen, compared with what is there now.
//!
//! File tools know what they write; a command may do anything. A [`Baseline`] is shared by all agents of a session and
//! must not know which of them ran what: who asks after a command gets what changed since the last time anyone asked.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    time::{Duration, Instant, SystemTime},
};

use crate::{Kind, Stamp, Stop, Workspace, WorkspacePath, limits, text, walk::Walk};

/// One file that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Relative to the workspace, `/` between parts.
    pub path: String,
    /// Whether it was not there before.
    pub created: bool,
    /// Whether it is gone.
    pub deleted: bool,
    /// Whether its lines could be counted; if not, both numbers are 0.
    pub counted: bool,
    /// Lines that are new.
    pub lines_added: u32,
    /// Lines that are gone.
    pub lines_removed: u32,
}

/// The files of a workspace as they were last seen. Ignored files and `.git` are no part of it.
#[derive(Debug)]
pub struct Baseline {
    workspace: Workspace,
    /// Empty until the first look, and for good once there are too many.
    files: BTreeMap<WorkspacePath, Known>,
    /// Of all contents that are kept.
    kept_bytes: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unseen,
    /// Looked at last at this time.
    Seen(SystemTime),
    Overflowed,
}

#[derive(Debug)]
struct Known {
    stamp: Stamp,
    /// Whether it was so new when it was read that a later change may have left the same stamp.
    fresh: bool,
    /// Kept for texts, as long as there is room.
    content: Option<Box<[u8]>>,
}

impl Baseline {
    /// Knows nothing until the first refresh.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace, files: BTreeMap::new(), kept_bytes: 0, state: State::Unseen }
    }

    /// Whether there are too many files to be measured. Then nothing is, for the rest of the session.
    pub fn overflowed(&self) -> bool {
        self.state == State::Overflowed
    }

    /// What changed since the last call, in the order of paths; nothing the first time. Reads files: not for a thread
    /// that must not wait.
    pub fn refresh(&mut self) -> Vec<Changed> {
        let now = SystemTime::now();
        let before = match self.state {
            State::Overflowed => return Vec::new(),
            State::Unseen => None,
            State::Seen(before) => Some(before),
        };
        // A workspace that cannot be walked at all says nothing about its files.
        let Ok(found) = self.walk() else { return Vec::new() };
        let Some(found) = found else {
            self.files.clear();
            self.kept_bytes = 0;
            self.state = State::Overflowed;
            return Vec::new();
        };
        self.state = State::Seen(now);
        let mut changes = self.compare(&found, before.is_some(), now);
        changes.extend(self.gone(&found));
        let Some(before) = before else { return Vec::new() };
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.without_uncovered(changes, before)
    }

    /// Takes over a file as it is now without reporting it: a file tool has done so.
    pub fn note(&mut self, path: &str) {
        let Ok(path) = self.workspace.resolve(path) else { return };
        if let State::Seen(_) = self.state {
            self.forget(&path);
            if let Ok(Some((Kind::File, stamp))) = self.workspace.look(&path)
                && self.files.len() < limits::BASELINE_FILES_MAX
            {
                let known = self.read(&path, stamp, SystemTime::now());
                self.remember(path, known);
            }
        }
    }

    /// The files there are; `None` if there are too many.
    fn walk(&self) -> Result<Option<BTreeSet<WorkspacePath>>, crate::WorkspaceError> {
        let mut found = BTreeSet::new();
        let root = WorkspacePath::root();
        let walk = Walk {
            workspace: &self.workspace,
            start: &root,
            hidden: true,
            depth: None,
            stop: &Stop::default(),
        };
        let cut = walk.run(&mut |entry| {
            // A file tool of another agent may be in the middle of a write.
            let half_written =
                entry.path.name().starts_with(".posse-") && entry.path.name().ends_with(".tmp");
            if entry.kind == Kind::File && !half_written {
                found.insert(entry.path);
            }
            if found.len() > limits::BASELINE_FILES_MAX {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        Ok((cut.is_none() && found.len() <= limits::BASELINE_FILES_MAX).then_some(found))
    }

    /// Looks at the files there are, and remembers them as they are.
    fn compare(&mut self, found: &BTreeSet<WorkspacePath>, report: bool, now: SystemTime) -> Vec<Changed> {
        let deadline = Instant::now() + Duration::from_millis(limits::BASELINE_DIFF_TIME_MS_MAX);
        let mut changes = Vec::new();
        for path in found {
            let Ok(Some((Kind::File, stamp))) = self.workspace.look(path) else { continue };
            let old = self.files.get(path);
            if old.is_some_and(|old| old.stamp == stamp && !old.fresh) {
                continue;
            }
            let old = self.forget(path);
            let new = self.read(path, stamp, now);
            if report && !old.as_ref().is_some_and(|old| old.same_as(&new)) {
                changes.push(changed(path, old.as_ref(), Some(&new), deadline));
            }
            self.remember(path.clone(), new);
        }
        changes
    }

    /// Known files that were not found any more.
    fn gone(&mut self, found: &BTreeSet<WorkspacePath>) -> Vec<Changed> {
        let missing: Vec<WorkspacePath> =
            self.files.keys().filter(|path| !found.contains(path)).cloned().collect();
        let mut changes = Vec::new();
        for path in missing {
            let old = self.forget(&path);
            // What is still there is ignored from now on.
            if !matches!(self.workspace.look(&path), Ok(Some((Kind::File, _)))) || self.is_link(&path) {
                changes.push(changed(&path, old.as_ref(), None, Instant::now()));
            }
        }
        changes
    }

    /// Whether a link has taken the file's place. Only a hint: nothing is opened by it.
    fn is_link(&self, path: &WorkspacePath) -> bool {
        let metadata = self.workspace.root().join(path.as_path()).symlink_metadata();
        metadata.is_ok_and(|metadata| metadata.is_symlink())
    }

    /// When ignore rules change, old files may come to light that nobody has made.
    fn without_uncovered(&self, mut changes: Vec<Changed>, before: SystemTime) -> Vec<Changed> {
        let rules =
            |change: &Changed| matches!(change.path.rsplit('/').next(), Some(".gitignore" | ".ignore"));
        if changes.iter().any(rules) {
            changes.retain(|change| {
                let known = self.workspace.resolve(&change.path).ok().and_then(|path| self.files.get(&path));
                !(change.created && known.is_some_and(|known| !known.stamp.is_since(recent(before))))
            });
        }
        changes
    }

    fn read(&self, path: &WorkspacePath, stamp: Stamp, now: SystemTime) -> Known {
        let fresh = stamp.is_since(recent(now));
        let room = limits::BASELINE_BYTES_MAX.saturating_sub(self.kept_bytes);
        let bytes_max = limits::BASELINE_FILE_BYTES_MAX.min(room) as u64;
        match self.workspace.read(path, bytes_max) {
            Ok((bytes, stamp)) => {
                let content = (!text::is_binary(&bytes)).then(|| bytes.into_boxed_slice());
                Known { stamp, fresh: fresh || stamp.is_since(recent(now)), content }
            }
            // Too large, not readable, or gone in this moment.
            Err(_) => Known { stamp, fresh, content: None },
        }
    }

    fn remember(&mut self, path: WorkspacePath, known: Known) {
        self.kept_bytes += known.kept_bytes();
        self.files.insert(path, known);
    }

    fn forget(&mut self, path: &WorkspacePath) -> Option<Known> {
        let known = self.files.remove(path)?;
        self.kept_bytes -= known.kept_bytes();
        Some(known)
    }
}

impl Known {
    fn kept_bytes(&self) -> usize {
        self.content.as_ref().map_or(0, |content| content.len())
    }

    /// Whether it holds the same, as far as can be told.
    fn same_as(&self, new: &Self) -> bool {
        match (&self.content, &new.content) {
            (Some(old), Some(new)) => old == new,
            (None, None) => self.stamp.same_data(&new.stamp),
            _ => false,
        }
    }
}

/// What counts as new at a time: clocks of file systems are coarse.
fn recent(now: SystemTime) -> SystemTime {
    now.checked_sub(Duration::from_millis(limits::BASELINE_FRESH_MS)).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn changed(path: &WorkspacePath, old: Option<&Known>, new: Option<&Known>, deadline: Instant) -> Changed {
    // A file that is not there has no lines; one whose content was not kept has an unknown number.
    let content = |known: Option<&Known>| known.map_or(Some(Box::default()), |known| known.content.clone());
    let lines = match (content(old), content(new)) {
        (Some(old), Some(new)) if Instant::now() < deadline => Some(text::line_changes(&old, &new)),
        (Some(old), Some(new)) => Some(text::line_changes_at_most(&old, &new)),
        _ => None,
    };
    let (lines_added, lines_removed) = lines.unwrap_or_default();
    Changed {
        path: path.to_string(),
        created: old.is_none(),
        deleted: new.is_none(),
        counted: lines.is_some(),
        lines_added,
        lines_removed,
    }
}
