//! Blobs on one pipe, the same on both ends. A blob goes in small parts behind all messages, so that it delays none of them.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncReadExt as _;
use tokio::sync::{Semaphore, oneshot};

use super::frame::PipeFrame;
use super::link::Link;
use crate::blob_shelf::{BlobPart, BlobShelf};
use crate::courier::CourierError;
use crate::limits;
use crate::names::BlobId;

/// Which blobs a side takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accepts {
    /// Those that it asked for.
    Asked,
    /// All that fit.
    All,
}

/// The blobs on one pipe.
pub(super) struct BlobTraffic {
    link: Link,
    shelf: Arc<BlobShelf>,
    accepts: Accepts,
    turns: Arc<Semaphore>,
    state: Mutex<TrafficState>,
    /// Counts parts, so that a blob that stands still can be told from a slow one.
    moved: AtomicU64,
}

type Waiters = HashMap<BlobId, Vec<oneshot::Sender<Result<(), CourierError>>>>;

#[derive(Default)]
struct TrafficState {
    is_closed: bool,
    /// Who waits for a blob of the other side.
    asked: Waiters,
    /// Who waits until the other side has a blob of ours.
    pushed: Waiters,
    /// What is being sent, and whether it was wanted again meanwhile.
    sending: HashMap<BlobId, bool>,
    /// What of that the other side does not take.
    refused: HashSet<BlobId>,
}

impl TrafficState {
    /// Only what is being sent can be refused: the other side cannot make the list long.
    fn refuse(&mut self, id: BlobId) {
        if self.sending.contains_key(&id) {
            self.refused.insert(id);
        }
    }
}

/// Blobs that are arriving. Owned by the task that reads.
#[derive(Default)]
pub(super) struct Arriving(HashMap<BlobId, BlobPart>);

impl BlobTraffic {
    pub(super) fn new(link: Link, shelf: Arc<BlobShelf>, accepts: Accepts) -> Arc<Self> {
        let turns = Arc::new(Semaphore::new(limits::BLOB_TRANSFERS_MAX));
        let (state, moved) = (Mutex::new(TrafficState::default()), AtomicU64::new(0));
        Arc::new(Self { link, shelf, accepts, turns, state, moved })
    }

    /// Fetches a blob of the other side onto the shelf.
    pub(super) async fn fetch(&self, id: BlobId) -> Result<(), CourierError> {
        if self.shelf.has(id) {
            return Ok(());
        }
        let (waiter, arrived) = oneshot::channel();
        let is_first = self.wait(|state| &mut state.asked, id, waiter)?;
        if is_first {
            self.link.send(PipeFrame::BlobWant(id)).await?;
        }
        self.moving(arrived).await
    }

    /// Puts a file on the shelf and sends it to the other side.
    pub(super) async fn push(self: &Arc<Self>, from: &Path) -> Result<BlobId, CourierError> {
        let id = self.shelf.put(from).await?;
        let (waiter, arrived) = oneshot::channel();
        let is_first = self.wait(|state| &mut state.pushed, id, waiter)?;
        if is_first {
            self.begin_sending(id)?;
        }
        self.moving(arrived).await?;
        Ok(id)
    }

