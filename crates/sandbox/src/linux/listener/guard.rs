//! What nobody writes, wherever it is: names that other programs run or obey by themselves, and what those names lead to.
//!
//! It only looks. What may be done is done for the caller by `act.rs`, so that nothing can be exchanged in between. What
//! cannot be looked at, such as the inside of a folder that is closed, counts as what it must not be.

use std::{
    collections::{BTreeSet, VecDeque},
    fs, io,
    path::{Path, PathBuf},
};

use super::{super::plan::Plan, calls::Does};
use crate::{Protected, completes_repository, is_git, is_unpacked, limits, protected_by};

/// Refuses what would change a protected name of a workspace.
pub(crate) struct NameGuard {
    workspace: PathBuf,
    protected: Protected,
    /// The names that were told of.
    told: BTreeSet<PathBuf>,
}

/// What a call is about to do.
pub(crate) struct PlannedChange<'a> {
    pub(crate) does: Does,
    /// The flags of an open or a rename.
    pub(crate) flags: libc::c_int,
    /// What it names, real paths.
    pub(crate) names: [Option<&'a Path>; 2],
    /// What a new link says.
    pub(crate) target: Option<&'a LinkTarget>,
}

/// What a link says, and where that leads.
pub(crate) struct LinkTarget {
    pub(crate) text: PathBuf,
    pub(crate) real: Option<PathBuf>,
}

impl NameGuard {
    pub(crate) fn new(plan: &Plan) -> Self {
        let workspace = plan.workspace().to_owned();
        // What is covered where it is there must not be made where it is not.
        let covered = plan.covered.iter().filter_map(|path| Path::new(path).strip_prefix(&workspace).ok());
        let named = covered.filter(|place| protected_by(place).is_none());
        let protected = Protected::new(named.map(|place| (place.to_owned(), "another program")));
        Self { workspace, protected, told: BTreeSet::new() }
    }

