//! A worker's end of a pipe.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, BufReader, BufWriter};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::blob_traffic::{Accepts, Arriving, BlobTraffic};
use super::frame::PipeFrame;
use super::link::{Link, LinkQueue, find_magic, pipe_error};
use crate::blob_shelf::BlobShelf;
use crate::courier::{
    ClaimedOffer, CourierError, CourierFuture, OfferLease, WorkerCourier, WorkerNews, must_fit,
};
use crate::limits;
use crate::names::{BlobId, HomeName, LabelName, WorkerName};
use crate::offer_book::OfferKey;

/// A worker's courier over one pipe. Dropped, the pipe ends.
pub struct PipeWorker {
    link: Link,
    traffic: Arc<BlobTraffic>,
    shelf: Arc<BlobShelf>,
    claim: Arc<ClaimState>,
    /// One claim at a time.
    turn: tokio::sync::Mutex<()>,
    news: Mutex<Option<mpsc::Receiver<WorkerNews>>>,
    task: JoinHandle<()>,
    ended: watch::Receiver<Option<Result<(), String>>>,
}

/// The claim that waits, if there is one.
#[derive(Default)]
struct ClaimState(Mutex<ClaimSlot>);

#[derive(Default)]
struct ClaimSlot {
    waits: Option<oneshot::Sender<(OfferKey, Bytes)>>,
    is_closed: bool,
}

impl ClaimState {
    fn slot(&self) -> MutexGuard<'_, ClaimSlot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PipeWorker {
    /// Speaks over these streams as this worker. The shelf is its cache of blobs.
    pub fn start(
        name: &WorkerName,
        shelf: Arc<BlobShelf>,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let (link, queue) = Link::new();
        // The queue is empty, so there is room for it.
        let _ = link.try_send(PipeFrame::Greeting(name.clone()));
        let traffic = BlobTraffic::new(link.clone(), Arc::clone(&shelf), Accepts::Asked);
        let (sender, receiver) = mpsc::channel(limits::FOLLOWED_MAX);
        let claim = Arc::new(ClaimState::default());
        let (over, ended) = watch::channel(None);
        let end = WorkerEnd {
            link: link.clone(),
            traffic: Arc::clone(&traffic),
            claim: Arc::clone(&claim),
            news: sender,
            over,
        };
        let task = tokio::spawn(end.run(queue, reader, writer));
        let (turn, news) = (tokio::sync::Mutex::new(()), Mutex::new(Some(receiver)));
        Self { link, traffic, shelf, claim, turn, news, task, ended }
    }

    /// Waits until the pipe has ended; the error says what was wrong with it.
    pub fn ended(&self) -> impl Future<Output = Result<(), String>> + Send + use<> {
        let mut ended = self.ended.clone();
        async move { ended.wait_for(Option::is_some).await.ok().and_then(|how| how.clone()).unwrap_or(Ok(())) }
    }
}

impl Drop for PipeWorker {
    fn drop(&mut self) {
        self.task.abort();
        self.traffic.close();
    }
}

/// What the task of a pipe owns.
struct WorkerEnd {
    link: Link,
    traffic: Arc<BlobTraffic>,
    claim: Arc<ClaimState>,
    news: mpsc::Sender<WorkerNews>,
    over: watch::Sender<Option<Result<(), String>>>,
}

impl WorkerEnd {
    async fn run(
        self,
        queue: LinkQueue,
        reader: impl AsyncRead + Send + Unpin,
        writer: impl AsyncWrite + Send + Unpin,
    ) {
        let ended = tokio::select! {
            read = self.read(BufReader::new(reader)) => read,
            written = queue.write_all(BufWriter::new(writer)) => written.map_err(pipe_error),
        };
        self.traffic.close();
        *self.claim.slot() = ClaimSlot { waits: None, is_closed: true };
        let ended = ended.map_err(|error| error.to_string());
        let _ = self.over.send(Some(ended.clone()));
        let why = ended.err().unwrap_or_else(|| "home has closed the pipe".to_owned());
        let _ = self.news.send(WorkerNews::Disconnected(why)).await;
    }

