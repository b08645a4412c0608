//! What can go wrong before an agent runs. Afterwards everything is an event.

use std::path::PathBuf;

/// An engine or a session could not be started.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The record could not be opened or written.
    #[error(transparent)]
    Store(#[from] posse_store::StoreError),
    /// The workspace could not be opened.
    #[error(transparent)]
    Workspace(#[from] posse_workspace::WorkspaceError),
    /// The data directory could not be made.
    #[error("cannot use {path} for data: {source}. Give another with --data-dir or POSSE_HOME")]
    DataDir {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}
