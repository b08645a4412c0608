//! A courier within one process, over channels: for tests and for trying things out. What it carries can be lost, repeated and
//! delayed by whoever asks for it.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use posse_protocol::AgentId;
use tokio::sync::{Notify, mpsc};

use crate::blob_shelves::BlobShelves;
use crate::courier::{
    ClaimedOffer, CourierError, CourierFuture, HomeCourier, HomeNews, OfferLease, PostedOffer, SeenWorker,
    WorkerCourier, WorkerNews, must_fit, seen_lately,
};
use crate::letter_room::{LetterRoom, holding};
use crate::limits;
use crate::names::{BlobId, HomeName, LabelName, WorkerName};
use crate::offer_book::{OfferBook, OfferKey};

/// Which way a message goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalWay {
    /// From a worker to a home.
    Up(WorkerName, HomeName),
    /// From a home to a worker.
    Down(WorkerName),
}

/// Decides what happens to each message.
pub trait CarryFaults: Send + Sync {
    /// After how many milliseconds each copy arrives; none if it is lost.
    fn carry(&self, way: &LocalWay, message: &Bytes) -> Vec<u64>;
}

/// Where homes and workers of one process meet. Copies are the same place.
#[derive(Clone)]
pub struct LocalHub(Arc<Hub>);

struct Hub {
    state: Mutex<HubState>,
    offered: Notify,
    shelves: BlobShelves,
    faults: Option<Arc<dyn CarryFaults>>,
    /// What waits for homes.
    room: LetterRoom<WorkerName>,
}

#[derive(Default)]
struct HubState {
    book: OfferBook,
    homes: HashMap<HomeName, mpsc::Sender<HomeNews>>,
    workers: HashMap<WorkerName, mpsc::Sender<WorkerNews>>,
    heard: HashMap<WorkerName, Instant>,
}

impl LocalHub {
    /// A new place.
    pub fn new(shelves: BlobShelves, faults: Option<Arc<dyn CarryFaults>>) -> Self {
        let (state, offered) = (Mutex::new(HubState::default()), Notify::new());
        Self(Arc::new(Hub { state, offered, shelves, faults, room: LetterRoom::of_courier() }))
    }

    /// A home at this place, which answers to a name.
    pub fn home(&self, name: HomeName) -> LocalHome {
        let (sender, receiver) = mpsc::channel(limits::FOLLOWED_MAX);
        self.0.state().homes.insert(name, sender.clone());
        LocalHome { hub: Arc::clone(&self.0), sender, news: Mutex::new(Some(receiver)) }
    }

    /// A worker at this place.
    pub fn worker(&self, name: WorkerName) -> LocalWorker {
        LocalWorker { hub: Arc::clone(&self.0), name }
    }
}

impl Hub {
    fn state(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries a message as the faults say. What nobody takes in time is lost.
    fn carry<N: Send + 'static>(
        &self,
        way: &LocalWay,
        message: &Bytes,
        to: &mpsc::Sender<N>,
        news: impl Fn(Bytes) -> N,
    ) {
        let delays = self.faults.as_ref().map_or_else(|| vec![0], |faults| faults.carry(way, message));
        for delay_ms in delays {
            let (to, news) = (to.clone(), news(message.clone()));
            if delay_ms == 0 {
                let _ = to.try_send(news);
            } else {
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(delay_ms)).await;
                    let _ = to.try_send(news);
                });
            }
        }
    }
}

/// A home within the process.
pub struct LocalHome {
    hub: Arc<Hub>,
    sender: mpsc::Sender<HomeNews>,
    news: Mutex<Option<mpsc::Receiver<HomeNews>>>,
}

impl HomeCourier for LocalHome {
    fn answer_to<'a>(&'a self, home: &'a HomeName) -> CourierFuture<'a, ()> {
        self.hub.state().homes.insert(home.clone(), self.sender.clone());
        Box::pin(async { Ok(()) })
    }

    fn offer(&self, offer: PostedOffer) -> CourierFuture<'_, ()> {
        Box::pin(async move {
            must_fit(&offer.bytes, limits::MESSAGE_BYTES_MAX)?;
            if self.hub.state().book.post(offer)? {
                self.hub.offered.notify_waiters();
            }
            Ok(())
        })
    }

    fn withdraw(&self, agent: AgentId) -> CourierFuture<'_, ()> {
        self.hub.state().book.withdraw(agent);
        Box::pin(async { Ok(()) })
    }

    fn tell<'a>(&'a self, worker: &'a WorkerName, message: Bytes) -> CourierFuture<'a, ()> {
        Box::pin(async move {
            must_fit(&message, limits::MESSAGE_BYTES_MAX)?;
            let to = self.hub.state().workers.get(worker).cloned();
            let to = to.ok_or_else(|| CourierError::NoWorker(worker.clone()))?;
            self.hub.carry(&LocalWay::Down(worker.clone()), &message, &to, WorkerNews::Message);
            Ok(())
        })
    }

    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<HomeNews>> {
        let news = self.news.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move { news.ok_or(CourierError::Followed) })
    }

    fn put_blob<'a>(&'a self, worker: &'a WorkerName, from: &'a Path) -> CourierFuture<'a, BlobId> {
        Box::pin(async move { self.hub.shelves.of(worker).await?.put(from).await })
    }

    fn get_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()> {
        Box::pin(async move { self.hub.shelves.of(worker).await?.take_out(id, to).await })
    }

    fn drop_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId) -> CourierFuture<'a, ()> {
        Box::pin(async move { Ok(self.hub.shelves.of(worker).await?.remove(id).await?) })
    }

    fn workers(&self) -> Vec<SeenWorker> {
        seen_lately(&self.hub.state().heard)
    }
}

