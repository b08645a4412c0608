//! One run of an agent on a worker: claims it, prepares its checkout, lets the engine run it, and hands over what it came to.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use posse_engine::HostedUpdate;
use posse_engine::remote::{HomeReply, HostCommand};
use posse_protocol::ProgressKind;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::begin::{AtWork, Beginning};
use super::home_words::{HomeWord, HomeWords};
use super::link::{AgentAsk, RunLease, RunLink};
use super::packing::{Packed, PackedPlace, Packing};
use super::uploads::{PutItem, Uploads};
use super::{Busy, Waits, WorkerInner};
use crate::bodies::{ClaimHave, ItemBody, OfferNeeds, Passing, RequestBody, WireItem, read, write};
use crate::courier::ClaimedOffer;
use crate::limits;
use crate::message::{CLUSTER_VERSION, RawBody, RunAbout, RunDown, RunUp, TaskOffer, Up, UpBody};
use crate::names::RunId;
use crate::requests::{CommandInbox, RequestAsker};
use crate::worker_lease::{BufferLimits, NotPushed, WorkerLease, WorkerPhase};

/// One run.
struct Run {
    inner: Arc<WorkerInner>,
    offer: TaskOffer,
    about: RunAbout,
    link: Arc<RunLink>,
    /// What it has of what the agent needs.
    have: RawBody,
    why: String,
    asker: RequestAsker<RawBody>,
    answers: HashMap<u64, oneshot::Sender<HomeReply>>,
    inbox: CommandInbox<RawBody>,
    words: HomeWords,
    uploads: Uploads,
    /// What home said before the agent had begun.
    early: Vec<HostCommand>,
    /// When home was heard last.
    heard_ms: u64,
    /// Held while home is silent for longer than a lease: an agent that may not act takes no room.
    lapsed: Option<Waits>,
}

/// What comes of a grant.
type Begun = Result<Box<AtWork>, String>;

/// Runs an agent to its end, as far as this worker has it.
pub(super) async fn run(
    inner: Arc<WorkerInner>,
    offer: TaskOffer,
    claimed: ClaimedOffer,
    busy: Arc<Busy>,
    now: CancellationToken,
) {
    let Some(run) = RunId::random() else { return };
    let needs = read::<OfferNeeds>(&offer.needs);
    let commits = match &needs {
        Ok(needs) => inner.depots.commits(&needs.repository).await,
        Err(_) => Vec::new(),
    };
    let Some(have) = write(&ClaimHave { commits }) else { return };
    let (asks, asked) = mpsc::unbounded_channel();
    let (mailbox, told) = mpsc::channel(limits::FOLLOWED_MAX);
    inner.runs().insert(run.clone(), mailbox);
    let lease = WorkerLease::new(inner.parts.times, BufferLimits::default(), inner.now_ms());
    let link = RunLink::new(Arc::clone(&inner), lease, asks, busy);
    let about =
        RunAbout { home: offer.home.clone(), session: offer.session, agent: offer.agent, run: run.clone() };
    let heard_ms = inner.now_ms();
    let task = Run {
        asker: RequestAsker::new(inner.parts.times.answer_ms),
        answers: HashMap::new(),
        inbox: CommandInbox::default(),
        words: HomeWords::new(Arc::clone(&inner), run.clone()),
        uploads: Uploads::new(Arc::clone(&inner), run.clone()),
        early: Vec::new(),
        why: String::new(),
        inner: Arc::clone(&inner),
        offer,
        about,
        link,
        have,
        heard_ms,
        lapsed: None,
    };
    task.go(claimed, told, asked, now).await;
    inner.runs().remove(&run);
}

/// How far the work of a run is.
enum WorkStage {
    /// There is none yet.
    None,
    Beginning(JoinHandle<Begun>),
    AtWork(Box<AtWork>),
    Packing(Packing),
    /// The result is on its way.
    Packed(PackedPlace),
}

/// What comes of the work next.
enum WorkNews {
    Begun(Begun),
    Updated(HostedUpdate),
    Ended,
    Packed(Option<Packed>),
}

impl WorkStage {
    /// What comes next. What is not awaited to the end can be awaited again.
    async fn next(&mut self) -> WorkNews {
        match self {
            Self::None | Self::Packed(..) => std::future::pending().await,
            Self::Beginning(begins) => {
                WorkNews::Begun(begins.await.unwrap_or_else(|_| Err("a fault in Posse".to_owned())))
            }
            Self::AtWork(work) => match work.session.next().await {
                Some(update) => WorkNews::Updated(update),
                None => WorkNews::Ended,
            },
            Self::Packing(packs) => WorkNews::Packed(packs.next().await),
        }
    }
}