    async fn read(&self, mut reader: impl AsyncRead + Unpin) -> Result<(), CourierError> {
        find_magic(&mut reader).await.map_err(pipe_error)?;
        let mut arriving = Arriving::default();
        while let Some(frame) = PipeFrame::read(&mut reader).await.map_err(pipe_error)? {
            match self.traffic.take(&mut arriving, frame).await? {
                None => {}
                Some(PipeFrame::Message(message)) => {
                    let news = WorkerNews::Message(message);
                    self.news.send(news).await.map_err(|_| CourierError::Closed)?;
                }
                Some(PipeFrame::Offer(key, bytes)) => {
                    let waits = self.claim.slot().waits.take();
                    let is_taken = waits.is_some_and(|waits| waits.send((key, bytes)).is_ok());
                    if !is_taken {
                        self.link.send(PipeFrame::Unused(key)).await?;
                    }
                }
                Some(_) => return Err(CourierError::Refused("home sent a frame of a worker's".to_owned())),
            }
        }
        Ok(())
    }
}

/// Takes the wish for an offer back, unless it was fulfilled.
struct Wish<'a> {
    link: &'a Link,
    is_fulfilled: bool,
}

impl Drop for Wish<'_> {
    fn drop(&mut self) {
        if !self.is_fulfilled {
            let _ = self.link.try_send(PipeFrame::Unwant);
        }
    }
}

impl WorkerCourier for PipeWorker {
    fn claim<'a>(&'a self, labels: &'a BTreeSet<LabelName>) -> CourierFuture<'a, ClaimedOffer> {
        Box::pin(async move {
            let _turn = self.turn.lock().await;
            let (waits, arrived) = oneshot::channel();
            {
                let mut slot = self.claim.slot();
                if slot.is_closed {
                    return Err(CourierError::Closed);
                }
                slot.waits = Some(waits);
            }
            let mut wish = Wish { link: &self.link, is_fulfilled: false };
            self.link.send(PipeFrame::Want(labels.clone())).await?;
            let (key, bytes) = arrived.await.map_err(|_| CourierError::Closed)?;
            wish.is_fulfilled = true;
            let lease = Box::new(PipeLease { link: self.link.clone(), key });
            Ok(ClaimedOffer { bytes, lease })
        })
    }

    fn hello(&self, message: Bytes) -> CourierFuture<'_, ()> {
        Box::pin(async move {
            must_fit(&message, limits::MESSAGE_BYTES_MAX)?;
            self.link.send(PipeFrame::Message(message)).await
        })
    }

    /// A pipe leads to one home, whatever its name is.
    fn append<'a>(&'a self, _home: &'a HomeName, message: Bytes) -> CourierFuture<'a, ()> {
        self.hello(message)
    }

    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<WorkerNews>> {
        let news = self.news.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move { news.ok_or(CourierError::Followed) })
    }

    fn put_blob<'a>(&'a self, from: &'a Path) -> CourierFuture<'a, BlobId> {
        Box::pin(self.traffic.push(from))
    }

    fn get_blob<'a>(&'a self, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()> {
        Box::pin(async move {
            self.traffic.fetch(id).await?;
            match self.shelf.take_out(id, to).await {
                // The cached one was damaged, or made room for another: once more from home.
                Err(CourierError::BadBlob(_) | CourierError::NoBlob(_)) => {
                    self.traffic.fetch(id).await?;
                    self.shelf.take_out(id, to).await
                }
                outcome => outcome,
            }
        })
    }
}

struct PipeLease {
    link: Link,
    key: OfferKey,
}

impl OfferLease for PipeLease {
    /// The pipe itself is the hold.
    fn renew(&self) -> CourierFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn done(&self) -> CourierFuture<'_, ()> {
        Box::pin(self.link.send(PipeFrame::Done(self.key)))
    }

    fn give_back(&self) -> CourierFuture<'_, ()> {
        Box::pin(self.link.send(PipeFrame::GiveBack(self.key)))
    }
}
