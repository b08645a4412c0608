//! What a confined command named in order to change it. Plain data.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// What a command opened for writing, made, removed, renamed, linked or changed the attributes of. That it named something
/// does not say that anything came of it. All are absolute, links in the folders above resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// What may hold something else by it. Of a new hard link both names.
    pub paths: BTreeSet<PathBuf>,
    /// What got another name, by both names, with all that was and is below. It holds what it held.
    pub moved: BTreeMap<PathBuf, Came>,
    /// What held afterwards what it held before: it got other permissions, times or attributes, or the call failed. What
    /// is in it by now, somebody else may have written.
    pub marked: BTreeSet<PathBuf>,
    /// Whether these are all. Not so where the command was not watched, or named more than is kept.
    pub complete: bool,
}

/// Where what is at a name came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// Nothing came: what was there has another name.
    Gone,
    /// From outside the workspace.
    Outside,
    /// It was here before the command, perhaps by the very same name.
    From(PathBuf),
}

impl Touched {
    /// Whether a path was named, or moved with a folder.
    pub fn names(&self, path: &Path) -> bool {
        self.paths.contains(path) || self.marked.contains(path) || self.came(path).is_some()
    }

    /// Where what is at a path came from, if it moved, itself or with a folder.
    pub fn came(&self, path: &Path) -> Option<Came> {
        let (above, came) = path.ancestors().find_map(|above| Some((above, self.moved.get(above)?)))?;
        Some(came.below(path.strip_prefix(above).ok()?))
    }
}

impl Came {
    /// The same for what is below by this name.
    pub(crate) fn below(&self, rest: &Path) -> Self {
        match self {
            Self::From(origin) => Self::From(under(origin, rest)),
            other => other.clone(),
        }
    }
}

/// A path below a folder; the folder itself if there is none.
pub(crate) fn under(folder: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { folder.to_owned() } else { folder.join(rest) }
}
