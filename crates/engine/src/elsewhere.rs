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
mod questions;
mod requests;
mod settling;

use std::sync::Arc;
use std::time::Duration;

use posse_agent::{Kin, Mail, Recall};
use posse_protocol::{
    AgentId, Answer, Approval, Branch, Budget, CallId, Ending, EventKind, Failure, Grant, Message, Progress,
    Report, Update,
};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::agents::receipt::Effects;
use crate::agents::start::{AgentIdentity, AgentStart, FirstTask, PlacedBefore};
use crate::changes::travelling::{SentWork, repository_name};
use crate::crew::waiting::Parked;
use crate::crew::{AgentSignals, Crew};
use crate::delegation::answers;
use crate::delegation::calls::DelegationCalls;
use crate::driver::begin::begun;
use crate::elsewhere::kept_files::KeptFiles;
use crate::elsewhere::mirror::Mirror;
use crate::elsewhere::questions::RemoteQuestions;
use crate::elsewhere::requests::{CarriedOut, Requests};
use crate::elsewhere::settling::RemoteEnd;
use crate::limits::{CANCEL_ELSEWHERE_MS, REMOTE_REQUESTS_MAX};
use crate::record::journal::Journal;
use crate::remote::{
    HomeReply, HomeRequest, HostCommand, HostedItem, Seat, SeatCommand, SeatEvent, SeatStart, WorkerRun,
    Workers,
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
    early: Vec<(u64, u64, HomeRequest)>,
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
    /// Held while it waits for its sub-agents.
    parked: Option<Parked>,
    /// When it was stopped.
    cancelled: Option<Instant>,
}

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
        let before = before.unwrap_or_else(|| {
            let known = start.conversation.messages().to_vec();
            let recall = Recall::new(settings, &known);
            PlacedBefore { epoch: 0, worker: None, recorded: 0, recall, known, asking: None }
        });
        let PlacedBefore { epoch, worker, recorded, recall, known, asking } = before;
        let mail = recall.waiting_mail().iter().map(|mail| (mail.clone(), false)).collect();
        let model = start.conversation.model.name().to_string();
        let seat = workers.seat(SeatStart {
            session: crew.session,
            agent: start.who.id,
            on: on.clone(),
            repository: repository_name(crew.site.workspace.root()),
            model: (!workers.models_at_home(&on)).then_some(model),
            epoch,
            worker: worker.clone(),
            recorded,
        });
        let (own, grant) = (start.conversation.model.clone(), start.grant.clone());
        let calls = DelegationCalls::new(Arc::clone(&crew), start.who.id, own, grant);
        let kept = KeptFiles::new(crew.checkouts.data_dir(), &start.who.id.to_string());
        let (answer, answered) = mpsc::unbounded_channel();
        let mut driver = Self {
            interrupts: signals.interrupt.subscribe(),
            mirror: Mirror::new(start.conversation, recall, effects, recorded),
            calls: calls.map(Arc::new),
            questions: RemoteQuestions::default(),
            answer,
            answered,
            requests: Requests::new(),
            early: Vec::new(),
            reports: Vec::new(),
            told: (None, None),
            parked: None,
            cancelled: None,
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
            let given_up = self.cancelled.map(|at| at + Duration::from_millis(CANCEL_ELSEWHERE_MS));
            let course = tokio::select! {
                biased;
                () = cancel.cancelled(), if self.cancelled.is_none() => self.cancel(),
                () = until(given_up) => Course::End(Box::new(RemoteEnd::here(Ending::Cancelled))),
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
    fn cancel(&mut self) -> Course {
        self.cancelled = Some(Instant::now());
        if self.worker.is_none() {
            return Course::End(Box::new(RemoteEnd::here(Ending::Cancelled)));
        }
        self.say(HostCommand::Cancel);
        Course::On
    }

    async fn handle(&mut self, event: SeatEvent) -> Course {
        match event {
            SeatEvent::Claimed { worker, epoch, has } => match self.place(&worker, epoch, &has).await {
                Ok(placed) => {
                    self.lose_worker();
                    let _ = self.seat.commands.send(SeatCommand::Place(Box::new(placed)));
                    (self.worker, self.epoch) = (Some(worker), epoch);
                    self.begin_again();
                }
                Err(why) => return ends(why),
            },
            SeatEvent::Items { items, contents } => return self.record(items, contents).await,
            SeatEvent::Progress(kind) => {
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
            SeatEvent::Ended { end, bundle } => {
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

    /// Puts on record what a worker tells, then says so.
    async fn record(&mut self, items: Vec<HostedItem>, contents: Vec<(String, Vec<u8>)>) -> Course {
        if let Err(why) = self.kept.put(&contents) {
            return ends(why);
        }
        self.parked = None;
        let mut untold = Vec::new();
        for item in items {
            let item = self.as_home_knows(item).and_then(|item| self.mirror.take_in(&self.who.name, item));
            let HostedItem { kind, kept } = match item {
                Ok(item) => item,
                Err(why) => return ends(why),
            };
            if !kept.is_empty() {
                self.has_kept = true;
                self.journal.note(EventKind::WorkKept { files: kept });
            }
            self.heed(&kind, &mut untold);
            self.journal.note(kind);
        }
        self.mirror.tell_spent(&self.crew, self.who.id, self.requests.spent(), &self.budget);
        if let Err(error) = self.journal.durable().await {
            return ends(format!("the record cannot be written: {error}"));
        }
        let _ = self.seat.commands.send(SeatCommand::Recorded(self.mirror.count));
        self.tell_again(untold);
        let count = self.mirror.count;
        let (ready, early) =
            std::mem::take(&mut self.early).into_iter().partition(|(_, after, _)| *after <= count);
        self.early = early;
        let ready: Vec<(u64, u64, HomeRequest)> = ready;
        for (id, _, request) in ready {
            if let end @ Course::End(_) = self.asked(id, request) {
                return end;
            }
        }
        Course::On
    }

    /// What an event of the agent means here.
    fn heed(&mut self, kind: &EventKind, untold: &mut Vec<AgentId>) {
        match kind {
            EventKind::Told { mail, .. } => {
                self.mail.retain(|(sent, _)| sent.id != *mail || mail.is_unknown())
            }
            EventKind::ReportsDelivered { agents } => {
                untold.retain(|id| !agents.contains(id));
                self.reports.retain(|(_, ids)| !ids.iter().all(|id| agents.contains(id)));
            }
            EventKind::ToolFinished { call, .. } => {
                untold.extend(self.requests.finished(call));
                self.questions.close(call);
            }
            EventKind::PersonNeeded { question } => {
                self.questions.open(&self.crew, self.who.id, question.clone(), self.answer.clone());
            }
            EventKind::PersonAnswered { call, .. } => self.questions.close(call),
            _ => {}
        }
    }

    /// Reports that an answer held which the agent did not take in are told once more.
    fn tell_again(&mut self, untold: Vec<AgentId>) {
        let finished: Vec<_> = untold.into_iter().filter_map(|id| self.crew.finished(id)).collect();
        self.word_reports(&finished);
    }

    fn word_reports(&mut self, finished: &[Arc<crate::agents::finished::FinishedAgent>]) {
        if finished.is_empty() {
            return;
        }
        let told = finished.iter().map(|done| answers::report(&self.crew, done, posse_surface::Shape::Text));
        let (text, agents) =
            (told.collect::<Vec<_>>().join("\n\n"), finished.iter().map(|done| done.id).collect());
        self.reports.push((text, agents));
        self.send_reports(self.reports.len() - 1);
    }

    fn send_reports(&mut self, from: usize) {
        if self.worker.is_none() {
            return;
        }
        let kin = self.kin(&[]);
        for (text, agents) in self.reports.iter().skip(from) {
            self.say(HostCommand::Reports { text: text.clone(), agents: agents.clone(), kin });
        }
    }

    /// How its sub-agents are, as it may know: those whose report is on its way to it have not ended for it.
    fn kin(&self, but: &[AgentId]) -> Kin {
        let kin = self.crew.kin(self.who.id);
        let on_their_way =
            self.reports.iter().flat_map(|(_, ids)| ids).filter(|id| !but.contains(id)).count();
        Kin { live: kin.live + on_their_way, ..kin }
    }

    /// Passes on what has come for it.
    fn pass_on(&mut self) {
        let mut interrupt = false;
        let interrupts = &mut self.interrupts;
        let news = self.crew.news(self.who.id, || {
            interrupt = interrupts.has_changed().unwrap_or(false);
            drop(interrupts.borrow_and_update());
        });
        for mail in news.mail {
            if self.worker.is_some() {
                self.say(HostCommand::mail(&mail, interrupt));
            }
            self.mail.push((mail, interrupt));
        }
        self.word_reports(&news.reports);
        if let Some((budget, _)) = self.crew.take_budget(self.who.id) {
            self.budget = budget;
            self.say(HostCommand::Budget { budget });
        }
        if self.worker.is_none() {
            return;
        }
        let kin = self.kin(&[]);
        let roster = self.crew.tree(|tree| answers::roster(tree, self.who.id));
        if self.told.0.as_ref() != Some(&(kin, roster.clone())) {
            self.told.0 = Some((kin, roster.clone()));
            self.say(HostCommand::Kin { kin, roster });
        }
        let mode = self.crew.approvals.mode_max();
        if let Some(approval) = mode.filter(|_| self.told.1 != mode) {
            self.told.1 = mode;
            self.say(HostCommand::Mode { approval });
        }
    }

    /// Says everything to a worker that has just got the agent, or has it from an earlier process of home. What it knows
    /// already changes nothing there.
    fn begin_again(&mut self) {
        self.told = (None, None);
        self.say(HostCommand::Budget { budget: self.budget });
        for (mail, interrupt) in &self.mail {
            self.say(HostCommand::mail(mail, *interrupt));
        }
        self.send_reports(0);
        if self.cancelled.is_some() {
            self.say(HostCommand::Cancel);
        }
    }

    /// The agent asks something, and all that comes before it is on record.
    fn asked(&mut self, id: u64, request: HomeRequest) -> Course {
        match request {
            HomeRequest::Idle => {
                self.parked = Some(self.crew.park(self.who.id));
                self.reply(id, HomeReply::Noted);
            }
            HomeRequest::CallModel => {
                let absent = || Some("home calls no models for its workers");
                let over = self.requests.spent().over(&self.budget);
                if let Some(reason) = over.or_else(|| if self.calls_models() { None } else { absent() }) {
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

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
