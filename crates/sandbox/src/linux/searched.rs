//! Looks through folders of toolchains for secrets. What a folder held when it was last listed is remembered as long as the
//! folder has not changed, so that looking again takes one call a folder.

use std::{
    collections::{HashMap, VecDeque},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use super::secret_names::{NAMES, NOT_SETTINGS, SETTINGS, SIGNS};
use crate::limits;

/// What was found.
#[derive(Default)]
pub(crate) struct Searched {
    pub(crate) secrets: Vec<PathBuf>,
    /// Folders that were not looked through, because there is too much in all of them together.
    pub(crate) left_out: Vec<PathBuf>,
}

/// What a folder held.
struct Listed {
    stamp: Stamp,
    entries: usize,
    /// What is secret by its name, what may be, and what is to be looked through.
    secrets: Vec<PathBuf>,
    settings: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

/// Device, number, and times of the last change in nanoseconds.
type Stamp = (u64, u64, i128, i128);

/// Looks through folders, what is near their tops first.
pub(crate) fn in_folders(folders: impl Iterator<Item = PathBuf>) -> Searched {
    static LISTED: Mutex<Option<HashMap<PathBuf, Listed>>> = Mutex::new(None);
    let mut listed = LISTED.lock().unwrap_or_else(PoisonError::into_inner);
    search(folders, limits::SECRETS_SEEN_MAX, listed.get_or_insert_default())
}

fn search(
    folders: impl Iterator<Item = PathBuf>,
    entries_max: usize,
    known: &mut HashMap<PathBuf, Listed>,
) -> Searched {
    let mut open: VecDeque<(PathBuf, usize)> = folders.map(|folder| (folder, 0)).collect();
    let (mut found, mut seen) = (Searched::default(), 0);
    while let Some((folder, depth)) = open.pop_front() {
        let Some(stamp) = stamp_of(&folder) else { continue };
        if known.get(&folder).is_none_or(|listed| listed.stamp != stamp) {
            match list(&folder, stamp, entries_max.saturating_sub(seen)) {
                Some(listed) => drop(known.insert(folder.clone(), listed)),
                None => {
                    found.left_out.push(folder);
                    continue;
                }
            }
        }
        let Some(listed) = known.get(&folder) else { continue };
        seen += listed.entries;
        if seen > entries_max {
            found.left_out.push(folder);
            continue;
        }
        found.secrets.extend(listed.secrets.iter().cloned());
        found.secrets.extend(listed.settings.iter().filter(|path| tells(path)).cloned());
        if depth < limits::SECRETS_DEPTH_MAX {
            open.extend(listed.folders.iter().map(|folder| (folder.clone(), depth + 1)));
        }
        // Whoever changes it in the same moment may leave it the same times.
        if is_fresh(stamp) {
            known.remove(&folder);
        }
    }
    if known.len() > limits::SECRETS_FOLDERS_MAX {
        known.clear();
    }
    found
}

/// Lists a folder; nothing if it has more entries than that.
fn list(folder: &Path, stamp: Stamp, entries_max: usize) -> Option<Listed> {
    let (secrets, settings, folders) = (Vec::new(), Vec::new(), Vec::new());
    let mut listed = Listed { stamp, entries: 0, secrets, settings, folders };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        listed.entries += 1;
        if listed.entries > entries_max {
            return None;
        }
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let is_folder = || entry.file_type().is_ok_and(|kind| kind.is_dir());
        if NAMES.contains(&name) {
            listed.secrets.push(entry.path());
        } else if is_folder() {
            if !NOT_SETTINGS.contains(&name) {
                listed.folders.push(entry.path());
            }
        } else if SETTINGS.contains(&name) {
            listed.settings.push(entry.path());
        }
    }
    Some(listed)
}

fn stamp_of(folder: &Path) -> Option<Stamp> {
    let found = folder.metadata().ok().filter(fs::Metadata::is_dir)?;
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let modified = nanoseconds(found.mtime(), found.mtime_nsec());
    Some((found.dev(), found.ino(), modified, nanoseconds(found.ctime(), found.ctime_nsec())))
}

fn is_fresh((_, _, modified, changed): Stamp) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let fresh = now.saturating_sub(Duration::from_millis(limits::SECRETS_FRESH_MS));
    i128::try_from(fresh.as_nanos()).is_ok_and(|fresh| modified.max(changed) > fresh)
}

/// Whether settings hold a secret, as far as words can tell. Those that are very long do.
fn tells(path: &Path) -> bool {
    let Ok(found) = path.metadata() else { return false };
    if !found.is_file() {
        return false;
    }
    if found.len() > limits::SECRETS_SETTINGS_BYTES_MAX {
        return true;
    }
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
    text.lines().any(|line| SIGNS.iter().any(|sign| is_set(line, sign)) || has_password(line))
}

/// Whether a line gives a value to something of that name: `token = …`, `"auth_token": …`, `<password>…`.
fn is_set(line: &str, sign: &str) -> bool {
    let after = line.match_indices(sign).map(|(at, _)| &line[at + sign.len()..]);
    let mut after = after.map(|rest| rest.trim_start_matches(['"', '\'', ' ', '\t']));
    after.any(|rest| rest.starts_with(['=', ':', '>']) && rest.len() > 1)
}

/// Whether there is an address with a user in it.
fn has_password(line: &str) -> bool {
    line.split("://")
        .skip(1)
        .any(|rest| rest.split(['/', '"', '\'', ' ']).next().is_some_and(|host| host.contains('@')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_told_and_not_taken_for_clean() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        for folder in ["a", "b", "c"] {
            fs::create_dir(at(folder)).unwrap();
            (0..10).for_each(|n| fs::write(at(&format!("{folder}/{n}")), "").unwrap());
            fs::write(at(&format!("{folder}/.npmrc")), "").unwrap();
        }
        let look = |max: usize| {
            let found = search([top.path().to_owned()].into_iter(), max, &mut HashMap::new());
            (found.secrets.len(), found.left_out.len())
        };
        // Three folders, and eleven files in each.
        let cases = [(36, (3, 0)), (35, (2, 1)), (14, (1, 2)), (13, (0, 3)), (3, (0, 3)), (2, (0, 1))];
        for (max, expected) in cases {
            assert_eq!(look(max), expected, "{max}");
        }
    }

    #[test]
    fn a_folder_is_listed_again_when_it_has_changed() {
        let top = tempfile::tempdir().unwrap();
        let mut known = HashMap::new();
        let mut look = || search([top.path().to_owned()].into_iter(), 100, &mut known).secrets.len();
        assert_eq!(look(), 0);
        fs::write(top.path().join(".npmrc"), "").unwrap();
        assert_eq!(look(), 1, "at once");
        fs::create_dir(top.path().join("sub")).unwrap();
        assert_eq!((look(), look()), (1, 1));
        fs::write(top.path().join("sub/token"), "").unwrap();
        assert_eq!(look(), 2);
        // Settings tell by what they hold, which leaves their folder as it is.
        fs::write(top.path().join("config.toml"), "color = 1").unwrap();
        assert_eq!(look(), 2);
        fs::write(top.path().join("config.toml"), "password = 1").unwrap();
        assert_eq!(look(), 3);
    }
}
