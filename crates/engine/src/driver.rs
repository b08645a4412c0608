//! Drives one agent from its task to its end. All waiting happens here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_agent::{Agent, Done, Input, Output, Purpose, Settings, Step};
use posse_model::{Signal, Transcript};
use posse_protocol::limits::RECEIPT_DENIALS_MAX;
use posse_protocol::{
    AgentId, Answer, Branch, Denial, Effect, Ending, EventKind, Isolation, ModelError, Reply, Report, Role,
    Sender, ToolCall, ToolSpec,
};
use posse_store::StoreError;
use posse_tools::Toolbox;
use posse_workspace::WorkspaceError;
use posse_workspace::worktree::Checkout;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::answers;
use crate::clock::Clock;
use crate::context::{self, Snapshot};
use crate::crew::{Crew, Handles};
use crate::desk::Desk;
use crate::facts::WorkspaceFacts;
use crate::finished::{Finished, Kept};
use crate::gate::Gate;
use crate::journal::{Journal, Unacknowledged};
use crate::launch::Launch;
use crate::limits::{LAST_WORD_MS_MAX, LAST_WORD_MS_MIN};
use crate::model_choice::PricedModel;
use crate::receipt::Effects;
use crate::site::Site;
use crate::stage::Stage;
use crate::tool_calls::{self, Kit, Progressed, Unfinished};

/// Owns everything one agent needs while it runs.
pub(crate) struct Driver {
    crew: Arc<Crew>,
    agent: Agent,
    id: AgentId,
    name: String,
    title: String,
    role: Role,
    model: PricedModel,
    system: String,
    tools: Arc<[ToolSpec]>,
    /// The conversation as the model's protocol writes it; grows with the agent's, one message at a time.
    transcript: Transcript,
    /// The transcript before any message: where a shortened conversation starts again.
    empty: Transcript,
    epoch: u32,
    toolbox: Toolbox,
    desk: Option<Desk>,
    journal: Journal,
    handles: Handles,
    interrupts: watch::Receiver<()>,
    told: Option<(Sender, String)>,
    context_files: Vec<String>,
    deliverables: Vec<String>,
    /// Where it works.
    site: Arc<Site>,
    checkout: Option<Checkout>,
    isolation: Isolation,
    /// The branch it goes on with, where it takes up the work of another.
    branch: Option<Branch>,
    gate: Gate,
    denied: Vec<Denial>,
    notes: Vec<String>,
    clock: Clock,
    /// Of its working time.
    deadline: Option<Duration>,
    /// How long a last report may take once the time is over.
    last_word: Duration,
    effects: Effects,
}

/// How a piece of waiting ended.
enum Waited<T> {
    Done(T),
    Cancelled,
    TimeUp,
    Interrupted,
}

impl Driver {
    pub(crate) fn new(crew: Arc<Crew>, mut launch: Launch) -> Self {
        let begun = begun(&crew, &launch);
        launch.journal.note(begun);
        let Launch { id, budget, ref model, ref name, ref grant, .. } = launch;
        let settings = Settings {
            budget,
            prices: model.prices,
            context_window: model.model.config().context_window,
            fixed_bytes: launch.empty.bytes(),
            reports: launch.depth > 0,
        };
        let last_word_ms = (budget.time_ms.unwrap_or(0) / 10).clamp(LAST_WORD_MS_MIN, LAST_WORD_MS_MAX);
        let handles = crew.handles(id);
        handles.clock.begin();
        Self {
            gate: Gate { crew: Arc::clone(&crew), agent: id, name: name.clone(), approval: grant.approval },
            denied: Vec::new(),
            notes: Vec::new(),
            site: crew.site(id),
            checkout: None,
            isolation: launch.isolation,
            branch: launch.branch,
            agent: Agent::knowing(settings, &launch.known),
            desk: Desk::new(Arc::clone(&crew), id, model.clone(), launch.grant),
            interrupts: handles.interrupt.subscribe(),
            crew,
            id,
            name: launch.name,
            title: launch.title,
            role: launch.role,
            model: launch.model,
            system: launch.system,
            tools: launch.tools,
            transcript: launch.transcript,
            empty: launch.empty,
            epoch: 0,
            toolbox: launch.toolbox,
            journal: launch.journal,
            clock: handles.clock.clone(),
            handles,
            told: Some(launch.told),
            context_files: launch.context_files,
            deliverables: launch.deliverables,
            deadline: budget.time_ms.map(Duration::from_millis),
            last_word: Duration::from_millis(last_word_ms),
            effects: Effects::default(),
        }
    }

