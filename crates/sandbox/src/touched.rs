//! What a confined command named in order to change it. Plain data.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// What a command opened for writing, made, removed, renamed, linked or changed the attributes of. That it named something
/// does not say that anything came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Absolute, links in the folders above resolved. Of a rename both names; a folder stands for all that is below it.
    pub paths: BTreeSet<PathBuf>,
    /// Whether these are all. Not so where the command was not watched, or named more than is kept.
    pub complete: bool,
}

impl Touched {
    /// Whether a path, or a folder above it, is among them.
    pub fn names(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.paths.contains(above))
    }
}
