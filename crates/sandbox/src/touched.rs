//! What a confined command named in order to change it. Plain data.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// What a command opened for writing, made, removed, renamed, linked or changed the attributes of. That it named something
/// does not say that anything came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Absolute, links in the folders above resolved. Of a rename and of a new hard link both names.
    pub paths: BTreeSet<PathBuf>,
    /// Folders that got another name, by both: with them, all that was and is below.
    pub moved: BTreeSet<PathBuf>,
    /// Whether these are all. Not so where the command was not watched, or named more than is kept.
    pub complete: bool,
}

impl Touched {
    /// Whether a path is among them, or moved with a folder.
    pub fn names(&self, path: &Path) -> bool {
        self.paths.contains(path) || path.ancestors().any(|above| self.moved.contains(above))
    }
}
