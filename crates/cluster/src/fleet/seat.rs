//! One agent that is on a worker, or waits for one: keeps its lease, and translates between the engine and letters. What takes long
//! is done beside, so that a worker never waits for an answer about its lease. What workers say, what home says to them, and what they
//! left that had lost it are beside this.

mod asides;
mod hears;
mod tells;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use posse_engine::remote::{PlacedTask, SeatCommand, SeatEvent, SeatStart, WorkerRun};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::given_back::GivenBack;
use super::seat_commands::SeatCommands;
use super::seat_files::{SeatFiles, Way};
use super::seat_items::Arrived;
use super::{FleetInner, Letter, SeatNews};
use crate::bodies::{ClaimHave, Package, RunResult, read, write};
use crate::courier::CourierError;
use crate::home_actions::{ClaimRefusal, HomeAction, HomeInput, HomeRestored};
use crate::home_lease::HomeLease;
use crate::letter_room::Room;
use crate::limits;
use crate::message::{LeaseHolder, RawBody, RunDown, Wants};
use crate::names::{BlobId, HomeName, RunId, WorkerName};
use crate::requests::RequestAnswerer;

type Action = HomeAction<RawBody, RawBody, LeaseHolder>;
type Input = HomeInput<RawBody, RawBody, LeaseHolder>;

/// How many bits of a request's number are the run's own.
const REQUEST_BITS: u32 = 32;

pub(super) struct SeatTask {
    fleet: Arc<FleetInner>,
    start: SeatStart,
    /// Where its workers' letters go.
    home: HomeName,
    wants: Wants,
    lease: HomeLease<RawBody, LeaseHolder>,
    events: mpsc::Sender<SeatEvent>,
    /// By which courier the holder is reached; none while one that had it before this process began was not heard yet.
    courier: Option<usize>,
    /// Who wrote the letter that is being taken in, and how it came.
    letter: Option<(LeaseHolder, Way)>,
    /// What the newest claims have of what is needed, and how they came.
    claims: Vec<(LeaseHolder, usize, ClaimHave)>,
    given_back: GivenBack,
    /// What the holder starts from.
    package: Option<(u64, Package)>,
    files: SeatFiles,
    /// What was fetched for the letter that is being taken in.
    arrived: Arrived,
    /// What that letter takes in memory.
    room: Vec<Room>,
    /// The same for letters whose items are not all on record, by the number of the last one.
    unrecorded: VecDeque<(u64, Vec<Room>)>,
    /// The room of long requests without an answer.
    asked: HashMap<u64, Room>,
    /// Whether something is being fetched for a letter.
    is_fetching: bool,
    /// Letters that come after that one.
    later: VecDeque<Letter>,
    /// How often in a row a blob was missing.
    missed: u32,
    beside: JoinSet<DoneBeside>,
    /// What workers have left that had lost it. Of each epoch one at a time is taken in.
    asides: Vec<Aside>,
    commands: SeatCommands,
    answers: RequestAnswerer<RawBody>,
    /// What workers have told of it, in bytes.
    told_bytes: u64,
    /// Whether a worker has it, or gets it: what is said to it meanwhile waits.
    has_worker: bool,
    /// Whether the place that it is for is not configured any more.
    is_nowhere: bool,
    /// Since when nobody seems to be there for it.
    alone_since_ms: Option<u64>,
    /// Whether nothing more comes of it.
    over: bool,
}

/// Why a worker's words are not taken.
struct Refused(String);

/// What was done while the seat was doing something else.
enum DoneBeside {
    /// What an agent starts from was handed to the courier, or why not.
    Packed { epoch: u64, package: Result<Package, String> },
    /// What a letter needs was fetched, or the courier has lost a blob of it.
    Arrived { letter: Letter, arrived: Result<Arrived, BlobId> },
    /// What a worker had left was fetched, or why not.
    Fetched { epoch: u64, tip: String, blob: BlobId, bundle: Result<PathBuf, CourierError> },
}

/// What a worker has left that had lost the agent.
struct Aside {
    epoch: u64,
    holder: LeaseHolder,
    way: Way,
    /// Whether it is being taken in.
    is_under_way: bool,
    /// How often that was tried.
    tries: u32,
}

