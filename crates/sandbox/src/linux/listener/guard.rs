//! What nobody writes, wherever it is: names that other programs run or obey by themselves.
//!
//! This looks at a call before the kernel does it, and a second thread can change the path in between. It is the first line:
//! names at the root are covered by mounts, and the workspace is looked at after the command.

use std::{
    collections::{BTreeSet, VecDeque},
    fs,
    path::{Path, PathBuf},
};

use super::calls::Does;
use crate::{completes_repository, is_git, limits, protected_by};

/// Refuses what would change a protected name of a workspace.
pub(crate) struct Guard {
    workspace: PathBuf,
    /// The names that were told of.
    told: BTreeSet<PathBuf>,
}

/// What a call is about to do.
pub(crate) struct Deed<'a> {
    pub(crate) does: Does,
    /// The flags of an open.
    pub(crate) flags: libc::c_int,
    /// What it names, real paths.
    pub(crate) names: &'a [Option<PathBuf>; 2],
    /// What a new link leads to.
    pub(crate) target: Option<&'a Path>,
}

impl Guard {
    pub(crate) fn new(workspace: &Path) -> Self {
        Self { workspace: workspace.to_owned(), told: BTreeSet::new() }
    }

    /// The protected name that a deed would change, if any.
    pub(crate) fn refuses<'a>(&self, deed: &Deed<'a>) -> Option<PathBuf> {
        let [first, second] = deed.names;
        let first = first.as_deref();
        let second = second.as_deref();
        let there = |path: &Path| path.symlink_metadata().is_ok();
        let written =
            |path: Option<&'a Path>| path.filter(|path| self.protects(path) || self.completes(path));
        // What makes fails by itself where something is, what changes where nothing is: with the number that programs expect.
        let hit = match deed.does {
            Does::Opens(_) if deed.flags & libc::O_CREAT == 0 => written(first).filter(|path| there(path)),
            Does::Opens(_) if deed.flags & libc::O_EXCL != 0 => written(first).filter(|path| !there(path)),
            Does::Opens(_) | Does::Empties => written(first),
            Does::Makes => written(first).filter(|path| !there(path)),
            Does::Changes => self.protected(first).filter(|path| there(path)),
            Does::Points(_) => {
                let new = first.filter(|path| !there(path));
                let leads = |path: &&Path| deed.target.is_some_and(|target| self.comes_to_be(target, path));
                written(new).or_else(|| new.filter(leads))
            }
            Does::Renames => {
                let moved = first.filter(|path| there(path));
                let to = second.filter(|_| moved.is_some());
                let brings = |to: &&Path| moved.is_some_and(|moved| self.comes_to_be(moved, to));
                self.protected(moved).or_else(|| written(to)).or_else(|| to.filter(brings))
            }
            Does::Links => self.protected(first).or_else(|| written(second)),
        };
        hit.map(Path::to_owned)
    }

    fn protected<'a>(&self, path: Option<&'a Path>) -> Option<&'a Path> {
        path.filter(|path| self.protects(path))
    }

    fn protects(&self, path: &Path) -> bool {
        path.strip_prefix(&self.workspace).is_ok_and(|relative| protected_by(relative).is_some())
    }

    /// Whether a folder becomes a repository by it. Of git's own folders the table knows what is to be left alone.
    fn completes(&self, path: &Path) -> bool {
        let Ok(relative) = path.strip_prefix(&self.workspace) else { return false };
        let of_git = relative.components().any(|part| is_git(&part.as_os_str().to_string_lossy()));
        !of_git && completes_repository(relative, |part| self.workspace.join(part).symlink_metadata().is_ok())
    }

    /// Whether something in a folder would become a protected name if the folder had another name.
    fn comes_to_be(&self, folder: &Path, new: &Path) -> bool {
        let Ok(folder) = folder.canonicalize() else { return false };
        if !new.starts_with(&self.workspace) || !folder.is_dir() {
            return false;
        }
        let mut open = VecDeque::from([(PathBuf::new(), 0)]);
        let mut looked = 0;
        while let Some((below, depth)) = open.pop_front() {
            for entry in fs::read_dir(folder.join(&below)).into_iter().flatten().flatten() {
                let name = below.join(entry.file_name());
                if self.protects(&new.join(&name)) && !self.protects(&folder.join(&name)) {
                    return true;
                }
                looked += 1;
                if looked > limits::MOVED_LOOKS_MAX {
                    // Settings are in folders whose names begin with a dot, and those are not that large.
                    return new.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
                }
                if depth + 1 < limits::MOVED_DEPTH_MAX && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push_back((name, depth + 1));
                }
            }
        }
        false
    }

    /// What the reader of the result should know about a refusal, once for each name.
    pub(crate) fn note(&mut self, path: &Path) -> Option<String> {
        let relative = path.strip_prefix(&self.workspace).ok()?;
        let mut above: Vec<&Path> = relative.ancestors().collect();
        above.reverse();
        let named = above.iter().find_map(|name| protected_by(name).map(|program| (*name, program)));
        let (name, program) = named.unwrap_or((relative, "another program"));
        if self.told.len() >= limits::GUARD_NOTES_MAX || !self.told.insert(name.to_owned()) {
            return None;
        }
        let name: String = name.to_string_lossy().chars().flat_map(shown).collect();
        Some(format!("{name} was left as it is: {program} would obey it without asking"))
    }
}

/// A name must not look like more than one line, or like something else.
fn shown(one: char) -> Vec<char> {
    if one.is_control() { one.escape_default().collect() } else { vec![one] }
}