    /// Runs the agent to its end, which is on record when this returns.
    pub(crate) async fn run(mut self) -> Report {
        let mut input = self.first_input().await;
        // Its task comes before what was told meanwhile, and with the last word nothing more is taken in.
        let mut begun = false;
        loop {
            if std::mem::replace(&mut begun, true) && !self.agent.is_closing() {
                self.take_news();
            }
            let Output { record, step } = self.agent.handle(input, self.elapsed_ms());
            for kind in record {
                self.journal.note(kind);
            }
            self.crew.spent(self.id, &self.agent.spent(), self.agent.tokens_counted());
            input = match step {
                Step::CallModel { turn, purpose } => self.call_model(turn, purpose).await,
                Step::CallTools { calls } => self.call_tools(&calls).await,
                Step::Settle(ending) => return self.settle(ending).await,
                Step::Wait => self.idle().await,
            };
        }
    }

    /// A sub-agent's admission is on record before anything of it runs.
    async fn first_input(&mut self) -> Input {
        if self.id != self.crew.main
            && let Err(error) = self.journal.durable().await
        {
            return broken(&error);
        }
        if self.isolation == Isolation::Worktree {
            let cancel = self.handles.cancel.clone();
            tokio::select! {
                biased;
                () = cancel.cancelled() => return cancelled(String::new(), Vec::new()),
                made = self.check_out() => if let Err(message) = made {
                    return Input::Broken { message };
                }
            }
        }
        match self.told.take() {
            Some((from, text)) => Input::Told { from, text: self.with_files(text).await },
            None => Input::Broken { message: "the agent was given no task".to_string() },
        }
    }

    /// Gives it a checkout of its own. Where there is no repository it works in its parent's files, and everybody is told.
    async fn check_out(&mut self) -> Result<(), String> {
        let made = self.crew.checkouts.make(&self.site.workspace, &self.name, self.branch.as_ref());
        match made.await {
            Ok((checkout, workspace, left)) => {
                self.notes.extend(left);
                self.toolbox = self.toolbox.moved_to(&workspace);
                self.site = Arc::new(Site::own(workspace));
                self.crew.moves(self.id, Arc::clone(&self.site));
                self.checkout = Some(checkout);
            }
            Err(error @ WorkspaceError::NotARepository) => {
                let note = format!("No checkout of its own: {error}. It works in the shared folder.");
                if let Some((_, text)) = &mut self.told {
                    text.push_str(&format!("\n\n({note} That is {}.)", self.site.folder));
                }
                self.notes.push(note);
            }
            Err(error) => return Err(format!("no checkout of its own could be made: {error}")),
        }
        Ok(())
    }

    /// The words with the contents of the files that go with them.
    async fn with_files(&mut self, text: String) -> String {
        let paths = std::mem::take(&mut self.context_files);
        if paths.is_empty() {
            return text;
        }
        let workspace = self.site.workspace.clone();
        let read = tokio::task::spawn_blocking(move || context::files(&workspace, &paths));
        format!("{text}\n\n{}", read.await.unwrap_or_default())
    }

