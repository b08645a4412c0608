//! A worker: takes agents of its owner's sessions from a courier, and runs each in a checkout of its own, within its ceiling.

mod begin;
mod depots;
mod home_words;
mod kept_files;
mod link;
mod packing;
mod places;
mod run;
mod uploads;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use posse_engine::Engine;
use posse_engine::models::Models;
use posse_protocol::Grant;
use posse_tools::ToolSettings;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::bodies::{OfferNeeds, read};
use crate::courier::{ClaimedOffer, WorkerCourier, WorkerNews};
use crate::lease_times::LeaseTimes;
use crate::limits;
use crate::message::{CLUSTER_VERSION, DownBody, RawBody, RunDown, TaskOffer, Up, UpBody, WorkerInfo};
use crate::names::{LabelName, RunId, WorkerName};
use crate::sign::{Seal, SealError};
use depots::Depots;
use places::{AgentPlaces, Busy, Waits};

/// What a worker is made of.
pub struct WorkerParts {
    /// The way to its homes.
    pub courier: Arc<dyn WorkerCourier>,
    /// The owner's secret.
    pub seal: Seal,
    /// Its name.
    pub name: WorkerName,
    /// Its labels.
    pub labels: BTreeSet<LabelName>,
    /// How many agents it runs at the same time; those that only wait do not count.
    pub capacity: usize,
    /// How long leases last.
    pub times: LeaseTimes,
    /// Its journal.
    pub engine: Engine,
    /// Where repositories and checkouts are.
    pub folder: PathBuf,
    /// How much room those may take.
    pub folder_bytes: u64,
    /// Its own models, if it has some.
    pub models: Option<Models>,
    /// How its tools behave.
    pub tools: ToolSettings,
    /// The most that any agent may do here.
    pub ceiling: Grant,
    /// What it says of itself whenever it says hello; decided by whoever reads it.
    pub about: RawBody,
    /// A file that is there while the worker is drained: then it takes nothing new. It outlives the process, and others on the
    /// machine may make and remove it, too.
    pub drained: PathBuf,
}

pub(crate) struct WorkerInner {
    pub(crate) parts: WorkerParts,
    pub(crate) depots: Depots,
    began_ms: u64,
    runs: Mutex<HashMap<RunId, mpsc::Sender<RunDown>>>,
    places: Arc<AgentPlaces>,
    /// Names this process to homes.
    process: RunId,
    /// Orders that were carried out.
    orders: AtomicU64,
    /// Told when home wants to hear from it, and after an order.
    asked: Notify,
    /// Told when this process takes nothing new any more.
    drain: CancellationToken,
}

/// Serves until it is told to stop; then it takes nothing new, and gives up what it has once `now` is told, too.
pub async fn serve(parts: WorkerParts, drain: CancellationToken, now: CancellationToken) {
    let drain = drain.child_token();
    let Some(process) = RunId::random() else {
        return tracing::error!("the system gives no random numbers, so nothing is served");
    };
    let depots = Depots::new(parts.folder.clone(), parts.folder_bytes);
    let places = AgentPlaces::new(parts.capacity);
    let inner = Arc::new(WorkerInner {
        parts,
        depots,
        began_ms: clock_ms(),
        runs: Mutex::default(),
        places,
        process,
        orders: AtomicU64::new(0),
        asked: Notify::new(),
        drain: drain.clone(),
    });
    let listening = tokio::spawn(listen(Arc::clone(&inner)));
    let greeting = tokio::spawn(greet(Arc::clone(&inner)));
    let mut runs = JoinSet::new();
    loop {
        while runs.try_join_next().is_some() {}
        let claimed = tokio::select! {
            biased;
            () = drain.cancelled() => break,
            () = now.cancelled() => break,
            claimed = inner.next_offer() => claimed,
        };
        if let Some((offer, claimed)) = claimed {
            let guard = Busy::new(&inner.places);
            runs.spawn(run::run(Arc::clone(&inner), offer, claimed, guard, now.clone()));
        }
    }
    // Nobody waits for it, even if what it has takes hours.
    drain.cancel();
    inner.say(UpBody::Hello(inner.info())).await;
    inner.say(UpBody::Leaving).await;
    while runs.join_next().await.is_some() {}
    listening.abort();
    greeting.abort();
}

impl WorkerInner {
    pub(crate) fn now_ms(&self) -> u64 {
        clock_ms().saturating_sub(self.began_ms)
    }

    pub(crate) fn runs(&self) -> MutexGuard<'_, HashMap<RunId, mpsc::Sender<RunDown>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it takes nothing new: this process, or the machine.
    fn is_drained(&self) -> bool {
        self.drain.is_cancelled() || self.parts.drained.exists()
    }

