//! Half-written files that a killed Posse has left: they were about to take another's place, and nobody will ever finish
//! them. Knows them by their names, which are ours, and by their age: none lives longer than a write takes.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{
    checkpoint::folder::{EntryState, Hint, Top, path_of},
    limits,
};

/// Removes them from a folder and what is below it, without following a link. Gives back how many there were.
pub fn clear_leftovers(folder: &Path) -> usize {
    let Ok(top) = folder.canonicalize().and_then(|folder| Top::open(&folder)) else { return 0 };
    let (mut removed, mut seen) = (0, 0);
    let mut to_visit: Vec<Vec<u8>> = vec![Vec::new()];
    while let Some(inside) = to_visit.pop() {
        let Ok(folder) = top.folder(&inside) else { continue };
        for (name, hint) in folder.names().unwrap_or_default() {
            seen += 1;
            if seen > limits::LEFTOVERS_SEEN_MAX {
                return removed;
            }
            let ours = path_of(&name).to_str().is_some_and(is_ours);
            let look = || folder.look(&name).ok().flatten();
            let is_folder = hint == Hint::Folder
                || (hint == Hint::Unknown && look().is_some_and(|seen| seen.is_folder()));
            // Git clears its own, and there are very many.
            if is_folder && *name != *b"objects" {
                to_visit.push(if inside.is_empty() {
                    name.to_vec()
                } else {
                    [&*inside, b"/", &name].concat()
                });
            } else if ours && look().is_some_and(|seen| is_old(&seen)) {
                removed += usize::from(folder.remove(&name).is_ok());
            }
        }
    }
    removed
}

/// `.posse-0123456789abcdef.tmp`
fn is_ours(name: &str) -> bool {
    let Some(name) = name.strip_suffix(".tmp") else { return false };
    let hex = |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.strip_prefix(".posse-").is_some_and(|number| hex(number, 16))
}

/// Whether it is a file that nobody has written for a while.
fn is_old(seen: &EntryState) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let written = Duration::from_nanos(u64::try_from(seen.modified).unwrap_or(u64::MAX));
    let age = now.saturating_sub(written);
    seen.is_file() && age > Duration::from_millis(limits::LEFTOVER_AGE_MS_MIN)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::*;

    #[test]
    fn only_old_files_of_ours_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("deep/er")).unwrap();
        fs::create_dir_all(at(".git/objects")).unwrap();
        let outside = tempfile::tempdir().unwrap();
        let left = ".posse-00112233445566aa.tmp";
        let old = SystemTime::now() - Duration::from_secs(3600);
        let make = |path: PathBuf, old_one: bool| {
            fs::write(&path, "half").unwrap();
            if old_one {
                fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
            }
        };
        for name in [left, "deep/er/.posse-ffffffffffffffff.tmp"] {
            make(at(name), true);
        }
        make(outside.path().join(left), true);
        std::os::unix::fs::symlink(outside.path(), at("link")).unwrap();
        let others = [
            ".posse-1.tmp",
            ".posse-00112233445566aa",
            "posse-00112233445566aa.tmp",
            "a.tmp",
            "a.00112233.tmp",
        ];
        others.iter().for_each(|name| make(at(name), true));
        make(at("deep/.posse-1111111111111111.tmp"), false);
        assert_eq!(clear_leftovers(folder.path()), 2);
        assert!(!at(left).exists() && !at("deep/er/.posse-ffffffffffffffff.tmp").exists());
        assert!(others.iter().all(|name| at(name).exists()));
        assert!(at("deep/.posse-1111111111111111.tmp").exists() && outside.path().join(left).exists());
    }
}
