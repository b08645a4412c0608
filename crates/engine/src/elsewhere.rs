//! Drives agents that run on workers: home's side of one, from its task to its end: records what the worker tells, carries out what the agent
//! asks of home, and passes on what is said to it.
//!
//! ```text
//!  waits for a worker ──Claimed──▶ on record ──Place──▶ runs there ──Ended──▶ settles
//!          ▲                                               │
//!          └───────────── its worker is lost ──────────────┘
//! ```
//!
//! The tree, the record, the budget and the person are here; the agent's own loop, its sandbox and its files are there. It must not
//! know how workers are reached.

mod claims;
mod kept_files;
mod late_work;
mod mirror;
mod packing;
mod passing_on;
mod questions;
mod recording;
mod requests;
mod settling;

use std::sync::Arc;
use std::time::Duration;

use posse_agent::{Kin, Mail, Recall};
use posse_protocol::{
    AgentId, Answer, Approval, Branch, Budget, CallId, Ending, Failure, Grant, Message, Progress, Report,
    Update,
};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::agents::clock::{Clock, Stopped};
use crate::agents::receipt::Effects;
use crate::agents::start::{AgentIdentity, AgentStart, FirstTask, PlacedBefore};
use crate::changes::travelling::{SentWork, repository_name};
use crate::crew::mail::Move;
use crate::crew::waiting::Parked;
use crate::crew::{AgentSignals, Crew};
use crate::delegation::calls::DelegationCalls;
use crate::driver::begin::begun;
use crate::driver::waiting::last_word_ms;
use crate::elsewhere::kept_files::KeptFiles;
pub(crate) use crate::elsewhere::kept_files::forget_kept;
use crate::elsewhere::mirror::Mirror;
use crate::elsewhere::questions::RemoteQuestions;
use crate::elsewhere::requests::{CarriedOut, Requests};
use crate::elsewhere::settling::RemoteEnd;
use crate::limits::{
    CANCEL_ELSEWHERE_MS, REMOTE_PROGRESS_BYTES_MAX, REMOTE_REQUESTS_MAX, REMOTE_TIME_EXTRA_MS,
};
use crate::record::journal::Journal;
use crate::remote::{
    HomeReply, HomeRequest, HostCommand, Seat, SeatCommand, SeatEvent, SeatStart, WorkerRun, Workers,
};

/// Owns everything that home has of an agent on a worker.
pub(crate) struct RemoteDriver {
    crew: Arc<Crew>,
    workers: Arc<dyn Workers>,
    who: AgentIdentity,
    grant: Grant,
    budget: Budget,
    task: FirstTask,
    /// The conversation that it took up, or is a fork of.
    known: Vec<Arc<Message>>,
    mirror: Mirror,
    journal: Journal,
    signals: AgentSignals,
    on: String,
    seat: Seat,
    /// The worker that has it.
    worker: Option<WorkerRun>,
    /// How often it was given to one.
    epoch: u64,
    /// The branch that it continues on.
    branch: Option<Branch>,
    /// Its files as they were sent.
    sent: Option<SentWork>,
    kept: KeptFiles,
    /// Whether some may be kept.
    has_kept: bool,
    notes: Vec<String>,
    calls: Option<Arc<DelegationCalls>>,
    toolbox: posse_tools::Toolbox,
    requests: Requests,
    /// Requests that come after events which are not on record yet.
    early: Vec<EarlyRequest>,
    questions: RemoteQuestions,
    answer: mpsc::UnboundedSender<(CallId, Answer)>,
    answered: mpsc::UnboundedReceiver<(CallId, Answer)>,
    interrupts: watch::Receiver<()>,
    /// Messages that it was sent and has not taken in, and whether they stop what it does.
    mail: Vec<(Mail, bool)>,
    /// Reports that it was sent and has not taken in.
    reports: Vec<(String, Vec<AgentId>)>,
    /// What it was told last of its sub-agents, and of the mode.
    told: (Option<(Kin, Option<String>)>, Option<Approval>),
    /// Commands that are to run in the background there.
    moves: Vec<Move>,
    /// Held while it waits for its sub-agents.
    parked: Option<Parked>,
    /// Held until a worker has it: it does not work yet.
    waits: Option<Stopped>,
    /// When it was stopped, and how it ends if its worker does not say.
    stopped: Option<(Instant, Ending)>,
}

/// A request by its number, how many events come before it, and what it asks.
type EarlyRequest = (u64, u64, HomeRequest);

/// How the loop goes on.
enum Course {
    On,
    End(Box<RemoteEnd>),
}