/// Homes by one of the names that they answer to.
fn each_once(homes: Vec<(HomeName, mpsc::Sender<HomeNews>)>) -> Vec<(HomeName, mpsc::Sender<HomeNews>)> {
    let mut once: Vec<(HomeName, mpsc::Sender<HomeNews>)> = Vec::new();
    for (name, home) in homes {
        if !once.iter().any(|(_, known)| known.same_channel(&home)) {
            once.push((name, home));
        }
    }
    once
}

/// A worker within the process. Dropped, it is gone.
pub struct LocalWorker {
    hub: Arc<Hub>,
    name: WorkerName,
}

impl LocalWorker {
    fn heard(&self) {
        let mut state = self.hub.state();
        if state.heard.len() < limits::WORKERS_MAX || state.heard.contains_key(&self.name) {
            state.heard.insert(self.name.clone(), Instant::now());
        }
    }

    fn carry_up(&self, home: HomeName, message: &Bytes, to: &mpsc::Sender<HomeNews>) {
        let Some(room) = self.hub.room.try_take(&self.name, message.len()) else { return };
        let message = &holding(message.clone(), room);
        let way = LocalWay::Up(self.name.clone(), home);
        let news = |letter| HomeNews::Message { from: self.name.clone(), letter };
        self.hub.carry(&way, message, to, news);
    }
}

impl Drop for LocalWorker {
    fn drop(&mut self) {
        let homes: Vec<_> = {
            let mut state = self.hub.state();
            state.book.gone(&self.name);
            state.workers.remove(&self.name);
            state.heard.remove(&self.name);
            state.homes.values().cloned().collect()
        };
        for home in homes {
            let _ = home.try_send(HomeNews::WorkerGone(self.name.clone()));
        }
        self.hub.offered.notify_waiters();
    }
}

impl WorkerCourier for LocalWorker {
    fn claim<'a>(&'a self, labels: &'a BTreeSet<LabelName>) -> CourierFuture<'a, ClaimedOffer> {
        Box::pin(async move {
            loop {
                // Listening begins before looking, so that nothing is missed in between.
                let offered = self.hub.offered.notified();
                tokio::pin!(offered);
                offered.as_mut().enable();
                if let Some(offer) = self.hub.state().book.take(&self.name, labels) {
                    let (hub, worker) = (Arc::clone(&self.hub), self.name.clone());
                    let lease = Box::new(LocalLease { hub, worker, key: OfferKey::of(&offer) });
                    return Ok(ClaimedOffer { bytes: offer.bytes, lease });
                }
                offered.await;
            }
        })
    }

    fn hello(&self, message: Bytes) -> CourierFuture<'_, ()> {
        Box::pin(async move {
            must_fit(&message, limits::MESSAGE_BYTES_MAX)?;
            self.heard();
            let homes: Vec<_> = self.hub.state().homes.iter().map(|(a, b)| (a.clone(), b.clone())).collect();
            for (home, to) in each_once(homes) {
                self.carry_up(home, &message, &to);
            }
            Ok(())
        })
    }

    fn append<'a>(&'a self, home: &'a HomeName, message: Bytes) -> CourierFuture<'a, ()> {
        Box::pin(async move {
            must_fit(&message, limits::MESSAGE_BYTES_MAX)?;
            self.heard();
            // A home that is not there loses the message, as with any courier.
            let to = self.hub.state().homes.get(home).cloned();
            if let Some(to) = to {
                self.carry_up(home.clone(), &message, &to);
            }
            Ok(())
        })
    }

    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<WorkerNews>> {
        Box::pin(async move {
            let (sender, receiver) = mpsc::channel(limits::FOLLOWED_MAX);
            let mut state = self.hub.state();
            if state.workers.get(&self.name).is_some_and(|known| !known.is_closed()) {
                return Err(CourierError::Followed);
            }
            state.workers.insert(self.name.clone(), sender);
            Ok(receiver)
        })
    }

    fn put_blob<'a>(&'a self, from: &'a Path) -> CourierFuture<'a, BlobId> {
        Box::pin(async move { self.hub.shelves.of(&self.name).await?.put(from).await })
    }

    fn get_blob<'a>(&'a self, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()> {
        Box::pin(async move { self.hub.shelves.of(&self.name).await?.take_out(id, to).await })
    }
}

struct LocalLease {
    hub: Arc<Hub>,
    worker: WorkerName,
    key: OfferKey,
}

impl OfferLease for LocalLease {
    fn renew(&self) -> CourierFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn done(&self) -> CourierFuture<'_, ()> {
        self.hub.state().book.done(&self.worker, self.key);
        Box::pin(async { Ok(()) })
    }

    fn give_back(&self) -> CourierFuture<'_, ()> {
        self.hub.state().book.give_back(&self.worker, self.key);
        self.hub.offered.notify_waiters();
        Box::pin(async { Ok(()) })
    }
}
