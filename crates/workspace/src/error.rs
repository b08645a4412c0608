//! What can go wrong with a path, a file, a search or git, each with what to do about it.
//!
//! The texts are read by models and must not name the folder's absolute place: it differs from run to run.

use std::io;

use crate::{Kind, git_error::GitError};

/// Why something in the workspace could not be done.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum WorkspaceError {
    #[error(
        "{path} is outside the workspace; use a path relative to the workspace folder, such as src/main.rs"
    )]
    Outside { path: String },
    #[error(
        "{path} is reached through a link that leaves the workspace (or is absolute); use a path inside it"
    )]
    LinkOutside { path: String },
    #[error("{path} is a link to a file that is not there; write to the real path instead")]
    DanglingLink { path: String },
    #[error("{path}: too many links in a row; use the real path")]
    LinkLoop { path: String },
    #[error("{path} cannot be used as a path: {why}")]
    BadPath { path: String, why: &'static str },
    #[error("{path} is not there")]
    Missing { path: String },
    #[error("{path} is a {kind}, not a file; only regular files can be read or written")]
    NotAFile { path: String, kind: Kind },
    #[error("{path} is a file, not a folder")]
    NotAFolder { path: String },
    #[error("{path} has {bytes} bytes, more than the {bytes_max} that can be loaded; work on a part of it")]
    TooLarge { path: String, bytes: u64, bytes_max: u64 },
    #[error("{path} changed on disk; read it again, then repeat the change on what it says now")]
    Changed { path: String },
    #[error("{path} is where Posse keeps its own things; agents neither read nor write there")]
    Hidden { path: String },
    #[error("{path} is already there; read it first, then change it")]
    Exists { path: String },
    #[error(
        "{path} is protected: {program} acts on it by itself, so it is not written unless a person says so; leave it as \
         it is, or say in your answer what it should hold"
    )]
    Protected { path: String, program: String },
    #[error("{path} may not be written by you; you may write within {allowed}")]
    NotGranted { path: String, allowed: String },
    #[error("{path} is reached through a link; here only the real path will do")]
    ThroughLink { path: String },
    #[error(
        "the folder is not in a git repository, so there can be no checkout of its own; work in the folder itself"
    )]
    NotARepository,
    #[error("{what} is in use by another process for too long; try again when it is done")]
    Busy { what: String },
    #[error("the pattern {pattern} cannot be used: {why}")]
    BadPattern { pattern: String, why: String },
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
    #[error("{0}")]
    Git(#[from] GitError),
    #[error("checkpoints: {0}")]
    Kept(String),
    #[error("stopped")]
    Stopped,
}

impl WorkspaceError {
    /// Whether a branch has other commits than those that it was to have.
    pub fn is_of_another_branch(&self) -> bool {
        matches!(self, Self::Git(GitError::BranchExists(_)))
    }

    /// The right error for what the system said about `path`.
    pub(crate) fn from_io(path: &str, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            io::ErrorKind::NotADirectory => {
                Self::BadPath { path, why: "a part of it before the last is a file, not a folder" }
            }
            io::ErrorKind::CrossesDevices => Self::LinkOutside { path },
            io::ErrorKind::InvalidFilename => Self::BadPath { path, why: "a name in it is too long" },
            // The name of this kind is not stable yet.
            _ if source.raw_os_error() == Some(too_many_links()) => Self::LinkLoop { path },
            _ => Self::Io { path, source },
        }
    }
}

#[cfg(unix)]
pub(crate) fn too_many_links() -> i32 {
    rustix::io::Errno::LOOP.raw_os_error()
}

#[cfg(not(unix))]
pub(crate) fn too_many_links() -> i32 {
    // ERROR_CANT_RESOLVE_FILENAME
    1921
}
