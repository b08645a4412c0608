//! What can go wrong with git, in our own words. What git itself says stays here: it quotes files, and those may be
//! anything that a link in a repository leads to.

use posse_sandbox::Unfit;

use crate::{bundle_fault::BundleFault, limits};

/// Why git could not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum GitError {
    #[error(
        "no git was found outside the workspace and the home folder; install it, or name one in your own configuration: \
         path in [git]"
    )]
    NotFound,
    #[error("the git that path in [git] names cannot be used: {0}")]
    Unfit(Unfit),
    #[error(
        "git {major}.{minor} is too old; install git {}.{} or newer",
        limits::GIT_VERSION_MIN.0,
        limits::GIT_VERSION_MIN.1
    )]
    TooOld { major: u32, minor: u32 },
    #[error(
        "git was not run, because it could not be confined to the folders it needs; posse doctor tells more"
    )]
    NotConfined,
    #[error("git could not be started")]
    NotStarted,
    #[error("git {call} took too long")]
    TookTooLong { call: String },
    #[error("git {call} was ended by signal {signal}")]
    Ended { call: String, signal: i32 },
    #[error("git {call} ended with {code}: {why}")]
    Failed { call: String, code: i32, why: GitFailure },
    #[error("git {call} had too much to say; the folder holds too much")]
    TooMuch { call: String },
    #[error("git {call} said something else than it should")]
    Unexpected { call: String },
    #[error("the repository's .git leads to somewhere else")]
    Elsewhere,
    #[error("a folder's name cannot be used with git")]
    UnusableName,
    #[error("a recorded name is no name of an object")]
    NoObjectName,
    #[error("a branch for a checkout is named posse/<session>/<name>, of letters, digits, - _ and .")]
    NotOurs,
    #[error("the branch {0} is already there; take another name")]
    BranchExists(String),
    #[error("the branch {0} is gone")]
    BranchGone(String),
    #[error("there is a checkout of {0} already")]
    CheckedOut(String),
    #[error("the record of a checkout is damaged")]
    DamagedRecord,
    #[error("it is of another repository")]
    OtherRepository,
    #[error("the commit is not there")]
    NoSuchCommit,
    #[error("the bundle was refused: {0}")]
    Bundle(BundleFault),
}

/// What made a call fail, as far as it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum GitFailure {
    #[error("there is no room left on the disk")]
    NoRoom,
    #[error("another git is at work in the repository, or left a lock there")]
    Locked,
    #[error("this is no repository that git can read")]
    NoRepository,
    #[error("the repository belongs to another user")]
    OtherOwner,
    #[error("something in the repository is missing or damaged")]
    Damaged,
    #[error("something may not be read or written")]
    NotPermitted,
    #[error("the reason is not known")]
    Unknown,
}

/// Git's own words for each, without what it fills in. Only which of them it was is ever told.
const WORDS: &[(&str, GitFailure)] = &[
    ("No space left on device", GitFailure::NoRoom),
    ("Disk quota exceeded", GitFailure::NoRoom),
    (".lock': File exists", GitFailure::Locked),
    ("cannot lock ref", GitFailure::Locked),
    ("dubious ownership", GitFailure::OtherOwner),
    ("not a git repository", GitFailure::NoRepository),
    ("invalid gitfile format", GitFailure::NoRepository),
    ("bad config", GitFailure::NoRepository),
    ("bad object", GitFailure::Damaged),
    ("bad revision", GitFailure::Damaged),
    ("unable to read tree", GitFailure::Damaged),
    ("missing object", GitFailure::Damaged),
    ("is corrupt", GitFailure::Damaged),
    ("index file", GitFailure::Damaged),
    ("shallow", GitFailure::Damaged),
    ("packed-refs", GitFailure::Damaged),
    ("Permission denied", GitFailure::NotPermitted),
    ("Read-only file system", GitFailure::NotPermitted),
    ("Operation not permitted", GitFailure::NotPermitted),
];

impl GitFailure {
    /// Whether it is the machine's fault, and not that of what git was given.
    pub(crate) fn is_of_system(self) -> bool {
        matches!(self, Self::NoRoom | Self::Locked | Self::OtherOwner | Self::NotPermitted)
    }

    /// What git's standard error comes to.
    pub(crate) fn of(said: &[u8]) -> Self {
        let said = String::from_utf8_lossy(said);
        WORDS.iter().find(|(words, _)| said.contains(words)).map_or(Self::Unknown, |(_, failure)| *failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_what_git_said_is_in_an_error() {
        let cases = [
            ("fatal: bad shallow line: password=hunter2", GitFailure::Damaged),
            ("fatal: unexpected line in .git/packed-refs: password=hunter2", GitFailure::Damaged),
            ("error: unable to write file x: No space left on device", GitFailure::NoRoom),
            ("fatal: Unable to create '/x/index.lock': File exists.", GitFailure::Locked),
            ("fatal: password=hunter2", GitFailure::Unknown),
        ];
        for (said, failure) in cases {
            assert_eq!(GitFailure::of(said.as_bytes()), failure, "{said}");
            let error = GitError::Failed { call: "status".into(), code: 128, why: failure };
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
