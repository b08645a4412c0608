//! The git program, called so that nothing in a repository gets to run anything. Everything git is asked for is asked
//! through [`call::Git`].

pub(crate) mod call;
pub(crate) mod flow;
mod identity;
pub(crate) mod place;
pub(crate) mod plain;
mod program;
pub(crate) mod series;

pub use crate::git_error::{GitError, GitFailure};
pub use identity::identity;
pub use place::folder_outside;
pub use program::{Person, Use, find, named, set_up};

use std::path::{Path, PathBuf};

use crate::WorkspaceError;
use call::{Git, version_of};
use place::{RepositoryPlace, without_filters};

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
