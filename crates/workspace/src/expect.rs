//! What a write expects to find, and what is refused where something else is there.

use crate::{Kind, Stamp, WorkspaceError, WorkspacePath};

/// What must be true for a write to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Nothing.
    Anything,
    /// No file is there yet.
    Absent,
    /// The file is still the one with this stamp.
    Unchanged(Stamp),
}

/// What a write came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file as it is now.
    pub stamp: Stamp,
    /// Whether it was not there before.
    pub created: bool,
}

/// Refuses everything that is not a regular file.
pub(crate) fn must_be_file(path: &WorkspacePath, kind: Kind) -> Result<(), WorkspaceError> {
    if kind == Kind::File { Ok(()) } else { Err(WorkspaceError::NotAFile { path: path.to_string(), kind }) }
}

/// Checks an expectation against what is there.
pub(crate) fn must_be_expected(
    path: &WorkspacePath,
    expect: Expect,
    there: Option<Stamp>,
) -> Result<(), WorkspaceError> {
    match (expect, there) {
        (Expect::Anything, _) | (Expect::Absent, None) => Ok(()),
        (Expect::Absent, Some(_)) => Err(WorkspaceError::Exists { path: path.to_string() }),
        (Expect::Unchanged(stamp), Some(there)) if stamp == there => Ok(()),
        (Expect::Unchanged(_), _) => Err(WorkspaceError::Changed { path: path.to_string() }),
    }
}

/// A name for a file that is about to take another's place.
pub(crate) fn temporary_name() -> String {
    format!(".posse-{:016x}.tmp", fastrand::u64(..))
}
