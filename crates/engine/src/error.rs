//! What can go wrong before an agent runs, and with the record afterwards. What goes wrong while agents run is an event.

use posse_protocol::SessionId;
use posse_store::StoreError;

/// Why the engine could not do what it was asked. The text of each is for a person; the variants are for programs.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// There is no session or agent of that name.
    #[error("{0}")]
    NotFound(String),
    /// The session does not run in this process.
    #[error("The session {0} does not run in this process.")]
    NotRunning(SessionId),
    /// The session is at work, in this process or in another one.
    #[error("{0}")]
    Busy(String),
    /// There is nothing to undo, to merge or to continue.
    #[error("{0}")]
    NothingToDo(String),
    /// It cannot be done as it was asked, with the reason.
    #[error("{0}")]
    Refused(String),
    /// The record could not be opened, read or written.
    #[error(transparent)]
    Record(StoreError),
    /// The workspace could not be opened.
    #[error(transparent)]
    Workspace(#[from] posse_workspace::WorkspaceError),
    /// It could not be found out whether a session is at work.
    #[error("the data directory cannot be used: {0}")]
    DataDir(#[source] std::io::Error),
    /// A cassette could not be written.
    #[error(transparent)]
    Cassette(#[from] posse_model::CassetteError),
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSession { .. } => Self::NotFound(error.to_string()),
            StoreError::Ambiguous { .. } => Self::Refused(error.to_string()),
            other => Self::Record(other),
        }
    }
}
