//! What a tree of files looks like, exactly enough that no change goes unseen. Knows nothing of attempts.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Everything below some paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    entries: BTreeMap<PathBuf, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// With the kind of file.
    mode: u32,
    owner: (u32, u32),
    /// Names of a file; zero for a folder, whose number says nothing new.
    links: u64,
    /// When it was changed; zero where that is not looked at.
    changed_ns: i128,
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Bytes(Vec<u8>),
    Link(PathBuf),
    None,
}

/// Whether times of folders are part of it. In the workspace they are not: Posse itself puts things there for a while.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderTimes {
    Kept,
    Left,
}

impl Snapshot {
    /// Adds a path and all that is below it; nothing if it is not there.
    pub(crate) fn add(&mut self, path: &Path, times: FolderTimes) {
        let Ok(metadata) = path.symlink_metadata() else { return };
        let kind = metadata.file_type();
        let content = if kind.is_symlink() {
            Content::Link(std::fs::read_link(path).unwrap_or_default())
        } else if kind.is_file() {
            Content::Bytes(std::fs::read(path).unwrap_or_default())
        } else {
            Content::None
        };
        let timed = !kind.is_dir() || times == FolderTimes::Kept;
        let changed_ns = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        let entry = Entry {
            mode: metadata.mode(),
            owner: (metadata.uid(), metadata.gid()),
            links: if kind.is_dir() { 0 } else { metadata.nlink() },
            changed_ns: if timed { changed_ns } else { 0 },
            content,
        };
        self.entries.insert(path.to_path_buf(), entry);
        if kind.is_dir() {
            for child in std::fs::read_dir(path).into_iter().flatten().flatten() {
                self.add(&child.path(), times);
            }
        }
    }

    /// Adds the names in a folder, without what they hold.
    pub(crate) fn add_names(&mut self, folder: &Path) {
        for child in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let entry = Entry { mode: 0, owner: (0, 0), links: 0, changed_ns: 0, content: Content::None };
            self.entries.insert(child.path().join("."), entry);
        }
    }

    /// The paths that differ.
    pub(crate) fn changed_since(&self, before: &Self) -> Vec<String> {
        let paths = self.entries.keys().chain(before.entries.keys());
        let mut changed: Vec<String> = paths
            .filter(|path| self.entries.get(*path) != before.entries.get(*path))
            .map(|path| path.display().to_string())
            .collect();
        changed.sort();
        changed.dedup();
        changed
    }
}