    fn set_drained(&self, drained: bool) -> std::io::Result<()> {
        if drained {
            return std::fs::File::create(&self.parts.drained).map(drop);
        }
        match std::fs::remove_file(&self.parts.drained) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether it could begin another agent now.
    fn has_room(&self) -> bool {
        // Where repositories take too much room, those at work end first; one at a time begins always.
        let has_disk = !self.depots.is_full() || self.places.is_idle();
        !self.is_drained() && has_disk && self.places.room() > 0
    }

    /// Waits until it is drained. Others on this machine say so by the file alone, which is looked at now and then.
    async fn drained(&self) {
        while !self.is_drained() {
            let look = Duration::from_millis(limits::DRAIN_LOOK_MS);
            let _ = tokio::time::timeout(look, self.places.freed.notified()).await;
        }
    }

    /// Waits for room, and then for an offer that this worker can take.
    async fn next_offer(&self) -> Option<(TaskOffer, ClaimedOffer)> {
        while !self.has_room() {
            let look = Duration::from_millis(limits::DRAIN_LOOK_MS);
            let _ = tokio::time::timeout(look, self.places.freed.notified()).await;
        }
        let claimed = tokio::select! {
            biased;
            () = self.drained() => return None,
            claimed = self.parts.courier.claim(&self.parts.labels) => claimed,
        };
        let claimed = match claimed {
            Ok(claimed) => claimed,
            Err(error) => {
                tracing::debug!(%error, "no offers can be claimed");
                tokio::time::sleep(Duration::from_millis(limits::CLAIM_AGAIN_MS)).await;
                return None;
            }
        };
        match self.acceptable(&claimed) {
            Ok(offer) => Some((offer, claimed)),
            Err(why) => {
                tracing::warn!(why, "an offer is not taken");
                let _ = claimed.lease.give_back().await;
                None
            }
        }
    }

    /// An offer that is the owner's and for this worker.
    fn acceptable(&self, claimed: &ClaimedOffer) -> Result<TaskOffer, String> {
        let offer = self.parts.seal.open_offer(&claimed.bytes).map_err(|error| error.to_string())?;
        if !offer.wants.fit(&self.parts.name, &self.parts.labels) {
            return Err("it is for other workers".to_owned());
        }
        let needs: OfferNeeds = read(&offer.needs)?;
        let has =
            |name: &String| self.parts.models.as_ref().is_some_and(|own| own.all_names().contains(name));
        match needs.model.filter(|name| !has(name)) {
            Some(name) => Err(format!("there is no model {name} here")),
            None => Ok(offer),
        }
    }

    async fn say(&self, body: UpBody) {
        let up = Up { version: CLUSTER_VERSION, worker: self.parts.name.clone(), body };
        if let Ok(letter) = self.parts.seal.seal_up(&up) {
            let _ = self.parts.courier.hello(letter).await;
        }
    }

    fn info(&self) -> WorkerInfo {
        let capacity = u32::try_from(self.parts.capacity).unwrap_or(u32::MAX);
        WorkerInfo {
            labels: self.parts.labels.clone(),
            capacity,
            room: u32::try_from(self.places.room()).unwrap_or(u32::MAX),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            have: self.parts.about.clone(),
            drained: self.is_drained(),
            process: self.process.clone(),
            orders: self.orders.load(Ordering::Acquire),
        }
    }

    /// Carries out what home says to the worker itself, or passes on what it says to a run.
    fn hear(&self, said: DownBody) {
        match said {
            DownBody::Run { about, said } => {
                let run = self.runs().get(&about.run).cloned();
                if let Some(run) = run {
                    // What does not fit is sent again.
                    let _ = run.try_send(said);
                }
            }
            DownBody::SayHello => self.asked.notify_one(),
            DownBody::Drain { drained, process, order } => {
                let next = self.orders.load(Ordering::Acquire) + 1;
                // A repetition is no order. The hello that follows tells where it stands.
                if process == self.process && order == next {
                    match self.set_drained(drained) {
                        Ok(()) => self.orders.store(next, Ordering::Release),
                        Err(error) => {
                            tracing::warn!(%error, "this worker could not be drained or used again")
                        }
                    }
                    self.places.freed.notify_one();
                }
                self.asked.notify_one();
            }
        }
    }
}

/// A clock that goes on while the machine sleeps: a lease runs out meanwhile, too.
fn clock_ms() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let (seconds, nanos) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    seconds.unwrap_or_default().saturating_mul(1_000).saturating_add(nanos.unwrap_or_default() / 1_000_000)
}

/// Passes on what homes say, to the run that it is about.
async fn listen(inner: Arc<WorkerInner>) {
    loop {
        let Ok(mut news) = inner.parts.courier.follow().await else {
            tokio::time::sleep(Duration::from_millis(limits::LISTEN_AGAIN_MS)).await;
            continue;
        };
        while let Some(news) = news.recv().await {
            let WorkerNews::Message(letter) = news else { continue };
            match inner.parts.seal.open_down(&letter, &inner.parts.name) {
                Ok(down) => inner.hear(down.body),
                // A home of another version learns that this worker is there, and which version it has.
                Err(SealError::OtherVersion(_)) => inner.asked.notify_one(),
                Err(error) => tracing::debug!(%error, "a letter was not accepted"),
            }
        }
    }
}

/// Says now and then that this worker is there, and when home asks, but not all the time.
async fn greet(inner: Arc<WorkerInner>) {
    loop {
        inner.say(UpBody::Hello(inner.info())).await;
        tokio::time::sleep(Duration::from_millis(limits::HELLO_PAUSE_MS)).await;
        let pause = Duration::from_millis(limits::HELLO_MS - limits::HELLO_PAUSE_MS);
        let _ = tokio::time::timeout(pause, inner.asked.notified()).await;
    }
}
