//! What is wrong with a file about workers. Its words never quote what is in a file with secrets.

use posse_protocol::words::grouped;

use crate::error::ConfigError;
use crate::surroundings::ShownPath;

/// Why a file about workers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkerFileError {
    /// It is not there.
    #[error("there is no {path}; {advice}")]
    Missing {
        /// The file.
        path: ShownPath,
        /// How it comes about.
        advice: &'static str,
    },
    /// It cannot be read.
    #[error("cannot read {path}")]
    Unreadable {
        /// The file.
        path: ShownPath,
        /// Why.
        source: std::io::Error,
    },
    /// It cannot be written.
    #[error("cannot write {path}")]
    Unwritable {
        /// The file.
        path: ShownPath,
        /// Why.
        source: std::io::Error,
    },
    /// It is a link, a folder, a device or a pipe.
    #[error("{path} is a link or no file; put the file itself there")]
    NotAFile {
        /// What was named.
        path: ShownPath,
    },
    /// Others can read it.
    #[error("others can read {path}; if nobody did, run: chmod 600 {path}")]
    NotPrivate {
        /// The file.
        path: ShownPath,
    },
    /// It is another user's.
    #[error("{path} belongs to another user, who can change it; make it yours: chown")]
    NotOwned {
        /// The file.
        path: ShownPath,
    },
    /// There is one already.
    #[error("{path} is there already; remove it, or name another file")]
    AlreadyThere {
        /// The file.
        path: ShownPath,
    },
    /// It would be among the files of a project.
    #[error(
        "{path} would be in the git work tree {top}, from where its secret gets into commits and to workers; name a place outside of \
         it, or leave --out away"
    )]
    InWorkTree {
        /// The file.
        path: ShownPath,
        /// The top of the work tree.
        top: ShownPath,
    },
    /// It is too large.
    #[error("{path} is larger than {} bytes", grouped(*.bytes_max))]
    TooLarge {
        /// The file.
        path: ShownPath,
        /// How many bytes are read.
        bytes_max: u64,
    },
    /// Something in it cannot be used.
    #[error("{path}: {fault}")]
    Faulty {
        /// The file.
        path: ShownPath,
        /// What is wrong.
        fault: String,
    },
    /// What is to be written cannot be used.
    #[error("{fault}")]
    Unusable {
        /// What is wrong.
        fault: String,
    },
    /// The configuration names no broker.
    #[error("no broker is configured; add nats = \"tls://HOST:4222\" to [cluster]")]
    NoBroker,
    /// The system has no random numbers.
    #[error("the system gives no random numbers, so no secret can be made")]
    NoRandom,
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
}
