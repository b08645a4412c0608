//! Home's workers: offers agents to them, gives each to one at a time, and passes on what they say. One task for each agent; what a
//! worker sends reaches the agent that it is about and nobody else.

mod given_back;
mod greeted;
mod seat;
mod seat_commands;
mod seat_files;
mod seat_items;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use posse_engine::remote::{Seat, SeatStart, WantedPlace, Workers};
use posse_protocol::{ANYWHERE, AgentId};
use tokio::sync::mpsc;

use crate::courier::{HomeCourier, HomeNews};
use crate::home_actions::ClaimRefusal;
use crate::lease_times::LeaseTimes;
use crate::letter_room::{LetterRoom, Room, SeatRoom, letter_bytes_max};
use crate::limits;
use crate::message::{Down, LeaseHolder, RunAbout, RunDown, RunUp, UpBody, Wants};
use crate::names::{BlobId, HomeName, LabelName, RunId, WorkerName};
use crate::sign::Seal;
use greeted::{Alone, Greeted};

/// One worker that home knows of.
#[derive(Clone, Debug)]
pub struct FleetWorker {
    /// Its name.
    pub name: WorkerName,
    /// Its labels.
    pub labels: BTreeSet<LabelName>,
    /// Whether home calls the models of agents there.
    pub models_at_home: bool,
}

/// What a fleet is made of.
pub struct FleetParts {
    /// The ways to workers.
    pub couriers: Vec<Arc<dyn HomeCourier>>,
    /// The owner's secret.
    pub seal: Seal,
    /// How long leases last.
    pub times: LeaseTimes,
    /// The workers that are configured.
    pub workers: Vec<FleetWorker>,
    /// Whether labels may be named that no configured worker has: there is a broker.
    pub open: bool,
    /// Whether home calls models where nothing is said of a worker.
    pub models_at_home: bool,
    /// Where files wait that come and go.
    pub folder: PathBuf,
}

/// All workers of an owner. Clones are the same.
#[derive(Clone)]
pub struct Fleet(Arc<FleetInner>);

pub(crate) struct FleetInner {
    parts: FleetParts,
    began: Instant,
    seats: Mutex<HashMap<AgentId, mpsc::Sender<SeatNews>>>,
    /// Agents that have ended, the newest last, and the run whose result that was: their workers may not have heard of it.
    settled: Mutex<VecDeque<(AgentId, Option<RunId>)>>,
    /// What workers say of themselves.
    greeted: Mutex<Greeted>,
    /// Counts files that come and go.
    passing: AtomicU64,
    /// How many agents need each blob: those on one worker with the same files share one.
    blobs: Mutex<HashMap<PlacedBlob, usize>>,
    /// What waits for seats.
    room: SeatRoom,
    /// Whose letter of long items is in memory.
    turns: LetterRoom<WorkerName>,
    /// Long requests that wait for answers.
    asked: LetterRoom<WorkerName>,
}

/// A blob, and where it is: by which courier, and for or of which worker.
pub(crate) type PlacedBlob = (usize, WorkerName, BlobId);

/// What a seat hears from a worker.
pub(crate) enum SeatNews {
    /// A letter.
    Letter(Letter),
    /// A courier has lost what it had.
    DataLost,
}

/// What a worker has said to an agent.
pub(crate) struct Letter {
    /// By which courier it came.
    courier: usize,
    holder: LeaseHolder,
    said: RunUp,
    /// What it takes until it is dealt with.
    room: [Room; 2],
}

impl Fleet {
    /// Begins to listen to the workers. For within a runtime.
    pub fn new(parts: FleetParts) -> Self {
        let inner = Arc::new(FleetInner {
            parts,
            began: Instant::now(),
            seats: Mutex::default(),
            settled: Mutex::default(),
            greeted: Mutex::default(),
            passing: AtomicU64::new(0),
            blobs: Mutex::default(),
            room: SeatRoom::default(),
            turns: LetterRoom::of_turns(),
            asked: LetterRoom::of_requests(),
        });
        for index in 0..inner.parts.couriers.len() {
            tokio::spawn(listen(Arc::downgrade(&inner), index));
        }
        Self(inner)
    }
}

impl FleetInner {
    fn lock(&self) -> MutexGuard<'_, HashMap<AgentId, mpsc::Sender<SeatNews>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// An agent needs a blob, from before it is put or fetched.
    fn need_blob(&self, blob: PlacedBlob) {
        *self.blobs.lock().unwrap_or_else(PoisonError::into_inner).entry(blob).or_default() += 1;
    }