impl Run {
    async fn go(
        mut self,
        claimed: ClaimedOffer,
        mut told: mpsc::Receiver<RunDown>,
        mut asked: mpsc::UnboundedReceiver<AgentAsk>,
        now: CancellationToken,
    ) {
        let mut work = WorkStage::None;
        let mut hold = tokio::time::interval(Duration::from_millis(self.inner.parts.times.renew_ms.max(1)));
        hold.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            self.send().await;
            if self.is_over(&mut work) {
                break;
            }
            let pause = self.pause();
            tokio::select! {
                biased;
                () = now.cancelled() => {
                    self.give_up("the worker was stopped".to_owned());
                    self.send().await;
                    break;
                }
                Some(said) = told.recv() => self.heard(said, &mut work).await,
                // Where too much is open already, the rest waits for its turn.
                Some(asked) = asked.recv(), if self.asker.has_room() => self.ask(asked),
                put = self.uploads.next() => self.put(put),
                heard = self.words.next() => self.heard_later(heard, &work),
                news = work.next(), if !self.uploads.is_busy() => work = self.came(news, work).await,
                _ = hold.tick() => drop(claimed.lease.renew().await),
                () = tokio::time::sleep(pause) => {}
            }
        }
        let settled = self.link.lease(|lease, _| lease.phase()) == WorkerPhase::Done;
        let _ = if settled { claimed.lease.done().await } else { claimed.lease.give_back().await };
        self.let_go(work, settled).await;
    }

    /// Whether nothing more comes of the run. Work of one that is stale is put aside first.
    fn is_over(&mut self, work: &mut WorkStage) -> bool {
        if self.inner.now_ms().saturating_sub(self.heard_ms) > limits::ORPHAN_MS_MAX {
            tracing::warn!(agent = %self.offer.agent, "home has said nothing for an hour; its agent is let go");
            return true;
        }
        match self.link.lease(|lease, _| lease.phase()) {
            WorkerPhase::Done | WorkerPhase::GivenUp | WorkerPhase::Refused(_) => true,
            WorkerPhase::Stale => match std::mem::replace(work, WorkStage::None) {
                WorkStage::None => true,
                WorkStage::AtWork(at_work) => {
                    *work = WorkStage::Packing(self.pack(*at_work, true));
                    false
                }
                other => {
                    *work = other;
                    false
                }
            },
            WorkerPhase::Claiming | WorkerPhase::Held => false,
        }
    }

    /// Takes in what came of the work.
    async fn came(&mut self, news: WorkNews, work: WorkStage) -> WorkStage {
        match (news, work) {
            (WorkNews::Begun(Ok(begun)), _) => {
                std::mem::take(&mut self.early).into_iter().for_each(|said| begun.session.hear(said));
                WorkStage::AtWork(begun)
            }
            (WorkNews::Begun(Err(why)), _) => {
                tracing::warn!(why, "an agent could not be begun");
                self.give_up(why);
                WorkStage::None
            }
            (WorkNews::Updated(update), work) => {
                self.updated(update).await;
                work
            }
            (WorkNews::Ended, WorkStage::AtWork(at_work)) => WorkStage::Packing(self.pack(*at_work, false)),
            (WorkNews::Ended, work) => work,
            (WorkNews::Packed(Some(Packed { result, bundle, place })), _) => {
                bundle.into_iter().for_each(|(blob, path)| self.uploads.keep_result(blob, path));
                self.link.lease(|lease, now_ms| lease.finish(result, now_ms));
                WorkStage::Packed(place)
            }
            (WorkNews::Packed(None), _) => {
                self.give_up("what it did could not be packed".to_owned());
                WorkStage::None
            }
        }
    }

    fn pack(&self, work: AtWork, aside: bool) -> Packing {
        Packing::begin(&self.inner, &self.about.run, work, aside)
    }

    fn give_up(&mut self, why: String) {
        self.why = why;
        self.link.lease(|lease, _| lease.give_up());
    }

    /// Lets go of the folder, whatever became of the agent.
    async fn let_go(&self, work: WorkStage, settled: bool) {
        let work = match work {
            WorkStage::Beginning(begins) => match begins.await {
                Ok(Ok(begun)) => WorkStage::AtWork(begun),
                _ => WorkStage::None,
            },
            other => other,
        };
        let depot = match work {
            WorkStage::AtWork(at_work) => {
                let AtWork { session, depot, checkout, .. } = *at_work;
                session.abandon().await;
                if let Err(error) = depot.release(checkout, settled).await {
                    tracing::warn!(%error, "a checkout on this worker could not be let go");
                }
                depot
            }
            WorkStage::Packed(place) => place.let_go(settled).await,
            WorkStage::Packing(packs) => match packs.stop().await {
                Some(Packed { bundle, place, .. }) => {
                    let _ = bundle.map(|(_, path)| std::fs::remove_file(path));
                    // Home was told nothing of it, whatever it says of the agent.
                    place.let_go(false).await
                }
                None => return,
            },
            WorkStage::None | WorkStage::Beginning(_) => return,
        };
        self.inner.depots.tidy().await;
        drop(depot);
    }

    /// Sends everything that is due.
    async fn send(&mut self) {
        self.call_off().await;
        let silent_ms = self.inner.now_ms().saturating_sub(self.heard_ms);
        if silent_ms <= self.link.lease(|lease, _| lease.patience_ms()) {
            self.lapsed = None;
        } else if self.lapsed.is_none() {
            self.lapsed = Some(self.link.waits());
        }
        let sends = self.link.lease(RunLease::tick);
        for send in sends {
            let said = RunUp::of_lease(send, &self.have, &self.why);
            // What names a blob that is being put again waits for it; the lease sends it again.
            let waits =
                matches!(said, RunUp::Items { .. } | RunUp::Final { .. }) && self.uploads.is_mending();
            if !waits {
                self.say(said).await;
            }
        }
        let epoch = self.link.lease(|lease, _| lease.epoch());
        for request in self.asker.tick(self.inner.now_ms()) {
            let (id, open_from, body) = (request.id, request.open_from, request.body);
            self.say(RunUp::Request { epoch, id, open_from, body }).await;
        }
    }

    /// Tells home which requests nobody waits for any more.
    async fn call_off(&mut self) {
        let gone: Vec<u64> =
            self.answers.iter().filter(|(_, answer)| answer.is_closed()).map(|(id, _)| *id).collect();
        for id in gone {
            self.answers.remove(&id);
            self.asker.answered(id);
            let epoch = self.link.lease(|lease, _| lease.epoch());
            if let Some(body) = write(&Passing::CallOff(id)) {
                self.say(RunUp::Progress { epoch, body }).await;
            }
        }
    }

    async fn say(&self, said: RunUp) {
        let parts = &self.inner.parts;
        let body = UpBody::Run { about: self.about.clone(), said };
        let up = Up { version: CLUSTER_VERSION, worker: parts.name.clone(), body };
        match parts.seal.seal_up(&up) {
            Ok(letter) => {
                if let Err(error) = parts.courier.append(&self.offer.home, letter).await {
                    tracing::debug!(%error, "home could not be told");
                }
            }
            Err(error) => tracing::warn!(%error, "something for home does not fit into a letter"),
        }
    }

    /// How long nothing is due.
    fn pause(&self) -> Duration {
        let lease = self.link.lease(|lease, _| lease.tick_at_ms());
        let due = [lease, self.asker.tick_at_ms()].into_iter().flatten().min();
        let pause = due.map(|at| at.saturating_sub(self.inner.now_ms())).unwrap_or(60_000).max(1);
        // Nothing tells that nobody waits for an answer any more, and others may wait for its place.
        let look = if self.asker.has_room() { u64::MAX } else { limits::CALL_OFF_LOOK_MS };
        Duration::from_millis(pause.min(look))
    }

    /// Passes on what the agent asks. It hears at once of what cannot be passed on.
    fn ask(&mut self, asked: AgentAsk) {
        let AgentAsk { request, after, answer } = asked;
        let room = self.inner.parts.courier.message_bytes_max().saturating_sub(limits::LETTER_HEAD_BYTES);
        let body = write(&RequestBody { after, request }).filter(|body| body.get().len() <= room);
        let asked = match body {
            Some(body) => self.asker.ask(body).map_err(|error| error.to_string()),
            None => Err(format!("it does not fit into a letter of {room} bytes for home")),
        };
        match asked {
            Ok(id) => {
                self.answers.insert(id, answer);
                // It comes after them.
                self.link.lease(|lease, _| lease.gather_no_more());
            }
            Err(reason) => drop(answer.send(HomeReply::Refused { reason })),
        }
    }

    /// Takes in what home says. A grant begins the work.
    async fn heard(&mut self, said: RunDown, work: &mut WorkStage) {
        self.heard_ms = self.inner.now_ms();
        let before = self.link.lease(|lease, _| lease.phase());
        if let Some(input) = said.to_lease() {
            self.link.lease(|lease, now_ms| lease.hear(now_ms, input));
        }
        let epoch = self.link.lease(|lease, _| lease.epoch());
        match said {
            RunDown::Granted { recorded, package, .. } if before == WorkerPhase::Claiming => {
                self.link.begins_after(recorded);
                let beginning = Beginning {
                    inner: Arc::clone(&self.inner),
                    about: self.about.clone(),
                    link: Arc::clone(&self.link),
                };
                *work = WorkStage::Beginning(tokio::spawn(async move {
                    beginning.begin(&package).await.map(Box::new)
                }));
            }
            RunDown::Command { epoch: of, series, number, body } if of == epoch => {
                for body in self.inbox.arrive(series, number, body) {
                    if !self.words.command(body) {
                        self.give_up("home says more than can wait".to_owned());
                    }
                }
                self.commands(work);
                let (series, upto) = self.inbox.delivered();
                self.say(RunUp::CommandAck { epoch, series, upto }).await;
            }
            RunDown::Reply { epoch: of, id, body } if of == epoch && self.answers.contains_key(&id) => {
                if let Some(reply) = self.words.reply(id, &body) {
                    self.replied(id, reply);
                }
            }
            RunDown::Missing { epoch: of, blob } if of == epoch => self.uploads.put_again(blob),
            _ => {}
        }
        let acked = self.link.lease(|lease, _| lease.acked());
        self.uploads.acked(acked);
    }

    /// Hands over the commands that are there.
    fn commands(&mut self, work: &WorkStage) {
        while let Some(command) = self.words.next_command() {
            self.command(command, work);
        }
    }

    fn command(&mut self, command: Result<HostCommand, String>, work: &WorkStage) {
        match (command, work) {
            (Ok(command), WorkStage::AtWork(at_work)) => at_work.session.hear(command),
            (Ok(command), _) if self.early.len() < limits::COMMANDS_EARLY_MAX => self.early.push(command),
            (Ok(_), _) => self.give_up("home says more than an agent hears before it begins".to_owned()),
            (Err(why), _) => self.give_up(format!("something that home said could not be taken in: {why}")),
        }
    }

    fn replied(&mut self, id: u64, reply: HomeReply) {
        if self.asker.answered(id)
            && let Some(answer) = self.answers.remove(&id)
        {
            let _ = answer.send(reply);
        }
    }

    /// Something that home said was fetched.
    fn heard_later(&mut self, heard: HomeWord, work: &WorkStage) {
        match heard {
            HomeWord::Reply(id, reply) => self.replied(id, reply),
            // Another run asks anew, after all that is on record.
            HomeWord::Lost(why) => self.give_up(format!("an answer of home could not be fetched: {why}")),
            HomeWord::Command(command) => {
                self.command(command, work);
                self.commands(work);
            }
        }
    }

    /// Something happened to the agent.
    async fn updated(&mut self, update: HostedUpdate) {
        match update {
            HostedUpdate::Progress(kind) => self.show(kind).await,
            HostedUpdate::Item(item, contents) => {
                let wire = WireItem::new(*item, contents);
                let body = write(&ItemBody::Here(Box::new(wire.clone())));
                let pushed = body.map(|body| {
                    let bytes = body.get().len();
                    self.link.lease(|lease, now_ms| {
                        lease.gather(now_ms + limits::GATHER_MS);
                        lease.push(body, bytes)
                    })
                });
                if let None | Some(Err(NotPushed::TooLarge { .. })) = pushed {
                    let begun = serde_json::to_vec(&wire).map_err(|error| error.to_string());
                    if let Err(why) = begun.and_then(|bytes| self.uploads.begin(&bytes)) {
                        self.give_up(format!("something that happened could not be told: {why}"));
                    }
                }
            }
        }
    }

    /// An item that does not fit into a letter is where home finds it.
    fn put(&mut self, put: Result<PutItem, String>) {
        let told = put.and_then(|item| {
            let body = write(&ItemBody::Blob(item.blob)).ok_or("it has no name")?;
            let pushed = self.link.lease(|lease, _| lease.push_blob(body, item.bytes));
            if let Ok(number) = pushed {
                self.uploads.keep_item(item, number);
            }
            Ok(())
        });
        if let Err(why) = told {
            self.give_up(format!("something that happened could not be told: {why}"));
        }
    }

    async fn show(&self, kind: ProgressKind) {
        let epoch = self.link.lease(|lease, _| lease.epoch());
        if let Some(body) = write(&Passing::Show(kind)) {
            self.say(RunUp::Progress { epoch, body }).await;
        }
    }
}
