//! What carries offers, messages and blobs between home and workers. A courier may lose, repeat and reorder all of it; the lease
//! machines make it right. It must not know what is in a message.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::BoxFuture;
use posse_protocol::AgentId;
use tokio::sync::mpsc;

use crate::limits;
use crate::message::Wants;
use crate::names::{BlobId, HomeName, LabelName, WorkerName};

/// What a courier answers with.
pub type CourierFuture<'a, T> = BoxFuture<'a, Result<T, CourierError>>;

/// Why a courier could not do something.
#[derive(Debug, thiserror::Error)]
pub enum CourierError {
    /// There is no connection now.
    #[error("the courier has no connection: {0}")]
    Down(String),
    /// The courier was closed.
    #[error("the courier is closed")]
    Closed,
    /// A message does not fit.
    #[error("a message of {bytes} bytes does not fit; {max} do")]
    TooLong {
        /// What it has.
        bytes: usize,
        /// What fits.
        max: usize,
    },
    /// A worker is not there.
    #[error("there is no worker {0}")]
    NoWorker(WorkerName),
    /// A blob is not there.
    #[error("there is no blob {0}")]
    NoBlob(BlobId),
    /// A blob is not what its name says.
    #[error("the blob {0} is damaged")]
    BadBlob(BlobId),
    /// A blob is too large, or there is no room for it.
    #[error("a blob of {bytes} bytes does not fit; {max} do")]
    BlobTooLarge {
        /// What it has.
        bytes: u64,
        /// What fits.
        max: u64,
    },
    /// There are as many as there may be.
    #[error("there are {max} {what} already")]
    Full {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        max: usize,
    },
    /// Somebody follows already.
    #[error("somebody follows already")]
    Followed,
    /// The broker does not permit it.
    #[error("the broker does not permit it: {0}")]
    Denied(String),
    /// The other side does not keep to the protocol, or the broker refused.
    #[error("{0}")]
    Refused(String),
    /// A file cannot be read or written.
    #[error("a file of a blob cannot be used: {0}")]
    File(#[from] io::Error),
}

/// An offer on its way to workers. A courier keeps the newest one of each agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedOffer {
    /// The agent.
    pub agent: AgentId,
    /// The epoch that a grant would follow.
    pub epoch: u64,
    /// Counts offers after that epoch. The same offer a second time changes nothing.
    pub attempt: u64,
    /// Which workers it is for.
    pub wants: Wants,
    /// What the worker gets.
    pub bytes: Bytes,
}

/// What home hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HomeNews {
    /// A message of a worker.
    Message {
        /// Whose channel it came by: the courier knows that, whatever the message says.
        from: WorkerName,
        /// The message.
        letter: Bytes,
    },
    /// The courier works again.
    Connected,
    /// The courier does not work now; it tries to.
    Disconnected(String),
    /// The courier has lost what it had: home offers again what has not settled, and puts the blobs of it again.
    DataLost,
    /// A worker's connection has ended.
    WorkerGone(WorkerName),
}

/// What a worker hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerNews {
    /// A message of home.
    Message(Bytes),
    /// The courier works again.
    Connected,
    /// The courier does not work now; it tries to, if it can.
    Disconnected(String),
}

/// A worker that was heard lately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenWorker {
    /// Its name.
    pub name: WorkerName,
    /// How long ago it was heard.
    pub silent_ms: u64,
}

/// Home's side of a courier.
pub trait HomeCourier: Send + Sync {
    /// Hears what is sent to this home from now on, whoever answered to its name before. Saying it twice changes nothing.
    fn answer_to<'a>(&'a self, home: &'a HomeName) -> CourierFuture<'a, ()>;
    /// Offers an agent. An older offer of it is replaced; the same one again changes nothing.
    fn offer(&self, offer: PostedOffer) -> CourierFuture<'_, ()>;
    /// Takes an agent's offer back.
    fn withdraw(&self, agent: AgentId) -> CourierFuture<'_, ()>;
    /// Sends a message to a worker. It may be lost without an error.
    fn tell<'a>(&'a self, worker: &'a WorkerName, message: Bytes) -> CourierFuture<'a, ()>;
    /// What home hears from now on. Once.
    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<HomeNews>>;
    /// Makes a file available to one worker. Others cannot read it.
    fn put_blob<'a>(&'a self, worker: &'a WorkerName, from: &'a Path) -> CourierFuture<'a, BlobId>;
    /// Fetches what a worker has put, and checks it. The file must not exist.
    fn get_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()>;
    /// Nobody needs a blob of a worker any more. It is no error if it is not there.
    fn drop_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId) -> CourierFuture<'a, ()>;
    /// The workers that were heard lately.
    fn workers(&self) -> Vec<SeenWorker>;
    /// Why no worker will take what wants this, as far as the courier can know.
    fn hopeless(&self, wants: &Wants) -> Option<String> {
        let _ = wants;
        None
    }
    /// How long a message may be.
    fn message_bytes_max(&self) -> usize {
        limits::MESSAGE_BYTES_MAX
    }
}