    /// An agent needs a blob no more. Says whether nobody does.
    fn is_last_need(&self, blob: &PlacedBlob) -> bool {
        let mut blobs = self.blobs.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(needs) = blobs.get_mut(blob) else { return true };
        *needs -= 1;
        let is_last = *needs == 0;
        if is_last {
            blobs.remove(blob);
        }
        is_last
    }

    /// Whether a worker may have an agent, as far as home knows its workers. What a worker says of itself does not count.
    fn may_have(&self, wants: &Wants, worker: &WorkerName) -> bool {
        let known = self.parts.workers.iter().find(|known| known.name == *worker);
        let named = wants.name.as_ref().is_none_or(|name| name == worker);
        let labelled = match known {
            Some(known) => wants.labels.is_subset(&known.labels),
            // Another home of this owner may know it: then the broker's rights say what it may take.
            None => wants.labels.is_empty() || self.parts.open,
        };
        named && labelled
    }

    /// How long to wait for a worker that can take an agent, and why each that may have it cannot, if none can now.
    fn nobody_usable(&self, wants: &Wants, model: Option<&str>) -> Option<Alone> {
        let fitting = self.parts.workers.iter().filter(|known| wants.fit(&known.name, &known.labels));
        let fitting = fitting.map(|known| &known.name).collect();
        let may_have = |name: &WorkerName| self.may_have(wants, name);
        self.greeted().alone((wants, model), fitting, may_have, self.now_ms())
    }

    fn greeted(&self) -> MutexGuard<'_, Greeted> {
        self.greeted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An agent has ended, with the result of this run if there is one: whoever asks later is told so.
    pub(crate) fn note_settled(&self, agent: AgentId, run: Option<RunId>) {
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        if settled.len() >= limits::SETTLED_KEPT_MAX {
            settled.pop_front();
        }
        settled.push_back((agent, run));
    }

    /// Tells a worker that its agent has ended. Of agents that are not known, nothing is said: their session may go on later. Nor is a
    /// worker told to forget work that home does not have.
    fn has_ended(&self, courier: usize, holder: LeaseHolder, about: RunAbout, said: &RunUp) {
        let settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        let known = settled.iter().rev().find(|(agent, _)| *agent == about.agent).map(|(_, run)| run.clone());
        drop(settled);
        let Some(settled_by) = known else { return };
        let said = match said {
            RunUp::Final { epoch, .. } if settled_by.as_ref() == Some(&about.run) => {
                RunDown::SettledAck { epoch: *epoch }
            }
            RunUp::Claim { .. } => RunDown::Refused(ClaimRefusal::Ended),
            RunUp::Renew { .. } | RunUp::Items { .. } => RunDown::Stale { epoch: u64::MAX },
            _ => return,
        };
        let down = Down::run(holder.worker.clone(), about, said);
        if let (Ok(letter), Some(courier)) =
            (self.parts.seal.seal_down(&down), self.parts.couriers.get(courier).cloned())
        {
            tokio::spawn(async move { drop(courier.tell(&holder.worker, letter).await) });
        }
    }

    /// The worker or the label that is meant.
    fn wants(&self, on: &str) -> Option<Wants> {
        if on == ANYWHERE {
            return Some(Wants::default());
        }
        if let Ok(name) = on.parse::<WorkerName>()
            && self.parts.workers.iter().any(|worker| worker.name == name)
        {
            return Some(Wants { name: Some(name), labels: BTreeSet::new() });
        }
        let labels = on.split(' ').map(|word| word.parse().ok()).collect::<Option<BTreeSet<LabelName>>>()?;
        let known = self.parts.workers.iter().any(|worker| labels.is_subset(&worker.labels));
        (known || self.parts.open).then_some(Wants { name: None, labels })
    }
}

impl Workers for Fleet {
    fn places(&self) -> Vec<String> {
        let workers = &self.0.parts.workers;
        let names = workers.iter().map(|worker| worker.name.to_string());
        let labels: BTreeSet<String> =
            workers.iter().flat_map(|worker| &worker.labels).map(ToString::to_string).collect();
        names.chain(labels).collect()
    }

    fn place(&self, wanted: &WantedPlace<'_>) -> Result<bool, String> {
        if self.0.wants(wanted.on).is_some() {
            return Ok(true);
        }
        Err(format!(
            "There is no worker {}. There are: {}, {ANYWHERE}, home.",
            wanted.on,
            self.places().join(", ")
        ))
    }

