//! The files of a commit, looked at where git has them: nothing of it is laid out, however large it is.

use std::path::Path;

use crate::{
    WorkspaceError,
    git::{GitError, flow::FlowInput},
    repository::Repository,
    shadow::checked,
};

/// The files of a session's folder in one commit.
#[derive(Clone, Debug)]
pub struct CommitFiles {
    repository: Repository,
    commit: String,
    /// What stands before a path of the session's folder: nothing, or the folder within the repository and a `/`.
    before: String,
}

/// A file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitFile {
    /// Its length.
    pub bytes: u64,
    /// What it holds; none of a file that is longer than what was asked for.
    pub content: Option<Vec<u8>>,
}

impl CommitFiles {
    /// Finds the repository of a session's folder.
    pub async fn of(session_folder: &Path, commit: &str) -> Result<Self, WorkspaceError> {
        Self::within(&Repository::of(session_folder).await?, session_folder, commit)
    }

    pub(super) fn within(
        repository: &Repository,
        session_folder: &Path,
        commit: &str,
    ) -> Result<Self, WorkspaceError> {
        let before = match repository.inside(session_folder).to_str() {
            None => return Err(GitError::UnusableName.into()),
            Some("") => String::new(),
            Some(inside) => format!("{inside}/"),
        };
        Ok(Self { repository: repository.clone(), commit: checked(commit)?.to_owned(), before })
    }

    /// The file at a path, also where a link within the repository leads to it. None if there is no such file.
    pub async fn file(&self, path: &str, bytes_max: u64) -> Result<Option<CommitFile>, WorkspaceError> {
        if path.contains('\n') {
            return Ok(None);
        }
        let asked = format!("{}:{}{path}\n", self.commit, self.before).into_bytes();
        let words = ["cat-file", "--batch=%(objecttype) %(objectsize)", "--follow-symlinks"];
        let mut said = Vec::new();
        let git = self.repository.git().large();
        let read = git.flow(&words, FlowInput::Bytes(asked), |piece| {
            said.extend_from_slice(piece);
            let too_long = head_of(&said).is_some_and(|(_, bytes, _)| bytes > bytes_max);
            if too_long { Err(WorkspaceError::Stopped) } else { Ok(()) }
        });
        match read.await {
            Ok(()) | Err(WorkspaceError::Stopped) => {}
            Err(error) => return Err(error),
        }
        let Some(("blob", bytes, begins)) = head_of(&said) else { return Ok(None) };
        let ends = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_add(begins);
        let content = said.get(begins..ends).filter(|_| bytes <= bytes_max).map(<[u8]>::to_vec);
        Ok(Some(CommitFile { bytes, content }))
    }

    /// The paths of all files; none if there are more.
    pub async fn paths(&self, files_max: usize) -> Result<Option<Vec<String>>, WorkspaceError> {
        let mut paths = Vec::new();
        let words = ["ls-tree", "-r", "-z", "--full-tree", "--name-only", &self.commit];
        let listed = self.repository.git().large().each_record(&words, |path| {
            let path = String::from_utf8_lossy(path);
            paths.extend(path.strip_prefix(&*self.before).map(str::to_owned));
            if paths.len() > files_max { Err(WorkspaceError::Stopped) } else { Ok(()) }
        });
        match listed.await {
            Ok(()) => Ok(Some(paths)),
            Err(WorkspaceError::Stopped) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The kind and the length of what git says next, and where it begins.
fn head_of(said: &[u8]) -> Option<(&str, u64, usize)> {
    let end = memchr::memchr(b'\n', said)?;
    let (kind, bytes) = std::str::from_utf8(&said[..end]).ok()?.split_once(' ')?;
    Some((kind, bytes.parse().ok()?, end + 1))
}
