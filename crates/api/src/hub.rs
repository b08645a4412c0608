//! What `posse serve` offers beside the routes of every process: sessions of all processes, new ones, and what the person's
//! files say. One for each server.

pub(crate) mod folders;
pub(crate) mod merging;
pub(crate) mod overview;
pub(crate) mod rooms;
pub(crate) mod views;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_engine::Engine;
use posse_setup::Paths;

use crate::background::BackgroundProgram;
use crate::failure::CallError;
use crate::hub::folders::Folders;
use crate::hub::overview::Overview;
use crate::hub::rooms::Rooms;
use crate::hub::views::Views;

/// What a hub is made of.
pub struct HubStart {
    /// The record.
    pub engine: Engine,
    /// Where the person's files are.
    pub paths: Arc<Paths>,
    /// Where it was started, then other folders in which sessions may begin.
    pub folders: Vec<PathBuf>,
    /// Begins sessions.
    pub program: BackgroundProgram,
    /// Whether nothing may be steered.
    pub read_only: bool,
    /// The version of the program.
    pub version: String,
}

/// One server's view of the record and of the person's files.
pub struct Hub {
    pub(crate) engine: Engine,
    pub(crate) paths: Arc<Paths>,
    pub(crate) folders: Folders,
    pub(crate) program: BackgroundProgram,
    pub(crate) read_only: bool,
    pub(crate) version: String,
    pub(crate) views: Views,
    pub(crate) rooms: Rooms,
    pub(crate) overview: Overview,
}

impl Hub {
    pub(crate) fn new(start: HubStart) -> Self {
        let HubStart { engine, paths, folders, program, read_only, version } = start;
        Self {
            paths,
            folders: Folders::new(folders),
            program,
            read_only,
            version,
            views: Views::default(),
            rooms: Rooms::new(engine.clone()),
            overview: Overview::new(engine.clone()),
            engine,
        }
    }

    /// A folder that may be asked about, links resolved.
    pub(crate) async fn folder(&self, folder: &str) -> Result<PathBuf, CallError> {
        self.folders.permit(&self.engine, folder).await
    }

    /// Reads files of the person or a project, without blocking the runtime.
    pub(crate) async fn files<T: Send + 'static>(
        &self,
        folder: &str,
        read: impl FnOnce(&Paths, &Path) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let (paths, folder) = (Arc::clone(&self.paths), self.folder(folder).await?);
        let reading = tokio::task::spawn_blocking(move || read(&paths, &folder));
        reading.await.map_err(CallError::internal)?
    }
}