    /// Takes in what came meanwhile: it is told at the agent's next turn. Says how its sub-agents are.
    fn take_news(&mut self) -> bool {
        // What came with an interrupt is taken now, so it need not stop what comes next.
        let news = self.crew.news(self.id, || drop(self.interrupts.borrow_and_update()));
        self.agent.set_kin(news.kin);
        let any = !news.mail.is_empty() || !news.reports.is_empty();
        for (from, text) in news.mail {
            self.agent.hear(from, text);
        }
        if !news.reports.is_empty() {
            let told =
                news.reports.iter().map(|done| answers::report(&self.crew, done, posse_surface::Shape::Text));
            let text = told.collect::<Vec<_>>().join("\n\n");
            tool_calls::note_delivered(&mut self.journal, news.reports.iter().map(|done| done.id).collect());
            self.agent.hear(Sender::Reports, text);
        }
        any
    }

    /// Rests until something comes in. It holds no slot meanwhile.
    async fn idle(&mut self) -> Input {
        self.journal.send();
        let mut news = self.handles.news.subscribe();
        let parked = self.crew.park(self.id);
        loop {
            if self.take_news() {
                drop(parked);
                return Input::GoOn;
            }
            let change = async { drop(news.changed().await) };
            match wait(change, &self.handles.cancel, (&self.clock, self.deadline), None).await {
                Waited::Done(()) | Waited::Interrupted => {}
                Waited::Cancelled => return cancelled(String::new(), Vec::new()),
                Waited::TimeUp => return self.time_up(String::new(), Vec::new()),
            }
        }
    }

    async fn call_model(&mut self, turn: u32, purpose: Purpose) -> Input {
        if purpose == Purpose::LastWord {
            self.crew.ends(self.id);
            self.deadline = self.deadline.map(|at| at.max(self.clock.elapsed() + self.last_word));
        }
        self.extend_transcript();
        let since = Instant::now();
        let mut on_record = self.journal.send_and_take();
        let stage = Stage::new(self.id, self.crew.updates.clone());
        let waited = {
            let mut on_signal = |signal| match signal {
                Signal::Retrying { attempt, delay_ms, reason } => {
                    self.journal.note(EventKind::Retrying { attempt, delay_ms, reason });
                    self.journal.send();
                }
                signal => stage.show(signal),
            };
            let call = async {
                self.crew.slot(self.id, &self.handles).await;
                self.model.model.call(&self.transcript, &mut on_signal).await
            };
            let interrupts = Some(&mut self.interrupts);
            let limit = (&self.clock, self.deadline);
            wait(on_stage(call, &mut on_record, &stage), &self.handles.cancel, limit, interrupts).await
        };
        self.journal.give_back(on_record);
        let duration_ms = since.elapsed().as_millis() as u64;
        match waited {
            Waited::Done(Ok(result)) => self.replied(turn, result, duration_ms),
            Waited::Done(Err(error)) => broken(&error),
            Waited::Cancelled => cancelled(stage.partial(), Vec::new()),
            Waited::TimeUp => self.time_up(stage.partial(), Vec::new()),
            Waited::Interrupted => Input::Interrupted { partial: stage.partial(), done: Vec::new() },
        }
    }

    fn replied(&mut self, turn: u32, result: Result<Reply, ModelError>, duration_ms: u64) -> Input {
        match result {
            Ok(reply) => {
                self.journal.note(EventKind::Replied { turn, reply: reply.clone(), duration_ms });
                Input::Replied(reply)
            }
            Err(error) => {
                self.journal.note(EventKind::ModelFailed { turn, error: error.clone() });
                Input::ModelFailed(error)
            }
        }
    }

