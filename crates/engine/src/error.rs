//! What can go wrong before an agent runs. Afterwards everything is an event.

/// An engine or a session could not be started.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The record could not be opened or written.
    #[error(transparent)]
    Store(#[from] posse_store::StoreError),
    /// The workspace could not be opened.
    #[error(transparent)]
    Workspace(#[from] posse_workspace::WorkspaceError),
    /// It could not be found out whether a session is at work.
    #[error("the data directory cannot be used: {0}")]
    SessionLock(#[source] std::io::Error),
    /// A cassette could not be written.
    #[error(transparent)]
    Cassette(#[from] posse_model::CassetteError),
    /// There is nothing of the kind that was asked for.
    #[error("{0}")]
    Nothing(String),
}