    fn models_at_home(&self, on: &str) -> bool {
        let parts = &self.0.parts;
        let named = |worker: &&FleetWorker| {
            on == ANYWHERE
                || worker.name.as_str() == on
                || on.split(' ').all(|word| worker.labels.iter().any(|label| label.as_str() == word))
        };
        let mut meant = parts.workers.iter().filter(named).peekable();
        // Which of them gets the agent is not known when this is asked. Each can run one whose models home calls; one that needs a model
        // of the worker's own would not run on all.
        match meant.peek() {
            Some(_) => meant.any(|worker| worker.models_at_home),
            None => parts.models_at_home,
        }
    }

    fn seat(&self, start: SeatStart) -> Seat {
        let (events, heard_of) = mpsc::channel(limits::SEAT_EVENTS_MAX);
        let (commands, told) = mpsc::unbounded_channel();
        let (mailbox, heard) = mpsc::channel(limits::FOLLOWED_MAX);
        let agent = start.agent;
        self.0.lock().insert(agent, mailbox.clone());
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move {
            seat::SeatTask::new(Arc::clone(&inner), start, events).run(told, heard).await;
            let mut seats = inner.lock();
            // Another one may be there by now.
            if seats.get(&agent).is_some_and(|known| known.same_channel(&mailbox)) {
                seats.remove(&agent);
            }
        });
        Seat { events: heard_of, commands }
    }
}

/// Listens to one courier for as long as the fleet is there, and begins again where that ends.
async fn listen(fleet: std::sync::Weak<FleetInner>, index: usize) {
    loop {
        let Some(courier) = fleet.upgrade().and_then(|inner| inner.parts.couriers.get(index).cloned()) else {
            return;
        };
        let followed = courier.follow().await;
        drop(courier);
        let mut news = match followed {
            Ok(news) => news,
            Err(error) => {
                tracing::warn!(%error, "workers cannot be listened to");
                tokio::time::sleep(Duration::from_millis(limits::LISTEN_AGAIN_MS)).await;
                continue;
            }
        };
        while let Some(news) = news.recv().await {
            let Some(inner) = fleet.upgrade() else { return };
            inner.hear(index, news);
        }
    }
}

impl FleetInner {
    fn hear(&self, courier: usize, news: HomeNews) {
        match news {
            HomeNews::Message { from, letter } => self.hear_letter(courier, &from, &letter),
            HomeNews::DataLost => {
                for seat in self.lock().values() {
                    let _ = seat.try_send(SeatNews::DataLost);
                }
            }
            HomeNews::Connected => tracing::info!("workers can be reached"),
            HomeNews::Disconnected(why) => tracing::warn!(why, "workers cannot be reached"),
            HomeNews::WorkerGone(worker) => {
                tracing::info!(%worker, "a worker is gone");
                self.greeted().gone(&worker);
            }
        }
    }
    /// What does not fit is dropped, and said again by the lease: one that floods its agent is not read faster than that is driven.
    fn hear_letter(&self, courier: usize, from: &WorkerName, letter: &[u8]) {
        let up = match self.parts.seal.open_up(letter, from) {
            Ok(up) => up,
            Err(error) => return tracing::debug!(%error, worker = %from, "a letter was not accepted"),
        };
        let (about, said) = match up.body {
            UpBody::Run { about, said } => (about, said),
            UpBody::Hello(info) => return self.greeted().hello(up.worker, &info, self.now_ms()),
            UpBody::Leaving => return self.greeted().leaving(from),
        };
        self.greeted().heard(from, self.now_ms());
        if letter.len() > letter_bytes_max(&said) {
            return tracing::debug!(worker = %from, bytes = letter.len(), "a letter is longer than its kind");
        }
        let holder = LeaseHolder { worker: up.worker, run: about.run.clone() };
        if about.home != HomeName::of_session(about.session) {
            return;
        }
        let Some(seat) = self.lock().get(&about.agent).cloned() else {
            return self.has_ended(courier, holder, about, &said);
        };
        match self.room.try_take(from, about.agent, &said, letter.len()) {
            Some(room) => drop(seat.try_send(SeatNews::Letter(Letter { courier, holder, said, room }))),
            None => tracing::debug!(worker = %from, "a letter is dropped: too much of its worker's waits"),
        }
    }
}
