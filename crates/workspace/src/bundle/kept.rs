//! What home knows of a worker's work without the worker: files that an agent had changed, committed to its branch in one call of git.

use std::path::Path;

use posse_protocol::Branch;

use super::{
    CommitFiles, TakenIn,
    home::{must_be_left, reference_of},
};
use crate::{
    Entry, WorkspaceError, WorkspacePath,
    git::{GitError, plain},
    guard::is_of_git,
    limits,
    repository::Repository,
    shadow::{checked, patch},
    worktree::{changed_files, record::must_be_ours},
};

const MESSAGE: &str = "What was known of a sub-agent's work when its worker was lost";

/// Commits these files, by their paths relative to the session's folder, on top of `start`, makes or moves the branch there, and says
/// what is on it since `began`. One without an entry is removed. None, and no branch, if they are what `start` holds.
pub async fn commit_kept(
    session_folder: &Path,
    (began, start): (&str, &str),
    branch: &str,
    files: &[(String, Option<Entry>)],
    (diff_bytes_max, files_max): (usize, usize),
) -> Result<Option<TakenIn>, WorkspaceError> {
    must_be_ours(branch)?;
    checked(began).and(checked(start))?;
    let repository = Repository::of(session_folder).await?;
    must_be_left(&repository, branch)?;
    let sent = reference_of(branch)?;
    let inside = repository.inside(session_folder);
    let inside = inside.to_str().ok_or(GitError::UnusableName)?;
    let stream = stream(&sent, start, inside, files)?;
    plain::remove_lock(&repository.common, &sent);
    let git = repository.writing().large().time_ms_max(limits::BUNDLE_TIME_MS_MAX).stdin(stream);
    // The reference is ours alone, whatever it was before.
    git.run_through(&["fast-import", "--quiet", "--done", "--force"]).await?;
    let reference = format!("refs/heads/{branch}");
    let names = [
        format!("{sent}^{{commit}}"),
        format!("{sent}^{{tree}}"),
        format!("{start}^{{tree}}"),
        reference.clone(),
    ];
    let found = repository.names(&names.each_ref().map(String::as_str)).await?;
    let [Some(tip), tree, before, old] = &found[..] else { return Err(GitError::NoSuchCommit.into()) };
    if tree == before {
        return Ok(None);
    }
    if old.as_ref().is_some_and(|old| old != start) {
        return Err(GitError::BranchExists(branch.to_owned()).into());
    }
    for name in [&reference, &sent] {
        plain::remove_lock(&repository.common, name);
    }
    let moved = match old {
        Some(old) => format!("update {reference} {tip} {old}\n"),
        None => format!("create {reference} {tip}\n"),
    };
    repository.move_references(format!("{moved}delete {sent}\n")).await?;
    let diff = patch(repository.git(), began, tip, diff_bytes_max).await?;
    let left = Branch { name: branch.to_owned(), base: began.to_owned(), tip: tip.clone(), diff };
    let changed = changed_files(session_folder, start, tip, files_max).await?;
    let files = CommitFiles::within(&repository, session_folder, tip)?;
    Ok(Some(TakenIn { branch: Some(left), changed, files }))
}

/// What git reads: one commit.
fn stream(
    reference: &str,
    start: &str,
    inside: &str,
    files: &[(String, Option<Entry>)],
) -> Result<Vec<u8>, WorkspaceError> {
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |past| past.as_secs());
    let mut stream = format!(
        "commit {reference}\ncommitter Posse <posse@localhost> {now} +0000\ndata {}\n{MESSAGE}\nfrom {start}\n",
        MESSAGE.len()
    )
    .into_bytes();
    let mut all = Vec::new();
    for (path, entry) in files {
        let exact = WorkspacePath::exactly(path).filter(|path| !path.is_root() && !is_of_git(path.as_path()));
        let exact = exact.ok_or_else(|| WorkspaceError::Outside { path: path.clone() })?;
        let before = if inside.is_empty() { String::new() } else { format!("{inside}/") };
        all.push((quoted(&format!("{before}{}", exact.as_str())), entry));
    }
    // What goes may be where something else is to be.
    all.sort_by_key(|(_, entry)| entry.is_some());
    for (path, entry) in all {
        match entry {
            None => stream.extend_from_slice(format!("D {path}\n").as_bytes()),
            Some(Entry { mode, bytes }) => {
                let head = format!("M {} inline {path}\ndata {}\n", mode.as_str(), bytes.len());
                stream.extend_from_slice(head.as_bytes());
                stream.extend_from_slice(bytes);
                stream.push(b'\n');
            }
        }
    }
    stream.extend_from_slice(b"done\n");
    Ok(stream)
}

/// A path may hold any character if it is quoted.
fn quoted(path: &str) -> String {
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