/// A worker's side of a courier.
pub trait WorkerCourier: Send + Sync {
    /// Waits for an offer that is for this worker. One call at a time; an offer that arrives when the call was dropped goes back.
    fn claim<'a>(&'a self, labels: &'a BTreeSet<LabelName>) -> CourierFuture<'a, ClaimedOffer>;
    /// Tells every home that this worker is there.
    fn hello(&self, message: Bytes) -> CourierFuture<'_, ()>;
    /// Sends a message to a home. It may be lost without an error.
    fn append<'a>(&'a self, home: &'a HomeName, message: Bytes) -> CourierFuture<'a, ()>;
    /// What the worker hears from now on. Once.
    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<WorkerNews>>;
    /// Makes a file available to home.
    fn put_blob<'a>(&'a self, from: &'a Path) -> CourierFuture<'a, BlobId>;
    /// Fetches a blob, from the cache if it is there, and checks it. The file must not exist.
    fn get_blob<'a>(&'a self, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()>;
    /// How long a message may be.
    fn message_bytes_max(&self) -> usize {
        limits::MESSAGE_BYTES_MAX
    }
}

/// An offer that a worker got. Whether it gets the agent is decided by home, when it claims with a message.
pub struct ClaimedOffer {
    /// What home wrote.
    pub bytes: Bytes,
    /// The courier's own hold on the offer.
    pub lease: Box<dyn OfferLease>,
}

impl std::fmt::Debug for ClaimedOffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClaimedOffer").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

/// A courier's hold on an offer. Dropped without a word, it is as if the worker had crashed.
pub trait OfferLease: Send + Sync {
    /// Keeps the offer from others for another while.
    fn renew(&self) -> CourierFuture<'_, ()>;
    /// The offer is used up.
    fn done(&self) -> CourierFuture<'_, ()>;
    /// Another worker shall have it.
    fn give_back(&self) -> CourierFuture<'_, ()>;
}

/// Carries a blob, and waits for the connection where there is none: nobody fails because a courier is away for a while.
pub(crate) async fn once_connected<'a, T>(
    carry: impl FnMut() -> CourierFuture<'a, T>,
) -> Result<T, CourierError> {
    once_connected_within(limits::COURIER_AWAY_MS_MAX, carry).await
}

/// The same, and waits so long.
pub(crate) async fn once_connected_within<'a, T>(
    away_ms_max: u64,
    mut carry: impl FnMut() -> CourierFuture<'a, T>,
) -> Result<T, CourierError> {
    let (began, away) = (Instant::now(), Duration::from_millis(away_ms_max));
    loop {
        match carry().await {
            Err(CourierError::Down(_)) if began.elapsed() < away => {
                tokio::time::sleep(Duration::from_millis(limits::RECONNECT_MS_MIN)).await;
            }
            carried => return carried,
        }
    }
}

/// Refuses a message that is too long.
pub(crate) fn must_fit(message: &Bytes, max: usize) -> Result<(), CourierError> {
    match message.len() {
        bytes if bytes > max => Err(CourierError::TooLong { bytes, max }),
        _ => Ok(()),
    }
}

/// Those that were heard within the limit, by name.
pub(crate) fn seen_lately(heard: &HashMap<WorkerName, Instant>) -> Vec<SeenWorker> {
    let silent = |at: &Instant| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut seen: Vec<SeenWorker> = heard
        .iter()
        .map(|(name, at)| SeenWorker { name: name.clone(), silent_ms: silent(at) })
        .filter(|worker| worker.silent_ms <= limits::WORKER_SILENT_MS_MAX)
        .collect();
    seen.sort_by(|a, b| a.name.cmp(&b.name));
    seen
}
