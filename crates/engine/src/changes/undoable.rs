//! Whether what a command may destroy could be brought back, as far as its text and the files that are there tell.

use std::path::{Path, PathBuf};

use posse_policy::{Reach, Target, fits, is_pattern};
use posse_workspace::{Checkpoints, Covered};

use crate::limits::MATCHED_PATHS_MAX;

/// Whether undo holds for all that a command would reach.
pub(crate) fn holds(checkpoints: &Checkpoints, root: &Path, reach: &Reach) -> bool {
    let start = Path::new("");
    let there = reach.folders.iter().map(Path::new);
    let mut folders: Vec<&Path> =
        there.map(|folder| if root.join(folder).is_dir() { folder } else { start }).collect();
    folders.sort_unstable();
    folders.dedup();
    let kept = Kept { checkpoints, root };
    reach.targets.iter().all(|target| folders.iter().all(|folder| kept.target(folder, target)))
}

struct Kept<'a> {
    checkpoints: &'a Checkpoints,
    root: &'a Path,
}

impl Kept<'_> {
    fn target(&self, folder: &Path, target: &Target) -> bool {
        match target {
            Target::Path { path, follows } => self.each(folder, path, |path| self.path(path, *follows)),
            Target::Into { place, names } if self.is_folder(folder, place) => names.iter().all(|name| {
                let path = format!("{}/{name}", place.trim_end_matches('/'));
                self.each(folder, &path, |path| self.path(path, true))
            }),
            Target::Into { place, .. } => self.each(folder, place, |path| self.path(path, true)),
            Target::Known(path) => self.checkpoints.covers(&folder.join(path), Covered::Known),
            Target::Tracked(path) => self.checkpoints.covers(&folder.join(path), Covered::Tracked),
            Target::History => self.checkpoints.covers_history(),
            Target::Code { words, removes } => {
                let there: Vec<&String> = words.iter().filter(|word| self.is_there(folder, word)).collect();
                let named = there.iter().all(|word| self.each(folder, word, |path| self.path(path, true)));
                named && (!there.is_empty() || !removes || self.everything())
            }
            Target::Elsewhere => false,
            Target::Anything => self.everything(),
        }
    }

    fn everything(&self) -> bool {
        self.checkpoints.covers(Path::new(""), Covered::Everything)
    }

    fn is_folder(&self, folder: &Path, place: &str) -> bool {
        !is_pattern(place) && self.root.join(folder).join(place).is_dir()
    }

    /// Whether a word of a program may be a path. Separators alone are not meant.
    fn is_there(&self, folder: &Path, word: &str) -> bool {
        let paths = || self.matching(folder, word).is_none_or(|paths| !paths.is_empty());
        word != "/"
            && if is_pattern(word) {
                paths()
            } else {
                self.root.join(folder).join(word).symlink_metadata().is_ok()
            }
    }

    fn path(&self, path: &Path, follows: bool) -> bool {
        let itself = self.checkpoints.covers(path, Covered::Everything);
        let full = self.root.join(path);
        let link = follows && full.symlink_metadata().is_ok_and(|found| found.is_symlink());
        let leads = if link { full.canonicalize().ok() } else { None };
        itself && leads.is_none_or(|real| self.checkpoints.covers(&real, Covered::Everything))
    }

    /// Whether it holds for a path, or for all that a pattern stands for.
    fn each(&self, folder: &Path, path: &str, holds: impl Fn(&Path) -> bool) -> bool {
        if !is_pattern(path) {
            return holds(&folder.join(path));
        }
        self.matching(folder, path).is_some_and(|paths| paths.iter().all(|path| holds(path)))
    }

    /// What a pattern stands for now; none if that cannot be told.
    fn matching(&self, folder: &Path, pattern: &str) -> Option<Vec<PathBuf>> {
        let whole = folder.join(pattern);
        let inside = if whole.is_absolute() { whole.strip_prefix(self.root).ok()? } else { &whole };
        let mut found = vec![PathBuf::new()];
        for part in inside.components().map(|part| part.as_os_str().to_string_lossy()) {
            if !is_pattern(&part) {
                found.iter_mut().for_each(|path| path.push(&*part));
                continue;
            }
            let mut next = Vec::new();
            for above in &found {
                // What is no folder holds nothing; a link to one holds what it leads to.
                let full = self.root.join(above);
                let Ok(there) = full.symlink_metadata() else { continue };
                if there.is_dir() {
                    let names = self.checkpoints.names_in(above)?;
                    next.extend(names.iter().filter(|name| fits(&part, name)).map(|name| above.join(name)));
                } else if there.is_symlink() && full.is_dir() {
                    return None;
                }
                if next.len() > MATCHED_PATHS_MAX {
                    return None;
                }
            }
            found = next;
        }
        Some(found)
    }
}
