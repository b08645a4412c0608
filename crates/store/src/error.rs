//! How the record fails, in words that tell a person what to do next. It must not know who asks.

use std::io;
use std::path::{Path, PathBuf};

use posse_protocol::{AgentId, Seq, SessionId};
use rusqlite::ErrorCode;

/// Why the record could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process held the database for longer than we wait.
    #[error(
        "the record {} is locked by another program; close that program (a database browser, a backup, another \
         posse that hangs) and try again",
        path.display()
    )]
    Locked {
        /// The database.
        path: PathBuf,
    },
    /// The file is not a whole SQLite database.
    #[error(
        "the record {} is damaged ({detail}); move it aside, together with the files of the same name that end in \
         -wal and -shm, and posse will begin a new one. `sqlite3 OLD .recover` may save what was in it",
        path.display()
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        detail: String,
    },
    /// A single event of the record cannot be read; those around it can.
    #[error("event {} of session {session} cannot be read ({detail}); the events after it can", seq.0)]
    DamagedEvent {
        /// Its session.
        session: SessionId,
        /// Its place: reading can go on after it.
        seq: Seq,
        /// What is wrong with it.
        detail: String,
    },
    /// No room for more.
    #[error("the disk that holds the record {} is full; make room and try again", path.display())]
    DiskFull {
        /// The database.
        path: PathBuf,
    },
    /// Written by a newer Posse.
    #[error(
        "the record {} was written by a newer posse (its format is {found}, this one knows up to {known}); \
         upgrade posse, or use another --data-dir",
        path.display()
    )]
    TooNew {
        /// The database.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format this Posse knows.
        known: i64,
    },
    /// A database, but of another program.
    #[error("{} is a database of another program; use another --data-dir", path.display())]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// The file system would not let us.
    #[error("cannot {what} {}: {source}; check the path, its owner and its permissions", path.display())]
    Io {
        /// What was tried, as a verb.
        what: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else that SQLite says.
    #[error("the record {} failed: {source}", path.display())]
    Sql {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// An event of a session that never started.
    #[error("session {session} is not on record: its first event must be its start")]
    UnknownSession {
        /// The session.
        session: SessionId,
    },
    /// A second start of one session.
    #[error("session {session} is on record already")]
    SessionExists {
        /// The session.
        session: SessionId,
    },
    /// Somebody else has changed the events of a session, or its row.
    #[error(
        "session {session} has {} events on record, but its row says {}: another program has changed it, and \
         nothing more is added to it",
        found.0, said.0
    )]
    OutOfStep {
        /// The session.
        session: SessionId,
        /// Its last event by its row.
        said: Seq,
        /// Its last event.
        found: Seq,
    },
    /// An event of an agent that was neither admitted nor started.
    #[error("agent {agent} is not on record: its admission or its start must come before its other events")]
    UnknownAgent {
        /// The agent.
        agent: AgentId,
    },
    /// An event beyond the size limit.
    #[error("an event of type {kind} has {bytes} bytes; the limit is {bytes_max}")]
    TooLarge {
        /// Its type.
        kind: &'static str,
        /// Its size as JSON.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// An event that is not expressible as JSON.
    #[error("an event of type {kind} cannot be written as JSON: {source}")]
    NotJson {
        /// Its type.
        kind: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// More waits for the writer than may wait.
    #[error("the record cannot keep up: {events} events wait to be written; wait for some of them first")]
    QueueFull {
        /// How many wait.
        events: usize,
    },
    /// The writer has ended.
    #[error("the record's writer has ended; this event is not on record")]
    Closed,
    /// A question to a store that keeps nothing.
    #[error("nothing is on record: this store only passes events on")]
    Unrecorded,
    /// No session is called so.
    #[error("no session is called {wanted:?}; `posse sessions list` shows them")]
    NoSession {
        /// What was asked for.
        wanted: String,
    },
    /// The ids of several sessions begin or end so.
    #[error("{prefix:?} names {} sessions; `posse sessions list` shows their ids", counted(ids, *more))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// The first sessions that match, newest first.
        ids: Vec<SessionId>,
        /// Whether there are still more.
        more: bool,
    },
}

fn counted(ids: &[SessionId], more: bool) -> String {
    if more { format!("more than {}", ids.len()) } else { ids.len().to_string() }
}

impl StoreError {
    /// Finds the words for what SQLite says about the database at `path`.
    pub(crate) fn from_sql(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, detail: error.to_string() }
            }
            Some(ErrorCode::DiskFull) => Self::DiskFull { path },
            Some(ErrorCode::CannotOpen) => Self::refused("open", path, error),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::refused("write", path, error),
            _ if no_room_for_index(&error) => Self::DiskFull { path },
            _ => Self::Sql { path, source: error },
        }
    }

    fn refused(what: &'static str, path: PathBuf, error: rusqlite::Error) -> Self {
        Self::Io { what, path, source: io::Error::new(io::ErrorKind::PermissionDenied, error) }
    }
}

/// The shared-memory index could not be made larger: in practice always a full disk.
fn no_room_for_index(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(e, _)
        if e.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}