    /// The protected name that a deed would change, if any.
    pub(crate) fn refuses<'a>(&self, deed: &PlannedChange<'a>) -> Option<PathBuf> {
        let [first, second] = deed.names;
        // What makes fails by itself where something is, what changes where nothing is: with the number that programs expect.
        let hit = match deed.does {
            Does::Opens(_) if deed.flags & libc::O_CREAT == 0 => {
                self.written(first).filter(|path| may_be_there(path))
            }
            Does::Opens(_) if deed.flags & libc::O_EXCL != 0 => {
                self.written(first).filter(|path| may_be_missing(path))
            }
            Does::Opens(_) | Does::Empties => self.written(first),
            Does::Makes => self.written(first).filter(|path| may_be_missing(path)),
            Does::Changes | Does::Marks => self.protected(first).filter(|path| may_be_there(path)),
            Does::Points(_) => {
                let new = first.filter(|path| may_be_missing(path));
                let misleads = |new: &&'a Path| deed.target.is_some_and(|target| self.misleads(new, target));
                self.written(new).or_else(|| new.filter(misleads))
            }
            Does::Renames(_) if deed.flags.cast_unsigned() & libc::RENAME_EXCHANGE != 0 => {
                self.moved(first, second).or_else(|| self.moved(second, first))
            }
            Does::Renames(_) => self.moved(first, second),
            Does::Links => {
                let also =
                    |to: &&'a Path| first.is_some_and(|first| is_link(first) && self.comes_to_be(first, to));
                self.protected(first).or_else(|| self.written(second)).or_else(|| second.filter(also))
            }
        };
        hit.map(Path::to_owned)
    }

    /// What a rename in this direction would change. What is not there cannot be moved.
    fn moved<'a>(&self, from: Option<&'a Path>, to: Option<&'a Path>) -> Option<&'a Path> {
        if from.is_some_and(|from| !may_be_there(from)) {
            return None;
        }
        let brings = |to: &&'a Path| from.is_some_and(|from| self.comes_to_be(from, to));
        self.protected(from).or_else(|| self.written(to)).or_else(|| to.filter(brings))
    }

    fn protected<'a>(&self, path: Option<&'a Path>) -> Option<&'a Path> {
        path.filter(|path| self.protects(path))
    }

    fn written<'a>(&self, path: Option<&'a Path>) -> Option<&'a Path> {
        path.filter(|path| self.protects(path) || self.completes(path))
    }

    fn inside<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.workspace).ok()
    }

    fn protects(&self, path: &Path) -> bool {
        self.inside(path).is_some_and(|relative| self.protected.by(relative).is_some())
    }

    /// Whether a folder becomes a repository by it. Of git's own folders the table knows what is to be left alone.
    fn completes(&self, path: &Path) -> bool {
        let Some(relative) = self.inside(path) else { return false };
        let of_git = relative.components().any(|part| is_git(&part.as_os_str().to_string_lossy()));
        !of_git && completes_repository(relative, |part| may_be_there(&self.workspace.join(part)))
    }

    /// Whether a link at a path would lead a program to what is not protected where it is, now or once that is written.
    fn misleads(&self, link: &Path, target: &LinkTarget) -> bool {
        let Some(relative) = self.inside(link) else { return false };
        let real = target.real.as_deref();
        let to_file = || real.is_some_and(|real| real.metadata().is_ok_and(|found| found.is_file()));
        let inside = real.and_then(|real| self.inside(real)).unwrap_or(Path::new(""));
        [&target.text, inside].iter().any(|says| self.protected.misled(relative, says, to_file).is_some())
    }

    /// Whether something would become a protected name, or lead to one, if what is at a path had another name.
    fn comes_to_be(&self, from: &Path, new: &Path) -> bool {
        let Some(relative) = self.inside(new) else { return false };
        match from.symlink_metadata() {
            Ok(found) if found.is_symlink() => {
                let Ok(text) = fs::read_link(from) else { return true };
                let real = new.parent().and_then(|folder| folder.join(&text).canonicalize().ok());
                self.misleads(new, &LinkTarget { text, real })
            }
            Ok(found) if found.is_dir() => {
                let packages = self.inside(from).is_some_and(is_unpacked) && !is_unpacked(relative);
                self.protected.below(relative).iter().any(|rest| reaches(from, rest))
                    || (packages && self.holds(from, new))
            }
            Ok(_) => false,
            Err(error) => !is_missing(&error),
        }
    }

    /// Whether a folder holds anything that would be protected if the folder had another name.
    fn holds(&self, folder: &Path, new: &Path) -> bool {
        let mut open = VecDeque::from([PathBuf::new()]);
        let mut looked = 0;
        while let Some(below) = open.pop_front() {
            let Ok(listed) = fs::read_dir(folder.join(&below)) else { return true };
            for entry in listed {
                let Ok(entry) = entry else { return true };
                let name = below.join(entry.file_name());
                looked += 1;
                if looked > limits::MOVED_LOOKS_MAX || self.protects(&new.join(&name)) {
                    return true;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push_back(name);
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
        let named = above.iter().find_map(|name| self.protected.by(name).map(|program| (*name, program)));
        let (name, program) = named.unwrap_or((relative, "another program"));
        if self.told.len() >= limits::GUARD_NOTES_MAX || !self.told.insert(name.to_owned()) {
            return None;
        }
        let name: String = name.to_string_lossy().chars().flat_map(shown).collect();
        Some(format!("{name} was left as it is: {program} would obey it without asking"))
    }
}

/// Whether a name leads to something below a folder, or to where that cannot be said: through a link, or into a folder
/// that is closed.
fn reaches(folder: &Path, name: &Path) -> bool {
    let mut at = folder.to_owned();
    for part in name.components() {
        at.push(part);
        match at.symlink_metadata() {
            Ok(found) if found.is_symlink() => return true,
            Ok(_) => {}
            Err(error) => return !is_missing(&error),
        }
    }
    true
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether something is at a path, or nobody can tell.
pub(super) fn may_be_there(path: &Path) -> bool {
    path.symlink_metadata().map_or_else(|error| !is_missing(&error), |_| true)
}

fn may_be_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err()
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().map_or_else(|error| !is_missing(&error), |found| found.is_symlink())
}

/// A name must not look like more than one line, or like something else.
fn shown(one: char) -> Vec<char> {
    if one.is_control() { one.escape_default().collect() } else { vec![one] }
}
