//! What differs between two commits of a repository, counted by git: for receipts of work that was done elsewhere.

use std::collections::BTreeMap;
use std::path::Path;

use posse_protocol::FileChange;

use crate::WorkspaceError;
use crate::repository::Repository;
use crate::shadow::checked;

/// The files of the session's folder that differ between two commits, at most `files_max` of them.
pub async fn changed_files(
    session_folder: &Path,
    base: &str,
    tip: &str,
    files_max: usize,
) -> Result<Vec<FileChange>, WorkspaceError> {
    let repository = Repository::of(session_folder).await?;
    let call = ["diff-tree", "-r", "--no-renames", "--raw", "--numstat", "-z", checked(base)?, checked(tip)?];
    let listed = repository.git().large().bytes(&call).await?;
    Ok(changes_listed(&listed, &repository.inside(session_folder), files_max))
}

/// The same, of what git has listed; `inside` is the session's folder within the repository.
pub(crate) fn changes_listed(listed: &[u8], inside: &Path, files_max: usize) -> Vec<FileChange> {
    let prefix = match inside.to_str() {
        None | Some("") => String::new(),
        Some(inside) => format!("{inside}/"),
    };
    read(listed, &prefix, files_max)
}

/// Reads what git lists: first how each path differs, then how many lines of it do.
fn read(listed: &[u8], prefix: &str, files_max: usize) -> Vec<FileChange> {
    let mut parts = listed.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut files = BTreeMap::new();
    while let Some(part) = parts.next() {
        if part.starts_with(':') {
            let created = part.ends_with('A');
            if let Some(path) = parts.next().and_then(|path| path.strip_prefix(prefix).map(str::to_owned))
                && files.len() < files_max
            {
                let (lines_added, lines_removed) = (0, 0);
                files.insert(path.clone(), FileChange { path, created, lines_added, lines_removed });
            }
            continue;
        }
        let mut fields = part.splitn(3, '\t');
        let mut lines = || fields.next().and_then(|count| count.parse().ok()).unwrap_or(0);
        let (lines_added, lines_removed) = (lines(), lines());
        if let Some(file) = fields.next().and_then(|path| files.get_mut(path.strip_prefix(prefix)?)) {
            (file.lines_added, file.lines_removed) = (lines_added, lines_removed);
        }
    }
    files.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_changed_removed_and_binary_files_are_told_apart() {
        let listed = b":000000 100644 0 1 A\0sub/new.txt\0:100644 100644 1 2 M\0sub/a.txt\0:100644 000000 1 0 D\0sub/b\0\
            :100644 100644 1 2 M\0other\x003\t0\tsub/new.txt\x001\t2\tsub/a.txt\x000\t4\tsub/b\0-\t-\tother\0";
        let file = |path: &str, created, lines_added, lines_removed| FileChange {
            path: path.to_owned(),
            created,
            lines_added,
            lines_removed,
        };
        let found = [file("a.txt", false, 1, 2), file("b", false, 0, 4), file("new.txt", true, 3, 0)];
        assert_eq!(read(listed, "sub/", 10), found);
        assert_eq!(read(listed, "", 2).len(), 2);
        assert_eq!(read(b"", "", 2), []);
    }
}
