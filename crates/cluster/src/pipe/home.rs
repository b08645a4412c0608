//! Home's end of pipes: one book of offers, and a link and a shelf of blobs for each worker.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use posse_protocol::AgentId;
use tokio::io::{AsyncRead, AsyncWrite, BufReader, BufWriter};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use super::blob_traffic::{Accepts, Arriving, BlobTraffic};
use super::frame::PipeFrame;
use super::link::{Link, LinkQueue, find_magic, pipe_error};
use crate::blob_shelves::BlobShelves;
use crate::courier::{
    CourierError, CourierFuture, HomeCourier, HomeNews, PostedOffer, SeenWorker, must_fit, seen_lately,
};
use crate::letter_room::{LetterRoom, holding};
use crate::limits;
use crate::names::{BlobId, HomeName, LabelName, WorkerName};
use crate::offer_book::{OfferBook, OfferKey};

/// Home's courier over any number of pipes. Dropped, all of them end.
pub struct PipeHome {
    shared: Arc<HomeShared>,
    news: Mutex<Option<mpsc::Receiver<HomeNews>>>,
    tasks: Mutex<JoinSet<()>>,
}

struct HomeShared {
    state: Mutex<HomeState>,
    shelves: BlobShelves,
    /// What waits to be read. A pipe that has none left is not read on.
    room: LetterRoom<WorkerName>,
    news: mpsc::Sender<HomeNews>,
}

#[derive(Default)]
struct HomeState {
    book: OfferBook,
    pipes: HashMap<WorkerName, WorkerPipe>,
    heard: HashMap<WorkerName, Instant>,
    /// The labels of workers that home knows: they get nothing that is for others, whatever they say.
    labels: HashMap<WorkerName, BTreeSet<LabelName>>,
    next_pipe: u64,
}

struct WorkerPipe {
    number: u64,
    link: Link,
    /// The labels that a worker says it has, which waits for an offer.
    wants: Option<BTreeSet<LabelName>>,
    task: Option<AbortHandle>,
}

/// The end of one pipe, for whoever made it.
#[derive(Clone, Debug)]
pub struct PipeEnd(watch::Receiver<PipeLife>);

/// How far a pipe has come.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PipeLife {
    /// Nothing has come yet.
    Silent,
    /// The worker has said its name.
    Speaks,
    /// It is over.
    Ended { why: String },
}

impl PipeEnd {
    /// Waits for the worker's name. False if the pipe ends before.
    pub async fn speaks(&mut self) -> bool {
        let changed = self.0.wait_for(|life| *life != PipeLife::Silent).await;
        changed.is_ok_and(|life| *life == PipeLife::Speaks)
    }

    /// Waits until the pipe has ended, and says why.
    pub async fn ended(&mut self) -> String {
        let ended = self.0.wait_for(|life| matches!(life, PipeLife::Ended { .. })).await;
        match ended.as_deref() {
            Ok(PipeLife::Ended { why }) => why.clone(),
            _ => "the courier was closed".to_owned(),
        }
    }
}

impl PipeHome {
    /// Without workers. What workers send, and what they fetch, is on their shelves.
    pub fn new(shelves: BlobShelves) -> Self {
        let (sender, receiver) = mpsc::channel(limits::FOLLOWED_MAX);
        let (state, room) = (Mutex::default(), LetterRoom::of_courier());
        let shared = HomeShared { state, shelves, room, news: sender };
        Self { shared: Arc::new(shared), news: Mutex::new(Some(receiver)), tasks: Mutex::new(JoinSet::new()) }
    }

    /// Gives a worker only offers for these labels, whatever it says of itself.
    pub fn know(&self, name: WorkerName, labels: BTreeSet<LabelName>) {
        self.shared.state().labels.insert(name, labels);
    }