impl SeatTask {
    pub(super) fn new(fleet: Arc<FleetInner>, start: SeatStart, events: mpsc::Sender<SeatEvent>) -> Self {
        let times = fleet.parts.times;
        let holder = start.worker.as_ref().and_then(holder_of);
        let lease = match start.epoch {
            0 => HomeLease::new(times),
            epoch => {
                let lease_ms = start.worker.as_ref().map_or(0, |run| run.lease_ms);
                let from = HomeRestored { epoch, holder, lease_ms, recorded: start.recorded };
                HomeLease::restored(times, from, fleet.now_ms())
            }
        };
        let wants = fleet.wants(&start.on);
        Self {
            commands: SeatCommands::new(times.answer_ms),
            answers: RequestAnswerer::default(),
            claims: Vec::new(),
            given_back: GivenBack::default(),
            files: SeatFiles::new(Arc::clone(&fleet), start.agent),
            arrived: Arrived::default(),
            room: Vec::new(),
            unrecorded: VecDeque::new(),
            asked: HashMap::new(),
            is_fetching: false,
            later: VecDeque::new(),
            missed: 0,
            beside: JoinSet::new(),
            asides: Vec::new(),
            package: None,
            courier: None,
            letter: None,
            told_bytes: 0,
            alone_since_ms: None,
            over: false,
            // One may have it from an earlier process of home.
            has_worker: start.worker.is_some(),
            is_nowhere: wants.is_none(),
            wants: wants.unwrap_or_default(),
            home: HomeName::of_session(start.session),
            fleet,
            start,
            lease,
            events,
        }
    }

    pub(super) async fn run(
        mut self,
        mut told: mpsc::UnboundedReceiver<SeatCommand>,
        mut heard: mpsc::Receiver<SeatNews>,
    ) {
        if self.is_nowhere {
            return self.end_nowhere(told).await;
        }
        // A worker may have it from an earlier process.
        self.answer().await;
        self.input(HomeInput::Tick).await;
        while !self.over {
            self.send_commands().await;
            let waits = self.lease.holder().is_none() && !self.lease.is_settled();
            let offer = self.given_back.offer_at_ms().filter(|_| waits);
            let due =
                [self.lease.tick_at_ms(), self.commands.tick_at_ms(), offer].into_iter().flatten().min();
            let pause = due.map(|at| Duration::from_millis(at.saturating_sub(self.fleet.now_ms())));
            let look = Duration::from_millis(limits::HOPE_LOOK_MS);
            tokio::select! {
                biased;
                command = told.recv() => match command {
                    Some(command) => self.told(command).await,
                    // Nobody drives it any more: it goes on with whoever takes it up.
                    None => break,
                },
                Some(heard) = heard.recv() => self.heard(heard).await,
                Some(Ok(done)) = self.beside.join_next() => self.done(done).await,
                () = tokio::time::sleep(look), if waits && pause.is_none_or(|pause| pause > look) => self.look().await,
                () = sleep(pause) => {
                    let again = waits && self.given_back.is_offered_again(self.fleet.now_ms());
                    self.input(if again { HomeInput::OfferAgain } else { HomeInput::Tick }).await;
                }
            }
        }
        for courier in &self.fleet.parts.couriers {
            let _ = courier.withdraw(self.start.agent).await;
        }
        self.files.let_go().await;
    }

    /// Its worker was removed or renamed: no other one gets what was for that. Nothing is offered, and who had it is told when it asks.
    async fn end_nowhere(mut self, mut told: mpsc::UnboundedReceiver<SeatCommand>) {
        let on = &self.start.on;
        self.no_worker(format!(
            "there is no worker {on} any more; add it to the configuration again, or start the agent anew on another one (`posse \
             workers` lists them)"
        ))
        .await;
        while let Some(command) = told.recv().await {
            if let SeatCommand::Settled { .. } = command {
                return self.told(command).await;
            }
        }
    }