    async fn call_tools(&mut self, calls: &[ToolCall]) -> Input {
        self.toolbox.next_turn();
        let (mut progressed, unfinished) = (Progressed::default(), Unfinished::default());
        let kit = Kit {
            unfinished: &unfinished,
            toolbox: &self.toolbox,
            desk: self.desk.as_ref(),
            gate: &self.gate,
            site: &self.site,
            turn: self.agent.spent().turns,
            snapshot: self.snapshot(calls),
        };
        let run = tool_calls::run(&kit, calls, &mut self.journal, &mut progressed);
        let interrupts = Some(&mut self.interrupts);
        let limit = (&self.clock, self.deadline);
        let waited = wait(run, &self.handles.cancel, limit, interrupts).await;
        if progressed.stopped() {
            progressed.effects.extend(tool_calls::files(&self.site).await);
        }
        let changes = unfinished.changes(&self.site).await;
        tool_calls::note_changes(&mut self.journal, self.agent.spent().turns, changes);
        if let Some(call) = progressed.asking.take() {
            self.journal.note(EventKind::PersonAnswered { call: call.clone(), answer: Answer::Withdrawn });
            let text = "It was not run: nobody had answered whether it may.".to_string();
            progressed.done.push(Done { id: call, ok: false, text, ran: false, read_only: true });
        }
        self.denied.append(&mut progressed.denied);
        self.effects.add(&progressed.effects);
        for effect in progressed.effects {
            if let Effect::Todo { text } = effect {
                self.agent.pin(TODO, text);
            }
        }
        match waited {
            Waited::Done(Ok(())) => Input::ToolsDone(progressed.done),
            Waited::Done(Err(error)) => broken(&error),
            Waited::Cancelled => cancelled(String::new(), progressed.done),
            Waited::TimeUp => self.time_up(String::new(), progressed.done),
            Waited::Interrupted => Input::Interrupted { partial: String::new(), done: progressed.done },
        }
    }

    /// The conversation as it was sent last, if one of the calls may hand it on.
    fn snapshot(&self, calls: &[ToolCall]) -> Option<Arc<Snapshot>> {
        let desk = self.desk.as_ref()?;
        calls.iter().any(|call| desk.owns(call)).then(|| {
            Arc::new(Snapshot {
                model: self.model.clone(),
                system: self.system.clone(),
                tools: Arc::clone(&self.tools),
                empty: self.empty.clone(),
                transcript: self.transcript.clone(),
                messages: self.agent.conversation().messages()[..self.transcript.len()].to_vec(),
                task: self.agent.task().to_string(),
                todo: self.agent.pinned(TODO).map(str::to_string),
                changed: self.effects.changed(),
                words: self.agent.last_words().to_string(),
            })
        })
    }

    /// Ends the agent: first everything below it, then itself. Its report is checked before it is recorded.
    async fn settle(mut self, ending: Ending) -> Report {
        self.journal.send();
        self.crew.ends(self.id);
        self.crew.stop_below(self.id).await;
        self.extend_transcript();
        let text = self.agent.last_words().to_string();
        let mut receipt = self.effects.receipt(&self.agent, self.crew.inherited(self.id));
        self.denied.append(&mut receipt.denied);
        self.denied.truncate(RECEIPT_DENIALS_MAX);
        receipt.denied = self.denied;
        let mut report = Report { ending, text, receipt, warnings: Vec::new() };
        if self.id == self.crew.main {
            self.crew.background.stop_all(&self.crew).await;
            let trouble = self.site.history.as_ref().and_then(|history| history.trouble());
            self.notes.extend(trouble.map(|why| format!("not all changes can be undone: {why}")));
            self.crew.checkouts.clean_up(&self.crew.site.workspace).await;
        } else {
            report = checked(report, self.deliverables, &self.site).await;
        }
        report.warnings.append(&mut self.notes);
        if let Some(checkout) = self.checkout {
            self.crew.background.stop_at(&self.crew, &self.site).await;
            match self.crew.checkouts.finish(&checkout, &self.title).await {
                Ok(branch) => report.receipt.branch = branch,
                Err(error) => report.warnings.push(format!(
                    "its work could not be committed and is still in {}: {error}",
                    checkout.top.display()
                )),
            }
        }
        self.journal.note(EventKind::AgentSettled { report: report.clone() });
        if let Err(error) = self.journal.durable().await {
            tracing::error!(%error, "the end of an agent could not be recorded");
        }
        let kept = Kept {
            role: self.role.clone(),
            model: self.model,
            system: self.system,
            tools: self.tools,
            empty: self.empty,
            transcript: self.transcript,
            messages: self.agent.conversation().messages().to_vec(),
            isolation: self.isolation,
            branch: report.receipt.branch.clone(),
        };
        let finished = Finished {
            id: self.id,
            name: self.name,
            role: self.role.name,
            title: self.title,
            report: report.clone(),
            conversation: Some(kept),
        };
        self.crew.settled(self.id, finished);
        report
    }

