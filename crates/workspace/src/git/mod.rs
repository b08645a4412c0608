//! The git program, called so that nothing in a repository gets to run anything. Everything git is asked for is asked
//! through [`call::Git`].

pub(crate) mod call;
mod error;
mod identity;
pub(crate) mod place;
pub(crate) mod plain;
mod program;

pub use error::{GitError, GitFailure};
pub use identity::identity;
pub use place::folder_outside;
pub use program::{Person, Use, find, named, set_up};

use std::path::{Path, PathBuf};

use posse_sandbox::CommandExit;

use crate::WorkspaceError;
use call::{Git, text_of, version_of, without_filters};
use place::RepositoryPlace;

/// The version of the git program, such as `2.47.1`.
pub async fn version() -> Result<String, WorkspaceError> {
    let said = Git::at(Path::new("/")).text(&["version"]).await?;
    let (major, minor, rest) = version_of(&said);
    Ok(format!("{major}.{minor}{rest}"))
}

/// Where the git program is.
pub fn program() -> Result<PathBuf, GitError> {
    program::used().program.clone().map(|program| program.path().to_owned())
}

/// Whether a folder is in a git repository.
pub async fn is_repo(folder: &Path) -> bool {
    top_level(folder).await.is_ok()
}

/// The top folder of the repository that `folder` is in.
pub async fn top_level(folder: &Path) -> Result<PathBuf, WorkspaceError> {
    checked_place(folder).await.map(|place| place.top)
}

/// The current branch; `None` if no branch is checked out.
pub async fn branch(folder: &Path) -> Result<Option<String>, WorkspaceError> {
    let call = ["symbolic-ref", "--quiet", "--short", "HEAD"];
    let finished = RepositoryPlace::of(folder).await?.git().run(&call).await?;
    if finished.exit == CommandExit::Code(1) {
        return Ok(None);
    }
    text_of(call[0], finished).map(Some)
}

/// What `git status --short` says, at most `lines_max` lines of it and how many more there are.
pub async fn status_short(folder: &Path, lines_max: usize) -> Result<String, WorkspaceError> {
    let place = checked_place(folder).await?;
    let quiet = without_filters(&place).await?;
    let arguments =
        ["status", "--short", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames"];
    let folder = folder.canonicalize().map_err(|_| WorkspaceError::NotARepository)?;
    let text = place.git().from(&folder).sees(&place.top).settings(&quiet).text(&arguments).await?;
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
    let folder = folder.canonicalize().map_err(|error| WorkspaceError::from_io("the folder", error))?;
    Git::at(&folder).writes(&folder).text(&["init", "--quiet", "--initial-branch=main"]).await.map(drop)
}

/// Commits everything in the folder, under Posse's own name.
pub async fn commit_all(folder: &Path, message: &str) -> Result<(), WorkspaceError> {
    let place = checked_place(folder).await?;
    let quiet = without_filters(&place).await?;
    let git = || place.writing().sees(&place.top).settings(&quiet);
    git().text(&["add", "--all"]).await?;
    git().text(&["commit", "--quiet", "--no-verify", "--allow-empty", "-m", message]).await.map(drop)
}

/// The repository of a folder, and that git sees it the same way: its configuration can say that its files are somewhere
/// else entirely.
async fn checked_place(folder: &Path) -> Result<RepositoryPlace, WorkspaceError> {
    let place = RepositoryPlace::of(folder).await?;
    let top = place.git().text(&["rev-parse", "--show-toplevel"]).await?;
    if Path::new(&top) == place.top { Ok(place) } else { Err(GitError::Elsewhere.into()) }
}
