//! The git program, called so that nothing in a repository gets to run anything. Everything git is asked for is asked
//! through [`call::Git`].

pub(crate) mod call;
mod identity;

pub use identity::identity;

use std::path::{Path, PathBuf};

use posse_sandbox::{Exit, Finished};

use crate::WorkspaceError;
use call::{Git, text_of, without_filters};

/// The version of the git program, such as `2.47.1`.
pub async fn version() -> Result<String, WorkspaceError> {
    let text = text_of(call(Path::new("/"), &["version"], &[]).await?)?;
    Ok(text.trim_start_matches("git version ").to_owned())
}

/// Whether a folder is in a git repository.
pub async fn is_repo(folder: &Path) -> bool {
    top_level(folder).await.is_ok()
}

/// The top folder of the repository that `folder` is in.
pub async fn top_level(folder: &Path) -> Result<PathBuf, WorkspaceError> {
    let top = text_of(call(folder, &["rev-parse", "--show-toplevel"], &[]).await?)?;
    let real = |path: &Path| path.canonicalize().map_err(|error| WorkspaceError::Git(error.to_string()));
    let top = real(Path::new(&top))?;
    // A repository can say that its files are somewhere else entirely.
    if !real(folder)?.starts_with(&top) {
        return Err(WorkspaceError::Git(
            "the repository's files are said to be in another folder".to_owned(),
        ));
    }
    Ok(top)
}

/// The current branch; `None` if no branch is checked out.
pub async fn branch(folder: &Path) -> Result<Option<String>, WorkspaceError> {
    let finished = call(folder, &["symbolic-ref", "--quiet", "--short", "HEAD"], &[]).await?;
    if finished.exit == Exit::Code(1) {
        return Ok(None);
    }
    text_of(finished).map(Some)
}

/// What `git status --short` says, at most `lines_max` lines of it and how many more there are.
pub async fn status_short(folder: &Path, lines_max: usize) -> Result<String, WorkspaceError> {
    top_level(folder).await?;
    let quiet = without_filters(folder).await?;
    let arguments =
        ["status", "--short", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames"];
    let text = text_of(call(folder, &arguments, &quiet).await?)?;
    let mut lines: Vec<&str> = text.lines().take(lines_max).collect();
    let more = text.lines().count().saturating_sub(lines_max);
    let note = format!("… and {more} more");
    if more > 0 {
        lines.push(&note);
    }
    Ok(lines.join("\n"))
}

/// Makes a folder a repository.
pub async fn init(folder: &Path) -> Result<(), WorkspaceError> {
    text_of(call(folder, &["init", "--quiet", "--initial-branch=main"], &[]).await?).map(drop)
}

/// Commits everything in the folder, under Posse's own name.
pub async fn commit_all(folder: &Path, message: &str) -> Result<(), WorkspaceError> {
    top_level(folder).await?;
    let quiet = without_filters(folder).await?;
    text_of(call(folder, &["add", "--all"], &quiet).await?)?;
    let commit = ["commit", "--quiet", "--no-verify", "--allow-empty", "-m", message];
    text_of(call(folder, &commit, &quiet).await?).map(drop)
}

async fn call(
    folder: &Path,
    arguments: &[&str],
    more: &[(String, String)],
) -> Result<Finished, WorkspaceError> {
    Git::at(folder).settings(more).run(arguments).await
}
