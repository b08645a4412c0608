//! What home knows of a worker's work without the worker: files that an agent had changed, committed to its branch in one call of git.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use posse_protocol::Branch;

use super::{
    CommitFiles, TakenIn,
    home::{must_be_left, reference_of},
};
use crate::{
    Mode, WorkspaceError, WorkspacePath,
    git::{GitError, plain},
    guard::is_of_git,
    limits,
    repository::Repository,
    shadow::{checked, patch},
    worktree::{changed_files, record::must_be_ours},
};

const MESSAGE: &str = "What was known of a sub-agent's work when its worker was lost";

/// A file as home had kept it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptEntry {
    /// What it is.
    pub mode: Mode,
    /// The name of its content.
    pub content: String,
}

/// Files of an agent as home had kept them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptWork {
    /// By their paths, relative to the session's folder. One without an entry is removed.
    pub files: Vec<(String, Option<KeptEntry>)>,
    /// By the names that entries have for them.
    pub contents: BTreeMap<String, Vec<u8>>,
}

/// Commits what was kept on top of `start`, makes or moves the branch there, and says what is on it since `began`. Each content is
/// handed to git once, however many files have it. None, and no branch, if the files are what `start` holds.
pub async fn commit_kept(
    session_folder: &Path,
    (began, start): (&str, &str),
    branch: &str,
    kept: KeptWork,
    (diff_bytes_max, files_max): (usize, usize),
) -> Result<Option<TakenIn>, WorkspaceError> {
    must_be_ours(branch)?;
    checked(began).and(checked(start))?;
    let repository = Repository::of(session_folder).await?;
    must_be_left(&repository, branch)?;
    let sent = reference_of(branch)?;
    let inside = repository.inside(session_folder);
    let inside = inside.to_str().ok_or(GitError::UnusableName)?;
    let stream = stream((&sent, start), inside, kept)?;
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

/// What git reads: the contents, and one commit that names them.
fn stream(
    (reference, start): (&str, &str),
    inside: &str,
    KeptWork { files, contents }: KeptWork,
) -> Result<Vec<u8>, WorkspaceError> {
    let room = contents.values().map(|bytes| bytes.len() + 64).sum::<usize>();
    let (mut stream, mut marks) = (Vec::with_capacity(room), HashMap::new());
    for (content, bytes) in contents {
        let mark = marks.len() + 1;
        stream.extend_from_slice(format!("blob\nmark :{mark}\ndata {}\n", bytes.len()).as_bytes());
        stream.extend_from_slice(&bytes);
        stream.push(b'\n');
        marks.insert(content, mark);
    }
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |past| past.as_secs());
    let commit = format!(
        "commit {reference}\ncommitter Posse <posse@localhost> {now} +0000\ndata {}\n{MESSAGE}\nfrom {start}\n",
        MESSAGE.len()
    );
    stream.extend_from_slice(commit.as_bytes());
    let mut all = Vec::new();
    for (path, entry) in files {
        let exact =
            WorkspacePath::exactly(&path).filter(|path| !path.is_root() && !is_of_git(path.as_path()));
        let exact = exact.ok_or(WorkspaceError::Outside { path })?;
        let before = if inside.is_empty() { String::new() } else { format!("{inside}/") };
        all.push((quoted(&format!("{before}{}", exact.as_str())), entry));
    }
    // What goes may be where something else is to be.
    all.sort_by_key(|(_, entry)| entry.is_some());
    for (path, entry) in all {
        let line = match entry {
            None => format!("D {path}\n"),
            Some(KeptEntry { mode, content }) => match marks.get(&content) {
                Some(mark) => format!("M {} :{mark} {path}\n", mode.as_str()),
                None => continue,
            },
        };
        stream.extend_from_slice(line.as_bytes());
    }
    stream.extend_from_slice(b"done\n");
    Ok(stream)
}

/// A path may hold any character if it is quoted.
fn quoted(path: &str) -> String {
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
