//! Home's courier that connects when it is first needed, and tries again while it cannot: a session does not wait for a broker that
//! is away, and one that no agent needs is never dialled.
//!
//! It must not know what it connects to.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use posse_protocol::AgentId;
use tokio::sync::{mpsc, watch};

use crate::courier::{CourierError, CourierFuture, HomeCourier, HomeNews, PostedOffer, SeenWorker};
use crate::limits;
use crate::message::Wants;
use crate::names::{BlobId, HomeName, WorkerName};
use crate::ssh::with_jitter;

/// What it connects with.
pub type Connect =
    Box<dyn Fn() -> BoxFuture<'static, Result<Arc<dyn HomeCourier>, CourierError>> + Send + Sync>;

/// A courier that is there later.
pub struct LaterHome {
    shared: Arc<Later>,
    ready: watch::Receiver<Option<Arc<dyn HomeCourier>>>,
}

struct Later {
    connect: Connect,
    ready: watch::Sender<Option<Arc<dyn HomeCourier>>>,
    state: Mutex<LaterState>,
}

#[derive(Default)]
struct LaterState {
    begun: bool,
    /// Names that it answers to once it is there.
    homes: BTreeSet<HomeName>,
    /// Offers that wait for the connection, the newest of each agent.
    offers: HashMap<AgentId, PostedOffer>,
    /// Attempts that failed, and why the last one did.
    failed: (u32, String),
}

impl LaterHome {
    /// Connects to nothing yet.
    pub fn new(connect: Connect) -> Self {
        let (sender, ready) = watch::channel(None);
        Self { shared: Arc::new(Later { connect, ready: sender, state: Mutex::default() }), ready }
    }

    /// Begins to connect, once.
    fn begin(&self) {
        if !std::mem::replace(&mut self.shared.state().begun, true) {
            tokio::spawn(Arc::clone(&self.shared).connect());
        }
    }

    fn now(&self) -> Result<Arc<dyn HomeCourier>, CourierError> {
        let away = || CourierError::Down("it is not connected yet".to_owned());
        self.ready.borrow().clone().ok_or_else(away)
    }
}

impl Later {
    fn state(&self) -> MutexGuard<'_, LaterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(self: Arc<Self>) {
        let mut pause_ms = limits::RECONNECT_MS_MIN;
        let courier = loop {
            match (self.connect)().await {
                Ok(courier) => break courier,
                Err(error) => {
                    tracing::warn!(%error, "a way to workers cannot be opened");
                    let mut state = self.state();
                    state.failed = (state.failed.0.saturating_add(1), error.to_string());
                }
            }
            tokio::time::sleep(Duration::from_millis(with_jitter(pause_ms))).await;
            pause_ms = pause_ms.saturating_mul(2).min(limits::RECONNECT_MS_MAX);
        };
        self.ready.send_replace(Some(Arc::clone(&courier)));
        let (homes, offers) = {
            let mut state = self.state();
            (std::mem::take(&mut state.homes), std::mem::take(&mut state.offers))
        };
        for home in &homes {
            if let Err(error) = courier.answer_to(home).await {
                tracing::warn!(%error, "a session cannot be reached by its workers");
            }
        }
        for offer in offers.into_values() {
            if let Err(error) = courier.offer(offer).await {
                tracing::warn!(%error, "an agent could not be offered");
            }
        }
    }
}

impl HomeCourier for LaterHome {
    /// Who asks for this has agents there, or will have: so it connects.
    fn answer_to<'a>(&'a self, home: &'a HomeName) -> CourierFuture<'a, ()> {
        Box::pin(async move {
            if let Ok(courier) = self.now() {
                return courier.answer_to(home).await;
            }
            self.shared.state().homes.insert(home.clone());
            self.begin();
            match self.now() {
                // It came meanwhile, and may not have seen the name.
                Ok(courier) => courier.answer_to(home).await,
                Err(_) => Ok(()),
            }
        })
    }

    fn offer(&self, offer: PostedOffer) -> CourierFuture<'_, ()> {
        Box::pin(async move {
            if let Ok(courier) = self.now() {
                return courier.offer(offer).await;
            }
            {
                let mut state = self.shared.state();
                if state.offers.len() >= limits::OFFERS_MAX {
                    return Err(CourierError::Full { what: "offers", max: limits::OFFERS_MAX });
                }
                state.offers.insert(offer.agent, offer.clone());
            }
            self.begin();
            match self.now() {
                // It came meanwhile, and may not have seen the offer. Twice is no harm.
                Ok(courier) => courier.offer(offer).await,
                Err(_) => Ok(()),
            }
        })
    }

    fn withdraw(&self, agent: AgentId) -> CourierFuture<'_, ()> {
        self.shared.state().offers.remove(&agent);
        Box::pin(async move {
            match self.now() {
                Ok(courier) => courier.withdraw(agent).await,
                Err(_) => Ok(()),
            }
        })
    }

    fn tell<'a>(&'a self, worker: &'a WorkerName, message: Bytes) -> CourierFuture<'a, ()> {
        Box::pin(async move { self.now()?.tell(worker, message).await })
    }

    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<HomeNews>> {
        let mut ready = self.ready.clone();
        Box::pin(async move {
            let courier = ready.wait_for(Option::is_some).await.ok().and_then(|courier| courier.clone());
            courier.ok_or(CourierError::Closed)?.follow().await
        })
    }

    fn put_blob<'a>(&'a self, worker: &'a WorkerName, from: &'a Path) -> CourierFuture<'a, BlobId> {
        Box::pin(async move { self.now()?.put_blob(worker, from).await })
    }

    fn get_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()> {
        Box::pin(async move { self.now()?.get_blob(worker, id, to).await })
    }

    fn drop_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId) -> CourierFuture<'a, ()> {
        Box::pin(async move { self.now()?.drop_blob(worker, id).await })
    }

    fn workers(&self) -> Vec<SeenWorker> {
        self.now().map(|courier| courier.workers()).unwrap_or_default()
    }

    fn hopeless(&self, wants: &Wants) -> Option<String> {
        if let Ok(courier) = self.now() {
            return courier.hopeless(wants);
        }
        let state = self.shared.state();
        let (times, why) = &state.failed;
        (*times >= limits::BROKER_TRIES_MAX).then(|| why.clone())
    }

    fn message_bytes_max(&self) -> usize {
        self.now().map_or(limits::MESSAGE_BYTES_MAX, |courier| courier.message_bytes_max())
    }
}
