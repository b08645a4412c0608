//! The files of one agent that travel as blobs: those that home puts for a worker, and those that it fetches from one. It must not
//! know what is in them.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use posse_engine::remote::PlacedTask;
use posse_protocol::AgentId;
use serde::Serialize;

use super::{FleetInner, PlacedBlob};
use crate::bodies::{Carried, Package, join_contents, write};
use crate::courier::{CourierError, HomeCourier, once_connected};
use crate::letter_room::Room;
use crate::limits;
use crate::message::RawBody;
use crate::names::{BlobId, WorkerName};

/// How a worker is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// By which courier.
    pub(super) courier: usize,
    /// Which worker.
    pub(super) worker: WorkerName,
}

/// See the module. Clones are the same.
#[derive(Clone)]
pub(super) struct SeatFiles {
    fleet: Arc<FleetInner>,
    agent: AgentId,
    /// What the agent needs, until it needs nothing more.
    needed: Arc<Mutex<Vec<PlacedBlob>>>,
}

impl SeatFiles {
    pub(super) fn new(fleet: Arc<FleetInner>, agent: AgentId) -> Self {
        Self { fleet, agent, needed: Arc::default() }
    }

    fn courier(&self, way: &Way) -> Result<&Arc<dyn HomeCourier>, CourierError> {
        self.fleet.parts.couriers.get(way.courier).ok_or(CourierError::Closed)
    }

    fn need(&self, way: &Way, blob: BlobId, again: bool) {
        let blob = (way.courier, way.worker.clone(), blob);
        let mut needed = self.needed.lock().unwrap_or_else(PoisonError::into_inner);
        if again || !needed.contains(&blob) {
            self.fleet.need_blob(blob.clone());
            needed.push(blob);
        }
    }

    /// Puts what an agent starts from where its worker finds it.
    pub(super) async fn pack(&self, way: &Way, placed: PlacedTask) -> Result<Package, String> {
        let task = serde_json::to_vec(&placed.task).map_err(|error| error.to_string())?;
        let task = self.put_bytes(way, &task).await?;
        let bundle = match placed.bundle {
            Some(bundle) => Some(self.put_file(way, &bundle).await?),
            None => None,
        };
        let contents = match placed.contents.is_empty() {
            true => None,
            false => Some(self.put_bytes(way, &join_contents(&placed.contents)).await?),
        };
        Ok(Package { task, bundle, contents })
    }

    /// What is said, as it goes into a letter; a blob if it is too long for one.
    pub(super) async fn carry<T: Serialize>(&self, way: &Way, said: &T) -> Result<RawBody, String> {
        let bytes = serde_json::to_vec(said).map_err(|error| error.to_string())?;
        let body = if bytes.len() <= limits::ITEM_BYTES_MAX {
            write(&Carried::Here(said))
        } else {
            write(&Carried::<&T>::Blob(self.put_bytes(way, &bytes).await?))
        };
        body.ok_or_else(|| "it does not fit into a letter".to_owned())
    }

    async fn put_bytes(&self, way: &Way, bytes: &[u8]) -> Result<BlobId, String> {
        let path = self.new_file()?;
        std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
        self.put_file(way, &path).await
    }

    /// Puts a file, which goes then.
    async fn put_file(&self, way: &Way, path: &Path) -> Result<BlobId, String> {
        let courier = self.courier(way).map_err(|error| error.to_string())?;
        // It may be the blob of another agent, which ends at this moment: it is needed before it is there.
        let blob = name_of(path).await?;
        self.need(way, blob, true);
        let put =
            once_connected(|| courier.put_blob(&way.worker, path)).await.map_err(|error| error.to_string());
        let _ = std::fs::remove_file(path);
        put
    }

    /// Fetches a blob of a worker into a file.
    pub(super) async fn fetch(&self, way: &Way, blob: BlobId) -> Result<PathBuf, CourierError> {
        let path = self.new_file().map_err(std::io::Error::other)?;
        let courier = self.courier(way)?;
        self.need(way, blob, false);
        once_connected(|| courier.get_blob(&way.worker, blob, &path)).await?;
        Ok(path)
    }

    /// Waits until a worker may send another letter of long items.
    pub(super) async fn turn(&self, worker: &WorkerName) -> Option<Room> {
        self.fleet.turns.take(worker, 1).await
    }

    /// Nothing of it is needed any more.
    pub(super) async fn let_go(&self) {
        let needed = std::mem::take(&mut *self.needed.lock().unwrap_or_else(PoisonError::into_inner));
        for blob in needed {
            let (index, worker, id) = &blob;
            if self.fleet.is_last_need(&blob)
                && let Some(courier) = self.fleet.parts.couriers.get(*index)
            {
                let _ = courier.drop_blob(worker, *id).await;
            }
        }
    }

    fn new_file(&self) -> Result<PathBuf, String> {
        std::fs::create_dir_all(&self.fleet.parts.folder).map_err(|error| error.to_string())?;
        let number = self.fleet.passing.fetch_add(1, Ordering::Relaxed);
        Ok(self.fleet.parts.folder.join(format!("{}-{number}", self.agent)))
    }
}

/// The name that a file has as a blob.
async fn name_of(path: &Path) -> Result<BlobId, String> {
    let path = path.to_owned();
    let named = tokio::task::spawn_blocking(move || BlobId::of_file(&path)).await;
    named.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}
