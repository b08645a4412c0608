//! What a confined command named in order to change it. Plain data.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// What a command opened for writing, made, removed, renamed, linked or changed the attributes of. That it named something
/// does not say that anything came of it. All are absolute, links in the folders above resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// What may hold something else by it. Of a rename and of a new hard link both names.
    pub paths: BTreeSet<PathBuf>,
    /// Folders that got another name, by both: with them, all that was and is below.
    pub moved: BTreeSet<PathBuf>,
    /// What held afterwards what it held before: it got other permissions, times or attributes, or the call failed. What
    /// is in it by now, somebody else may have written.
    pub marked: BTreeSet<PathBuf>,
    /// Whether these are all. Not so where the command was not watched, or named more than is kept.
    pub complete: bool,
}

impl Touched {
    /// Whether a path is among them, or moved with a folder.
    pub fn names(&self, path: &Path) -> bool {
        self.writes(path) || self.marked.contains(path)
    }

    /// The same without what is only marked.
    pub fn writes(&self, path: &Path) -> bool {
        self.paths.contains(path) || path.ancestors().any(|above| self.moved.contains(above))
    }
}