    /// Time is over: the agent gets a moment for a last report, and after that none.
    fn time_up(&mut self, partial: String, done: Vec<posse_agent::Done>) -> Input {
        self.deadline = Some(self.clock.elapsed() + self.last_word);
        Input::TimeUp { partial, done }
    }

    /// Brings the transcript up to the conversation: only what is new is encoded.
    fn extend_transcript(&mut self) {
        let conversation = self.agent.conversation();
        if conversation.epoch() != self.epoch {
            self.epoch = conversation.epoch();
            self.transcript = self.empty.clone();
        }
        for message in &conversation.messages()[self.transcript.len()..] {
            self.transcript.push(message);
        }
    }

    fn elapsed_ms(&self) -> u64 {
        self.clock.elapsed().as_millis() as u64
    }
}

/// The event that says that an agent begins, and with what.
fn begun(crew: &Crew, launch: &Launch) -> EventKind {
    let config = launch.model.model.config();
    let apart = launch.isolation == Isolation::Worktree;
    EventKind::AgentStarted {
        role: launch.role.name.clone(),
        depth: launch.depth,
        model: config.name.clone(),
        model_id: config.model.clone(),
        budget: launch.budget,
        grant: launch.grant.clone(),
        system: launch.system.clone(),
        checkout: apart.then(|| crew.checkouts.folder(crew.site(launch.id).workspace.root(), &launch.name)),
    }
}

/// The name under which the to-do list is pinned.
const TODO: &str = "To-do list";

/// Compares a report with what can be measured.
async fn checked(report: Report, deliverables: Vec<String>, site: &Site) -> Report {
    let facts = WorkspaceFacts(site.workspace.clone());
    let unchecked = report.clone();
    let check = tokio::task::spawn_blocking(move || {
        let warnings = posse_report::check(&report, &deliverables, &facts);
        Report { warnings, ..report }
    });
    check.await.unwrap_or(unchecked)
}

fn cancelled(partial: String, done: Vec<posse_agent::Done>) -> Input {
    Input::Cancel { partial, done }
}

async fn wait<T>(
    work: impl Future<Output = T>,
    cancel: &CancellationToken,
    (clock, deadline): (&Clock, Option<Duration>),
    interrupts: Option<&mut watch::Receiver<()>>,
) -> Waited<T> {
    let time_up = async {
        match deadline {
            Some(deadline) => clock.reaches(deadline).await,
            None => std::future::pending().await,
        }
    };
    let interrupted = async {
        let told = match interrupts {
            Some(interrupts) => interrupts.changed().await.is_ok(),
            None => false,
        };
        if !told {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Waited::Cancelled,
        () = time_up => Waited::TimeUp,
        () = interrupted => Waited::Interrupted,
        done = work => Waited::Done(done),
    }
}

fn broken(error: &StoreError) -> Input {
    Input::Broken { message: format!("the record cannot be written: {error}") }
}

/// Makes a call whose request may leave before its turn is on record. What comes is shown once everything before it
/// is published; a reply that is complete by then needs no showing, since its event holds all of it.
async fn on_stage<T>(
    call: impl Future<Output = T>,
    on_record: &mut Unacknowledged,
    stage: &Stage,
) -> Result<T, StoreError> {
    let mut call = std::pin::pin!(call);
    tokio::select! {
        biased;
        recorded = on_record.durable() => {
            recorded?;
            stage.open();
            Ok(call.await)
        }
        result = &mut call => Ok(result),
    }
}
