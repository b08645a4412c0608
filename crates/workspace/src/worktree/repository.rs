//! The person's repository: where it is, and that it is what it seems to be.

use std::{
    fs,
    path::{Path, PathBuf},
};

use posse_sandbox::Exit;

use crate::{
    WorkspaceError,
    git::call::{Git, text_of},
};

/// A repository that a folder is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The top folder of the files.
    pub(crate) top: PathBuf,
    /// Where objects and branches are; that of the main checkout, if this is another one.
    pub(crate) common: PathBuf,
    /// How objects are named: `sha1` or `sha256`.
    pub(crate) format: String,
}

impl Repository {
    /// Finds the repository of a folder. One that leads to somebody else's is refused: a branch made there would be
    /// outside of what was opened.
    pub(crate) async fn of(folder: &Path) -> Result<Self, WorkspaceError> {
        let questions = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-common-dir",
            "--absolute-git-dir",
            "--show-object-format",
        ];
        let finished = Git::at(folder).run(&questions).await?;
        if matches!(finished.exit, Exit::Code(code) if code != 0) {
            return Err(WorkspaceError::NotARepository);
        }
        let said = text_of(finished)?;
        let lines: Vec<&str> = said.lines().collect();
        let [top, common, own, format] = lines[..] else { return Err(WorkspaceError::NotARepository) };
        let real = |path: &str| Path::new(path).canonicalize();
        let (Ok(top), Ok(common), Ok(own), Ok(folder)) =
            (real(top), real(common), real(own), folder.canonicalize())
        else {
            return Err(WorkspaceError::NotARepository);
        };
        if !folder.starts_with(&top) || !belongs(&top, &own, &common).await {
            return Err(WorkspaceError::Git("the repository's .git leads to somewhere else".to_owned()));
        }
        Ok(Self { top, common, format: format.to_owned() })
    }

    /// Git on the repository itself.
    pub(crate) fn git(&self) -> Git {
        Git::at(&self.top)
    }

    /// The commit of a name; `None` if there is none.
    pub(crate) async fn commit_of(&self, name: &str) -> Result<Option<String>, WorkspaceError> {
        let name = format!("{name}^{{commit}}");
        let finished =
            self.git().run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name]).await?;
        if finished.exit == Exit::Code(0) { text_of(finished).map(Some) } else { Ok(None) }
    }

    /// The tree of a commit.
    pub(crate) async fn tree_of(&self, commit: &str) -> Result<String, WorkspaceError> {
        let name = format!("{commit}^{{tree}}");
        self.git().text(&["rev-parse", "--verify", "--end-of-options", &name]).await
    }
}

/// Whether git's folder really is that of the files at `top`.
async fn belongs(top: &Path, own: &Path, common: &Path) -> bool {
    let dot = top.join(".git");
    let Ok(kind) = dot.symlink_metadata() else { return false };
    if kind.is_dir() {
        return dot.canonicalize().is_ok_and(|dot| dot == own) && common == own;
    } else if !kind.is_file() {
        return false;
    }
    if common != own {
        // Another checkout: its folder says where its files are.
        let back = fs::read_to_string(own.join("gitdir")).unwrap_or_default();
        return own.parent() == Some(&common.join("worktrees"))
            && Path::new(back.trim()).canonicalize().is_ok_and(|back| back == dot);
    }
    // A submodule: its configuration says where its files are, and git has followed that.
    let named = Git::at(top).text(&["config", "--local", "--get", "core.worktree"]).await;
    named.is_ok_and(|named| own.join(named).canonicalize().is_ok_and(|named| named == top))
}
