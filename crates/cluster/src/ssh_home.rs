//! Home's courier to workers by ssh: each is started when the first agent could run there, and not before.
//!
//! It must not read the environment: how each is started is given.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use posse_protocol::AgentId;
use tokio::sync::mpsc;

use crate::blob_shelves::BlobShelves;
use crate::courier::{CourierFuture, HomeCourier, HomeNews, PostedOffer, SeenWorker};
use crate::limits;
use crate::message::Wants;
use crate::names::{BlobId, HomeName, LabelName, WorkerName};
use crate::pipe::PipeHome;
use crate::ssh::{SshStart, SshWorker};

/// A worker that can be started.
#[derive(Clone, Debug)]
pub struct SshEntry {
    /// How.
    pub start: SshStart,
    /// What it has.
    pub labels: BTreeSet<LabelName>,
}

/// All workers by ssh. Dropped, those that run are ended.
pub struct SshHome {
    entries: Vec<SshEntry>,
    pipes: Arc<PipeHome>,
    started: Mutex<HashMap<WorkerName, SshWorker>>,
}

impl SshHome {
    /// Starts nothing yet. What travels waits in the folder, which nobody else uses.
    pub fn new(folder: PathBuf, entries: Vec<SshEntry>) -> Self {
        let pipes = Arc::new(PipeHome::new(BlobShelves::new(folder, limits::BLOB_CACHE_BYTES_MAX)));
        for entry in &entries {
            pipes.know(entry.start.name.clone(), entry.labels.clone());
        }
        Self { entries, pipes, started: Mutex::default() }
    }

    fn fitting<'a>(&'a self, wants: &'a Wants) -> impl Iterator<Item = &'a SshEntry> {
        self.entries.iter().filter(|entry| wants.fit(&entry.start.name, &entry.labels))
    }

    /// Starts those that an agent could run on.
    fn start(&self, wants: &Wants) {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in self.fitting(wants) {
            let start = || SshWorker::start(Arc::clone(&self.pipes), entry.start.clone());
            started.entry(entry.start.name.clone()).or_insert_with(start);
        }
    }
}

impl HomeCourier for SshHome {
    fn answer_to<'a>(&'a self, home: &'a HomeName) -> CourierFuture<'a, ()> {
        self.pipes.answer_to(home)
    }

    fn offer(&self, offer: PostedOffer) -> CourierFuture<'_, ()> {
        self.start(&offer.wants);
        self.pipes.offer(offer)
    }

    fn withdraw(&self, agent: AgentId) -> CourierFuture<'_, ()> {
        self.pipes.withdraw(agent)
    }

    fn tell<'a>(&'a self, worker: &'a WorkerName, message: Bytes) -> CourierFuture<'a, ()> {
        self.pipes.tell(worker, message)
    }

    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<HomeNews>> {
        self.pipes.follow()
    }

    fn put_blob<'a>(&'a self, worker: &'a WorkerName, from: &'a Path) -> CourierFuture<'a, BlobId> {
        self.pipes.put_blob(worker, from)
    }

    fn get_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()> {
        self.pipes.get_blob(worker, id, to)
    }

    fn drop_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId) -> CourierFuture<'a, ()> {
        self.pipes.drop_blob(worker, id)
    }

    fn workers(&self) -> Vec<SeenWorker> {
        self.pipes.workers()
    }

    /// Where none that fits is there, and each has failed too often.
    fn hopeless(&self, wants: &Wants) -> Option<String> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let why = |entry: &SshEntry| {
            let name = &entry.start.name;
            started.get(name)?.hopeless().map(|why| format!("{name}: {why}"))
        };
        let whys = self.fitting(wants).map(why).collect::<Option<Vec<_>>>()?;
        Some(if whys.is_empty() { "none is configured for it".to_owned() } else { whys.join("; ") })
    }
}
