//! Half-written files that a killed Posse has left: they were about to take another's place, and nobody will ever finish
//! them. Knows them by their names, which are ours, and by their age: none lives longer than a write takes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::limits;

/// Removes them from a folder and what is below it, without following a link. Gives back how many there were.
pub fn clear_leftovers(folder: &Path) -> usize {
    let mut removed = 0;
    let mut to_visit: Vec<PathBuf> = vec![folder.to_path_buf()];
    let mut seen = 0;
    while let Some(folder) = to_visit.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > limits::LEFTOVERS_SEEN_MAX {
                return removed;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if kind.is_dir() {
                // Git clears its own, and there are very many.
                if name != "objects" {
                    to_visit.push(entry.path());
                }
            } else if kind.is_file() && name.to_str().is_some_and(is_ours) && is_old(&entry.path()) {
                removed += usize::from(fs::remove_file(entry.path()).is_ok());
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

fn is_old(path: &Path) -> bool {
    let age = fs::symlink_metadata(path).and_then(|found| found.modified()).ok();
    let age = age.and_then(|changed| changed.elapsed().ok());
    age.is_some_and(|age| age > Duration::from_millis(limits::LEFTOVER_AGE_MS_MIN))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

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