    /// Gives up where nobody is there for it: at once if no courier can have a worker for an agent that none ever had, else after a
    /// while.
    async fn look(&mut self) {
        if self.lease.pending().is_some() {
            return;
        }
        let now_ms = self.fleet.now_ms();
        let hopeless: Option<Vec<String>> =
            self.fleet.parts.couriers.iter().map(|courier| courier.hopeless(&self.wants)).collect();
        let (why, patience_ms) = match hopeless {
            Some(whys) if self.lease.epoch() == 0 => (whys.join("; "), 0),
            Some(whys) => (whys.join("; "), limits::COURIER_AWAY_MS_MAX),
            None => match self.fleet.nobody_usable(&self.wants, self.start.model.as_deref()) {
                Some(alone) => (alone.reason(&self.start.on), alone.patience_ms),
                None => {
                    self.alone_since_ms = None;
                    return;
                }
            },
        };
        let since_ms = *self.alone_since_ms.get_or_insert(now_ms);
        if now_ms.saturating_sub(since_ms) >= patience_ms {
            self.no_worker(format!("no worker can run it: {why}")).await;
        }
    }

    /// The engine has something to say.
    async fn told(&mut self, command: SeatCommand) {
        match command {
            SeatCommand::Place(placed) => self.place(*placed).await,
            SeatCommand::Recorded(upto) => {
                while self.unrecorded.pop_front_if(|(last, _)| *last <= upto).is_some() {}
                self.input(HomeInput::Recorded { upto }).await;
            }
            SeatCommand::Reply { id, reply } => {
                let (epoch, id) = (id >> REQUEST_BITS, id & u64::from(u32::MAX));
                self.asked.remove(&id);
                let Some(way) = self.way().filter(|_| epoch == self.lease.epoch()) else { return };
                match self.files.carry(&way, &reply).await {
                    Ok(body) => {
                        self.answers.answer(id, body.clone(), body.get().len());
                        self.tell_holder(RunDown::Reply { epoch, id, body }).await;
                    }
                    Err(why) => self.no_worker(format!("an answer cannot be handed over: {why}")).await,
                }
            }
            SeatCommand::Say(command) => {
                if self.has_worker && !self.commands.say(command) {
                    tracing::warn!(agent = %self.start.agent, "a worker does not take what it is told");
                }
            }
            SeatCommand::AsideDone { epoch, is_kept } => self.aside_done(epoch, is_kept).await,
            SeatCommand::Settled { is_kept } => {
                self.unrecorded.clear();
                self.asked.clear();
                // Nobody is there to hear what it was to be told.
                self.commands = SeatCommands::new(self.fleet.parts.times.answer_ms);
                self.has_worker = false;
                self.input(HomeInput::Settled { with_result: is_kept }).await;
                // Whoever has not heard of it is told when it asks.
                let own = self.lease.settled_by();
                let run = self.lease.current().filter(|_| own.is_some()).map(|holder| holder.run.clone());
                self.fleet.note_settled(self.start.agent, run);
                // Another one that had it may come back with what it did, and so may the last one if home has nothing of it.
                self.over = self.lease.epoch() == 0 || (self.lease.epoch() == 1 && own.is_some());
            }
        }
    }

    /// The worker may have it. Its files are handed over beside: that can take longer than a lease.
    async fn place(&mut self, placed: PlacedTask) {
        let epoch = placed.epoch;
        self.commands = SeatCommands::new(self.fleet.parts.times.answer_ms);
        self.answers = RequestAnswerer::default();
        self.asked.clear();
        self.package = None;
        let (Some(holder), Some(courier)) = (self.lease.pending(), self.courier) else { return };
        let way = Way { courier, worker: holder.worker.clone() };
        let files = self.files.clone();
        self.has_worker = true;
        self.beside
            .spawn(async move { DoneBeside::Packed { epoch, package: files.pack(&way, placed).await } });
    }

    async fn done(&mut self, done: DoneBeside) {
        match done {
            DoneBeside::Packed { epoch, package: Ok(package) } => {
                if epoch == self.lease.epoch() {
                    self.package = Some((epoch, package));
                    self.input(HomeInput::GrantRecorded { epoch }).await;
                }
            }
            DoneBeside::Packed { epoch, package: Err(why) } => self.not_packed(epoch, &why).await,
            DoneBeside::Arrived { letter, arrived } => {
                self.is_fetching = false;
                self.fetched(letter, arrived).await;
                while !self.is_fetching
                    && let Some(letter) = self.later.pop_front()
                {
                    self.heard(SeatNews::Letter(letter)).await;
                }
            }
            DoneBeside::Fetched { epoch, tip, bundle: Ok(bundle), .. } => {
                let _ = self.events.send(SeatEvent::Aside { epoch, tip, bundle }).await;
            }
            DoneBeside::Fetched { epoch, blob, bundle: Err(error), .. } => {
                tracing::warn!(%error, epoch, "what a worker left cannot be fetched");
                let Some(aside) = self.aside_under_way(epoch) else { return };
                aside.is_under_way = false;
                let (holder, courier) = (aside.holder.clone(), aside.way.courier);
                self.tell_by(courier, &holder, RunDown::Missing { epoch, blob }).await;
            }
        }
    }