    /// Nothing comes any more: whoever waits is told.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        // Dropping the senders tells those who wait.
        state.asked.clear();
        state.pushed.clear();
    }

    /// Takes a frame about blobs; gives back any other.
    pub(super) async fn take(
        self: &Arc<Self>,
        arriving: &mut Arriving,
        frame: PipeFrame,
    ) -> Result<Option<PipeFrame>, CourierError> {
        match frame {
            PipeFrame::BlobWant(id) => self.begin_sending(id)?,
            PipeFrame::BlobBegin(id, bytes) => self.begin_arriving(arriving, id, bytes).await?,
            PipeFrame::BlobPart(id, piece) => {
                self.moved.fetch_add(1, Ordering::Relaxed);
                if let Some(part) = arriving.0.get_mut(&id)
                    && let Err(error) = part.write(&self.shelf, &piece).await
                {
                    arriving.0.remove(&id);
                    self.refuse(id, error).await?;
                }
            }
            PipeFrame::BlobEnd(id) => {
                if let Some(part) = arriving.0.remove(&id) {
                    match part.finish(&self.shelf, Some(id)).await {
                        Ok(_) => {
                            self.tell(|state| &mut state.asked, id, || Ok(()));
                            self.link.send(PipeFrame::BlobStored(id)).await?;
                        }
                        Err(error) => self.refuse(id, error).await?,
                    }
                }
            }
            PipeFrame::BlobStored(id) => self.tell(|state| &mut state.pushed, id, || Ok(())),
            PipeFrame::BlobRefused(id) => {
                self.state().refuse(id);
                let why = || Err(CourierError::Refused(format!("the other side does not take blob {id}")));
                self.tell(|state| &mut state.pushed, id, why);
            }
            PipeFrame::BlobMissing(id) => {
                self.tell(|state| &mut state.asked, id, || Err(CourierError::NoBlob(id)));
            }
            other => return Ok(Some(other)),
        }
        Ok(None)
    }

    async fn begin_arriving(
        &self,
        arriving: &mut Arriving,
        id: BlobId,
        bytes: u64,
    ) -> Result<(), CourierError> {
        let is_wanted = self.accepts == Accepts::All || self.state().asked.contains_key(&id);
        let max = self.shelf.blob_bytes_max();
        if !is_wanted || bytes > max || arriving.0.len() >= limits::BLOB_TRANSFERS_MAX * 2 {
            return self.refuse(id, CourierError::BlobTooLarge { bytes, max }).await;
        }
        match self.shelf.part().await {
            Ok(part) => {
                arriving.0.insert(id, part);
                Ok(())
            }
            Err(error) => self.refuse(id, error.into()).await,
        }
    }

    async fn refuse(&self, id: BlobId, why: CourierError) -> Result<(), CourierError> {
        tracing::warn!(%id, %why, "a blob is not taken");
        let why = why.to_string();
        self.tell(|state| &mut state.asked, id, || Err(CourierError::Refused(why.clone())));
        self.link.send(PipeFrame::BlobRefused(id)).await
    }

    fn begin_sending(self: &Arc<Self>, id: BlobId) -> Result<(), CourierError> {
        {
            let mut state = self.state();
            if let Some(again) = state.sending.get_mut(&id) {
                *again = true;
                return Ok(());
            }
            if state.sending.len() >= limits::BLOBS_WAITING_MAX {
                return Err(CourierError::Full { what: "blobs that wait", max: limits::BLOBS_WAITING_MAX });
            }
            state.sending.insert(id, false);
        }
        let traffic = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                if let Err(why) = traffic.send_one(id).await {
                    tracing::debug!(%id, %why, "a blob was not sent");
                }
                let mut state = traffic.state();
                let was_wanted_again = state.sending.remove(&id) == Some(true);
                state.refused.remove(&id);
                if state.is_closed || !was_wanted_again {
                    return;
                }
                state.sending.insert(id, false);
            }
        });
        Ok(())
    }

    async fn send_one(&self, id: BlobId) -> Result<(), CourierError> {
        let _turn = self.turns.acquire().await.map_err(|_| CourierError::Closed)?;
        let (mut file, bytes) = match self.shelf.reader(id).await {
            Ok(found) => found,
            Err(_) => return self.link.send(PipeFrame::BlobMissing(id)).await,
        };
        self.link.send_bulk(PipeFrame::BlobBegin(id, bytes)).await?;
        let mut piece = vec![0; limits::BLOB_PART_BYTES];
        loop {
            let count = file.read(&mut piece).await?;
            if count == 0 {
                return self.link.send_bulk(PipeFrame::BlobEnd(id)).await;
            }
            if self.state().refused.contains(&id) {
                return Ok(());
            }
            self.moved.fetch_add(1, Ordering::Relaxed);
            self.link.send_bulk(PipeFrame::BlobPart(id, Bytes::copy_from_slice(&piece[..count]))).await?;
        }
    }

    /// Waits for the end of a transfer, as long as anything moves.
    async fn moving(
        &self,
        mut arrived: oneshot::Receiver<Result<(), CourierError>>,
    ) -> Result<(), CourierError> {
        loop {
            let before = self.moved.load(Ordering::Relaxed);
            let patience = Duration::from_millis(limits::BLOB_STILL_MS_MAX);
            match tokio::time::timeout(patience, &mut arrived).await {
                Ok(Ok(outcome)) => return outcome,
                Ok(Err(_)) => return Err(CourierError::Closed),
                Err(_) if self.moved.load(Ordering::Relaxed) == before => {
                    return Err(CourierError::Down("a blob stands still".to_owned()));
                }
                Err(_) => {}
            }
        }
    }

    /// Adds somebody who waits. Says whether they are the first.
    fn wait(
        &self,
        which: impl Fn(&mut TrafficState) -> &mut Waiters,
        id: BlobId,
        waiter: oneshot::Sender<Result<(), CourierError>>,
    ) -> Result<bool, CourierError> {
        let mut state = self.state();
        if state.is_closed {
            return Err(CourierError::Closed);
        }
        let waiters = which(&mut state);
        // Those who gave up waiting do not count.
        waiters.retain(|_, list| {
            list.retain(|one| !one.is_closed());
            !list.is_empty()
        });
        if waiters.len() >= limits::BLOBS_WAITING_MAX {
            return Err(CourierError::Full { what: "blobs that wait", max: limits::BLOBS_WAITING_MAX });
        }
        let list = waiters.entry(id).or_default();
        list.push(waiter);
        Ok(list.len() == 1)
    }

    fn tell(
        &self,
        which: impl Fn(&mut TrafficState) -> &mut Waiters,
        id: BlobId,
        outcome: impl Fn() -> Result<(), CourierError>,
    ) {
        let waiters = which(&mut self.state()).remove(&id).unwrap_or_default();
        for waiter in waiters {
            let _ = waiter.send(outcome());
        }
    }

    fn state(&self) -> MutexGuard<'_, TrafficState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