impl RemoteDriver {
    pub(crate) fn new(crew: Arc<Crew>, workers: Arc<dyn Workers>, on: String, mut start: AgentStart) -> Self {
        start.journal.note(begun(&crew, &start));
        let signals = crew.signals(start.who.id);
        let settings = start.conversation.settings(start.budget, crew.sum_up_over(start.who.depth), false);
        let before = start.placed.map(|placed| *placed);
        let interrupted = start.interrupted.map(|interrupted| *interrupted);
        let (worked, effects) =
            interrupted.map_or((Duration::ZERO, Effects::default()), |past| (past.worked, past.effects));
        signals.clock.begin(worked);
        let waits = signals.clock.stop();
        let before = before.unwrap_or_else(|| {
            let known = start.conversation.messages().to_vec();
            let recall = Recall::new(settings, &known);
            PlacedBefore { epoch: 0, worker: None, recorded: 0, recall, known, asking: None }
        });
        let PlacedBefore { epoch, worker, recorded, recall, known, asking } = before;
        let mail = recall.waiting_mail().iter().map(|mail| (mail.clone(), false)).collect();
        let model = (!workers.models_at_home(&on)).then(|| start.conversation.model.name().to_string());
        let (session, agent) = (crew.session, start.who.id);
        let repository = repository_name(crew.site.workspace.root());
        let (on_seat, run) = (on.clone(), worker.clone());
        let seat = SeatStart { session, agent, on: on_seat, repository, model, epoch, worker: run, recorded };
        let seat = workers.seat(seat);
        let (own, grant) = (start.conversation.model.clone(), start.grant.clone());
        let calls = DelegationCalls::new(Arc::clone(&crew), start.who.id, own, grant);
        let kept = KeptFiles::new(crew.checkouts.data_dir(), start.who.id);
        let (answer, answered) = mpsc::unbounded_channel();
        let mirror = Mirror::new(start.conversation, recall, effects, recorded);
        let mut driver = Self {
            interrupts: signals.interrupt.subscribe(),
            calls: calls.map(Arc::new),
            questions: RemoteQuestions::default(),
            answer,
            answered,
            requests: Requests::new(mirror.spent(), mirror.interrupted()),
            mirror,
            early: Vec::new(),
            reports: Vec::new(),
            told: (None, None),
            moves: Vec::new(),
            parked: None,
            waits: worker.is_none().then_some(waits),
            stopped: None,
            notes: Vec::new(),
            sent: None,
            toolbox: start.toolbox,
            grant: start.grant,
            budget: start.budget,
            task: start.task,
            branch: start.branch,
            journal: start.journal,
            who: start.who,
            crew,
            workers,
            known,
            signals,
            on,
            seat,
            worker,
            epoch,
            kept,
            has_kept: recorded > 0,
            mail,
        };
        if let Some(question) = asking {
            driver.questions.open(&driver.crew, driver.who.id, question, driver.answer.clone());
        }
        driver
    }

    /// Runs the agent to its end, which is on record when this returns.
    pub(crate) async fn run(mut self) -> Report {
        if let Err(error) = self.journal.durable().await {
            let end = RemoteEnd::here(failed(format!("the record cannot be written: {error}")));
            return self.settle(end).await;
        }
        if self.worker.is_some() {
            // It has the agent from an earlier process, and may not have heard all that this one said.
            self.begin_again();
        }
        let mut news = self.signals.news.subscribe();
        let cancel = self.signals.cancel.clone();
        loop {
            self.pass_on();
            let is_stopped = self.stopped.is_some();
            let given_up =
                self.stopped.as_ref().map(|(at, _)| *at + Duration::from_millis(CANCEL_ELSEWHERE_MS));
            let course = tokio::select! {
                biased;
                () = cancel.cancelled(), if !is_stopped => self.stop(Ending::Cancelled),
                () = until(given_up) => self.give_up(),
                () = time_over(&self.signals.clock, self.budget.time_ms), if !is_stopped => self.stop(Ending::TimedOut),
                event = self.seat.events.recv() => match event {
                    Some(event) => self.handle(event).await,
                    None => ends("there are no workers any more".to_string()),
                },
                done = self.requests.next() => self.done(done),
                Some((call, answer)) = self.answered.recv() => {
                    self.questions.gave(&call, &answer);
                    self.say(HostCommand::Answer { call, answer });
                    Course::On
                }
                _ = news.changed() => Course::On,
            };
            if let Course::End(end) = course {
                return self.settle(*end).await;
            }
        }
    }

    fn say(&self, command: HostCommand) {
        let _ = self.seat.commands.send(SeatCommand::Say(command));
    }

    fn reply(&self, id: u64, reply: HomeReply) {
        let _ = self.seat.commands.send(SeatCommand::Reply { id, reply });
    }

    /// Stops it: at once if no worker has it.
    fn stop(&mut self, ending: Ending) -> Course {
        self.stopped = Some((Instant::now(), ending));
        if self.worker.is_none() {
            return self.give_up();
        }
        self.say(HostCommand::Cancel);
        Course::On
    }

    /// Ends it without its worker, which was told to stop it.
    fn give_up(&mut self) -> Course {
        let ending = self.stopped.as_ref().map_or(Ending::Cancelled, |(_, ending)| ending.clone());
        Course::End(Box::new(RemoteEnd::here(ending)))
    }

