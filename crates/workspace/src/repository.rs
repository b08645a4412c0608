//! The person's repository: where it is, that it is what it seems to be, and what its names stand for.

use std::path::{Path, PathBuf};

use crate::{
    WorkspaceError,
    git::{GitError, call::Git, place::RepositoryPlace},
    shadow::checked,
};

/// A repository that a folder is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    place: RepositoryPlace,
    /// The top folder of the files.
    pub(crate) top: PathBuf,
    /// Where objects and branches are; that of the main checkout, if this is another one.
    pub(crate) common: PathBuf,
    /// How objects are named: `sha1` or `sha256`.
    pub(crate) format: &'static str,
}

impl Repository {
    /// Finds the repository of a folder. One that leads to somebody else's is refused: a branch made there would be
    /// outside of what was opened.
    pub(crate) async fn of(folder: &Path) -> Result<Self, WorkspaceError> {
        let place = RepositoryPlace::of(folder).await?;
        let questions = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-common-dir",
            "--absolute-git-dir",
            "--show-object-format",
        ];
        let said = match place.git().text(&questions).await {
            Err(WorkspaceError::Git(GitError::Failed { .. })) => return Err(WorkspaceError::NotARepository),
            said => said?,
        };
        let lines: Vec<&str> = said.lines().collect();
        let [top, common, own, format] = lines[..] else { return Err(WorkspaceError::NotARepository) };
        let format = ["sha1", "sha256"].into_iter().find(|known| *known == format);
        let format = format.ok_or(WorkspaceError::NotARepository)?;
        // Settings of the repository can say otherwise.
        if [top, common, own].map(Path::new) != [&place.top, &place.common, &place.own] {
            return Err(GitError::Elsewhere.into());
        }
        Ok(Self { top: place.top.clone(), common: place.common.clone(), place, format })
    }

    /// Git that looks at the repository itself.
    pub(crate) fn git(&self) -> Git {
        self.place.git()
    }

    /// Git that writes contents and branches.
    pub(crate) fn writing(&self) -> Git {
        self.place.writing()
    }

    /// What names stand for, such as `HEAD^{tree}`, in their order; `None` for what is not there.
    pub(crate) async fn names(&self, names: &[&str]) -> Result<Vec<Option<String>>, WorkspaceError> {
        let asked: String = names.iter().map(|name| format!("{name}\n")).collect();
        let said =
            self.git().stdin(asked.into_bytes()).text(&["cat-file", "--batch-check=%(objectname)"]).await?;
        let found: Vec<Option<String>> =
            said.lines().map(|line| checked(line).ok().map(str::to_owned)).collect();
        if found.len() == names.len() {
            Ok(found)
        } else {
            Err(GitError::Unexpected { call: "cat-file".to_owned() }.into())
        }
    }

    /// The commit of a name; `None` if there is none.
    pub(crate) async fn commit_of(&self, name: &str) -> Result<Option<String>, WorkspaceError> {
        Ok(self.names(&[&format!("{name}^{{commit}}")]).await?.pop().flatten())
    }
}
