//! What home keeps of blobs where there is no broker: a shelf for each worker, with room of its own, so that no worker can read or fill
//! what is for another one.
//!
//! It must not know couriers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Mutex;

use crate::blob_shelf::{BlobShelf, WhenFull};
use crate::courier::CourierError;
use crate::limits;
use crate::names::WorkerName;

/// The shelves of all workers of one home.
#[derive(Debug)]
pub struct BlobShelves {
    folder: PathBuf,
    worker_bytes_max: u64,
    uploads_kept: Duration,
    /// Those that were used. They last as long as this does.
    shelves: Mutex<HashMap<WorkerName, Arc<BlobShelf>>>,
}

impl BlobShelves {
    /// In a folder that nobody else uses. What home puts for one worker and what that worker sends, half-sent blobs included, take at
    /// most so much.
    pub fn new(folder: PathBuf, worker_bytes_max: u64) -> Self {
        let uploads_kept = Duration::from_millis(limits::UPLOADS_KEPT_MS);
        Self { folder, worker_bytes_max, uploads_kept, shelves: Mutex::default() }
    }

    /// Keeps what a worker has sent for another time after its connection has ended.
    pub fn with_uploads_kept_ms(self, ms: u64) -> Self {
        Self { uploads_kept: Duration::from_millis(ms), ..self }
    }

    /// The shelf of a worker.
    pub(crate) async fn of(&self, worker: &WorkerName) -> Result<Arc<BlobShelf>, CourierError> {
        let mut shelves = self.shelves.lock().await;
        if let Some(shelf) = shelves.get(worker) {
            return Ok(Arc::clone(shelf));
        }
        if shelves.len() >= limits::WORKERS_MAX {
            return Err(CourierError::Full { what: "workers", max: limits::WORKERS_MAX });
        }
        let folder = self.folder.join(worker.as_str());
        // It refuses what does not fit: nothing that somebody still needs may go by itself.
        let shelf = Arc::new(BlobShelf::open(&folder, self.worker_bytes_max, WhenFull::Refuse).await?);
        shelves.insert(worker.clone(), Arc::clone(&shelf));
        Ok(shelf)
    }

    /// A connection of a worker has ended: what it has sent goes after a while, unless home uses it. Home may have heard of it and not
    /// have come to fetch it yet.
    pub(crate) async fn let_go(&self, worker: &WorkerName) {
        let shelf = self.shelves.lock().await.get(worker).cloned();
        let Some((shelf, moment)) = shelf.and_then(|shelf| Some((shelf.clone(), shelf.moment()?))) else {
            return;
        };
        let (shelf, kept): (Weak<BlobShelf>, Duration) = (Arc::downgrade(&shelf), self.uploads_kept);
        tokio::spawn(async move {
            tokio::time::sleep(kept).await;
            if let Some(shelf) = shelf.upgrade()
                && let Err(error) = shelf.drop_uploads(moment).await
            {
                tracing::warn!(%error, "files that a worker has sent cannot be removed");
            }
        });
    }
}