    async fn handle(&mut self, event: SeatEvent) -> Course {
        match event {
            SeatEvent::Claimed { worker, epoch, has } => match self.place(&worker, epoch, &has).await {
                Ok(placed) => {
                    self.lose_worker();
                    let _ = self.seat.commands.send(SeatCommand::Place(Box::new(placed)));
                    (self.worker, self.epoch, self.waits) = (Some(worker), epoch, None);
                    self.begin_again();
                }
                Err(why) => return ends(why),
            },
            SeatEvent::Items { items, contents } => return self.record(items, contents).await,
            SeatEvent::Progress(mut kind) => {
                kind.shorten(REMOTE_PROGRESS_BYTES_MAX);
                self.crew.updates.send(Update::Progress(Progress { agent: self.who.id, kind }));
            }
            SeatEvent::Request { id, after, request } if after > self.mirror.count => {
                if self.early.len() >= REMOTE_REQUESTS_MAX {
                    return asks_too_much();
                }
                self.early.push((id, after, request));
            }
            SeatEvent::Request { id, request, .. } => return self.asked(id, request),
            SeatEvent::CalledOff { id } => {
                self.early.retain(|(early, _, _)| *early != id);
                self.requests.call_off(id);
            }
            SeatEvent::Ended { mut end, bundle } => {
                // It was stopped because of its time; its worker only knows that it was stopped.
                if let Some((_, ending)) = self.stopped.take().filter(|_| end.ending == Ending::Cancelled) {
                    end.ending = ending;
                }
                return Course::End(Box::new(RemoteEnd { end: *end, bundle, by_worker: true }));
            }
            SeatEvent::Aside { epoch, tip, bundle } => self.take_aside(epoch, &tip, &bundle).await,
            SeatEvent::NoWorker { reason } => return ends(reason),
        }
        Course::On
    }

    /// Another worker gets the agent: what the one before had asked is asked again.
    fn lose_worker(&mut self) {
        if let Some(lost) = self.worker.take() {
            self.notes.push(format!("the worker {} was lost while it had this agent", lost.worker));
        }
        self.questions.clear();
        self.requests.worker_lost();
        self.early.clear();
        self.parked = None;
    }

    /// The agent asks something, and all that comes before it is on record.
    fn asked(&mut self, id: u64, request: HomeRequest) -> Course {
        match request {
            HomeRequest::Idle => {
                self.parked = Some(self.crew.park(self.who.id));
                self.reply(id, HomeReply::Noted);
            }
            HomeRequest::CallModel => {
                self.parked = None;
                let refused = match self.calls_models() {
                    true => self.requests.refuses(&self.budget, &self.crew.kin(self.who.id)),
                    false => Some("home calls no models for its workers"),
                };
                if let Some(reason) = refused {
                    self.reply(id, HomeReply::Refused { reason: reason.to_string() });
                    return Course::On;
                }
                let (request, tokens) = (self.mirror.request(), self.mirror.tokens_next());
                self.requests.call_model(id, &self.crew, self.who.id, request, tokens);
            }
            HomeRequest::Delegate { call } => {
                let Some(calls) = self.calls.clone().filter(|calls| calls.owns(&call)) else {
                    let reason = "This is no call of a delegation tool.".to_string();
                    self.reply(id, HomeReply::Refused { reason });
                    return Course::On;
                };
                if self.requests.is_full(&call.id) {
                    return asks_too_much();
                }
                let snapshot = Some(self.mirror.snapshot());
                let work = calls.read(&call, &self.toolbox, snapshot);
                if let Some(answered) = self.requests.delegate(id, call, &calls, work) {
                    self.delegated(answered);
                }
            }
        }
        Course::On
    }

    fn calls_models(&self) -> bool {
        self.workers.models_at_home(&self.on)
    }

    fn delegated(&self, (id, outcome, delivered): (u64, posse_protocol::ToolOutcome, Vec<AgentId>)) {
        let kin = self.kin(&delivered);
        self.reply(id, HomeReply::Delegated { outcome, delivered, kin });
    }

    fn done(&mut self, done: CarriedOut) -> Course {
        match done {
            CarriedOut::Delegated(call, answer) => {
                let waiting = self.requests.answered(&call, answer);
                waiting.into_iter().for_each(|answered| self.delegated(answered));
            }
            CarriedOut::Called(id, reply, usage) => {
                self.requests.called(id, usage, self.mirror.conversation.model.prices);
                self.mirror.tell_spent(&self.crew, self.who.id, self.requests.spent(), &self.budget);
                self.reply(id, reply);
            }
        }
        Course::On
    }
}

fn asks_too_much() -> Course {
    ends(format!("its worker has more than {REMOTE_REQUESTS_MAX} requests at the same time"))
}

/// It ends here, because something went wrong.
fn ends(message: String) -> Course {
    Course::End(Box::new(RemoteEnd::here(failed(message))))
}

fn failed(message: String) -> Ending {
    Ending::Failed { failure: Failure::Internal { message } }
}

/// Waits until its time is over, with what it has to report in and for its worker to say so.
async fn time_over(clock: &Clock, time_ms: Option<u64>) {
    match time_ms {
        Some(time_ms) => {
            let extra_ms = last_word_ms(time_ms) + REMOTE_TIME_EXTRA_MS;
            clock.reaches(Duration::from_millis(time_ms.saturating_add(extra_ms))).await;
        }
        None => std::future::pending().await,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