    /// Adds a worker. A pipe that it had before ends.
    pub fn add(
        &self,
        name: &WorkerName,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<PipeEnd, CourierError> {
        let (link, queue) = Link::new();
        let (life, end) = watch::channel(PipeLife::Silent);
        let number = self.shared.enter(name, &link)?;
        let (shared, name) = (Arc::clone(&self.shared), name.clone());
        let run = async move {
            let pipe = PipeRun { name: &name, number, life: &life };
            let why = shared.run(pipe, link, queue, reader, writer).await;
            shared.leave(&name, number).await;
            let _ = life.send(PipeLife::Ended { why });
        };
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        let task = tasks.spawn(run);
        self.shared.own(number, task);
        Ok(PipeEnd(end))
    }
}

/// One pipe while it lasts.
#[derive(Clone, Copy)]
struct PipeRun<'a> {
    name: &'a WorkerName,
    number: u64,
    life: &'a watch::Sender<PipeLife>,
}

impl HomeShared {
    fn state(&self) -> MutexGuard<'_, HomeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, name: &WorkerName, link: &Link) -> Result<u64, CourierError> {
        let mut state = self.state();
        if state.pipes.len() >= limits::WORKERS_MAX && !state.pipes.contains_key(name) {
            return Err(CourierError::Full { what: "workers", max: limits::WORKERS_MAX });
        }
        state.next_pipe += 1;
        let number = state.next_pipe;
        let pipe = WorkerPipe { number, link: link.clone(), wants: None, task: None };
        if let Some(old) = state.pipes.insert(name.clone(), pipe) {
            state.book.gone(name);
            old.task.inspect(AbortHandle::abort);
        }
        Ok(number)
    }

    fn own(&self, number: u64, task: AbortHandle) {
        let mut state = self.state();
        match state.pipes.values_mut().find(|pipe| pipe.number == number) {
            Some(pipe) => pipe.task = Some(task),
            // It was replaced, or has ended, meanwhile.
            None => task.abort(),
        }
    }

    /// Reads and writes until either ends. Says why.
    async fn run(
        &self,
        pipe: PipeRun<'_>,
        link: Link,
        queue: LinkQueue,
        reader: impl AsyncRead + Send + Unpin,
        writer: impl AsyncWrite + Send + Unpin,
    ) -> String {
        // Another pipe of it may have been replaced by this one.
        self.shelves.let_go(pipe.name).await;
        let shelf = match self.shelves.of(pipe.name).await {
            Ok(shelf) => shelf,
            Err(error) => return error.to_string(),
        };
        let traffic = BlobTraffic::new(link, shelf, Accepts::All);
        let ended = tokio::select! {
            read = self.read(pipe, &traffic, BufReader::new(reader)) => read,
            written = queue.write_all(BufWriter::new(writer)) => written.map_err(pipe_error),
        };
        traffic.close();
        self.shelves.let_go(pipe.name).await;
        match ended {
            Ok(()) => "it has closed the pipe".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    async fn read(
        &self,
        pipe: PipeRun<'_>,
        traffic: &Arc<BlobTraffic>,
        mut reader: impl AsyncRead + Unpin,
    ) -> Result<(), CourierError> {
        let PipeRun { name, number, life } = pipe;
        let patience = Duration::from_millis(limits::GREETING_MS_MAX);
        let greeting = tokio::time::timeout(patience, async {
            find_magic(&mut reader).await?;
            PipeFrame::read(&mut reader).await
        });
        let greeting =
            greeting.await.map_err(|_| CourierError::Down("the worker says nothing".to_owned()))?;
        match greeting.map_err(pipe_error)? {
            Some(PipeFrame::Greeting(called)) if called == *name => {}
            Some(PipeFrame::Greeting(called)) => {
                return Err(CourierError::Refused(format!("the worker calls itself {called}, not {name}")));
            }
            _ => return Err(CourierError::Refused("the worker did not say its name".to_owned())),
        }
        self.state().heard.insert(name.clone(), Instant::now());
        let _ = life.send(PipeLife::Speaks);
        let mut arriving = Arriving::default();
        while let Some(frame) = PipeFrame::read(&mut reader).await.map_err(pipe_error)? {
            self.state().heard.insert(name.clone(), Instant::now());
            let Some(frame) = traffic.take(&mut arriving, frame).await? else { continue };
            match frame {
                PipeFrame::Message(message) => {
                    let room = self.room.take(name, message.len()).await;
                    let letter = holding(message, room.ok_or(CourierError::Closed)?);
                    let news = HomeNews::Message { from: name.clone(), letter };
                    self.news.send(news).await.map_err(|_| CourierError::Closed)?;
                }
                PipeFrame::Want(labels) => self.wants(name, number, Some(labels)),
                PipeFrame::Unwant => self.wants(name, number, None),
                PipeFrame::Done(key) => self.state().book.done(name, key),
                PipeFrame::GiveBack(key) => self.state().book.give_back(name, key),
                PipeFrame::Unused(key) => self.state().book.unused(name, key),
                _ => return Err(CourierError::Refused("the worker sent a frame of home's".to_owned())),
            }
            self.hand_out();
        }
        Ok(())
    }

    fn wants(&self, name: &WorkerName, number: u64, labels: Option<BTreeSet<LabelName>>) {
        let mut state = self.state();
        if let Some(pipe) = state.pipes.get_mut(name).filter(|pipe| pipe.number == number) {
            pipe.wants = labels;
        }
    }

    /// Gives offers to workers that wait for one.
    fn hand_out(&self) {
        let mut state = self.state();
        let HomeState { book, pipes, labels: known, .. } = &mut *state;
        for (name, pipe) in pipes {
            let Some(labels) = pipe.wants.take() else { continue };
            let taken = match known.get(name) {
                Some(own) => book.take(name, &labels.intersection(own).cloned().collect()),
                None => book.take(name, &labels),
            };
            let Some(offer) = taken else {
                pipe.wants = Some(labels);
                continue;
            };
            let key = OfferKey::of(&offer);
            if pipe.link.try_send(PipeFrame::Offer(key, offer.bytes)).is_err() {
                book.unused(name, key);
                pipe.wants = Some(labels);
            }
        }
    }

    async fn leave(&self, name: &WorkerName, number: u64) {
        {
            let mut state = self.state();
            if state.pipes.get(name).is_none_or(|pipe| pipe.number != number) {
                return;
            }
            state.pipes.remove(name);
            state.heard.remove(name);
            state.book.gone(name);
        }
        self.hand_out();
        let _ = self.news.send(HomeNews::WorkerGone(name.clone())).await;
    }
}

impl HomeCourier for PipeHome {
    /// Whatever comes through a pipe is for this home.
    fn answer_to<'a>(&'a self, _home: &'a HomeName) -> CourierFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn offer(&self, offer: PostedOffer) -> CourierFuture<'_, ()> {
        Box::pin(async move {
            must_fit(&offer.bytes, limits::MESSAGE_BYTES_MAX)?;
            self.shared.state().book.post(offer)?;
            self.shared.hand_out();
            Ok(())
        })
    }

    fn withdraw(&self, agent: AgentId) -> CourierFuture<'_, ()> {
        self.shared.state().book.withdraw(agent);
        Box::pin(async { Ok(()) })
    }

    fn tell<'a>(&'a self, worker: &'a WorkerName, message: Bytes) -> CourierFuture<'a, ()> {
        Box::pin(async move {
            must_fit(&message, limits::MESSAGE_BYTES_MAX)?;
            let link = self.shared.state().pipes.get(worker).map(|pipe| pipe.link.clone());
            let link = link.ok_or_else(|| CourierError::NoWorker(worker.clone()))?;
            link.try_send(PipeFrame::Message(message))
        })
    }

    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<HomeNews>> {
        let news = self.news.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move { news.ok_or(CourierError::Followed) })
    }

    fn put_blob<'a>(&'a self, worker: &'a WorkerName, from: &'a Path) -> CourierFuture<'a, BlobId> {
        Box::pin(async move { self.shared.shelves.of(worker).await?.put(from).await })
    }

    fn get_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()> {
        Box::pin(async move { self.shared.shelves.of(worker).await?.take_out(id, to).await })
    }

    fn drop_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId) -> CourierFuture<'a, ()> {
        Box::pin(async move { Ok(self.shared.shelves.of(worker).await?.remove(id).await?) })
    }

    fn workers(&self) -> Vec<SeenWorker> {
        seen_lately(&self.shared.state().heard)
    }
}