    /// A claim of one worker fails, whose room for files may be full: it rests, and another one may have the agent.
    async fn not_packed(&mut self, epoch: u64, why: &str) {
        let Some(holder) = self.lease.pending().filter(|_| epoch == self.lease.epoch()).cloned() else {
            return;
        };
        let why = format!("its files cannot be handed over: {why}");
        tracing::warn!(agent = %self.start.agent, worker = %holder.worker, why, "a worker does not get an agent");
        self.given_back.note(&holder.worker, &why, self.fleet.now_ms());
        self.has_worker = false;
        self.tell(&holder, RunDown::Refused(ClaimRefusal::Superseded)).await;
        self.input(HomeInput::GiveUp { holder }).await;
        if self.given_back.is_too_often() {
            self.no_worker(self.given_back.reason(0)).await;
        }
    }

    async fn no_worker(&self, reason: String) {
        let _ = self.events.send(SeatEvent::NoWorker { reason }).await;
    }

    /// Lets the lease take something in, and does what comes of it.
    async fn input(&mut self, input: Input) {
        let actions = self.lease.handle(self.fleet.now_ms(), input);
        for action in actions {
            if let Err(Refused(reason)) = self.act(action).await {
                self.no_worker(reason).await;
            }
        }
    }

    async fn act(&mut self, action: Action) -> Result<(), Refused> {
        if let Some((holder, said)) = RunDown::of_lease(&action) {
            self.tell(&holder, said).await;
            return Ok(());
        }
        let event = match action {
            HomeAction::Offer { epoch, attempt } => {
                self.offer(epoch, attempt).await;
                return Ok(());
            }
            HomeAction::RecordGrant { holder, epoch, lease_ms } => {
                let claim = self.claims.iter().find(|(known, _, _)| *known == holder);
                let (courier, has) = claim
                    .map_or((None, Vec::new()), |(_, courier, have)| (Some(*courier), have.commits.clone()));
                self.courier = courier;
                let (worker, run) = (holder.worker.to_string(), holder.run.as_str().to_owned());
                let worker = WorkerRun { worker, run, lease_ms };
                SeatEvent::Claimed { worker, epoch, has }
            }
            HomeAction::Granted { holder, epoch, lease_ms, beat, recorded } => {
                let package = self.package.as_ref().filter(|(of, _)| *of == epoch);
                if let Some(package) = package.and_then(|(_, package)| write(package)) {
                    let renew_ms = self.fleet.parts.times.renew_ms;
                    let granted = RunDown::Granted { epoch, beat, recorded, lease_ms, renew_ms, package };
                    self.tell(&holder, granted).await;
                }
                return Ok(());
            }
            HomeAction::Record { first, items, .. } => {
                let last = first.saturating_add(items.len() as u64).saturating_sub(1);
                let room = self.room.drain(..).chain(self.arrived.take_turn()).collect();
                self.unrecorded.push_back((last, room));
                self.items(&items)?
            }
            HomeAction::Settle { result, .. } => {
                let RunResult { end, bundle } = read(&result).map_err(Refused)?;
                let bundle =
                    bundle.map(|blob| self.arrived.take_bundle(blob)).transpose().map_err(Refused)?;
                SeatEvent::Ended { end: Box::new(end), bundle }
            }
            HomeAction::TakeAside { holder, epoch, result } => {
                self.aside(holder, epoch, &result).await;
                return Ok(());
            }
            HomeAction::Lost { lost } => SeatEvent::NoWorker { reason: self.given_back.reason(lost) },
            _ => return Ok(()),
        };
        let _ = self.events.send(event).await;
        Ok(())
    }
}

fn holder_of(run: &WorkerRun) -> Option<LeaseHolder> {
    let worker = run.worker.parse::<WorkerName>().ok()?;
    Some(LeaseHolder { worker, run: run.run.parse::<RunId>().ok()? })
}

async fn sleep(pause: Option<Duration>) {
    match pause {
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}
