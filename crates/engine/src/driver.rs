//! Drives one agent from its task to its end. All waiting happens here.

mod begin;
pub(crate) mod gate;
pub(crate) mod held_progress;
mod settle;
pub(crate) mod tool_calls;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_agent::{Agent, Done, Input, Next, Output, Settings, Step};
use posse_model::{Signal, Transcript};
use posse_policy::shell_level;
use posse_protocol::{
    AgentId, Answer, Branch, Budget, CallId, Effect, EventKind, Files, Isolation, ModelError, Purpose, Reply,
    Report, Role, Sender, Shell, ToolCall, ToolSpec,
};
use posse_store::StoreError;
use posse_tools::Toolbox;
use posse_workspace::worktree::Checkout;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::agents::clock::Clock;
use crate::agents::context::Snapshot;
use crate::agents::offer::strange_file;
use crate::agents::receipt::Effects;
use crate::agents::start::AgentStart;
use crate::changes::site::Site;
use crate::crew::{Crew, Handles};
use crate::delegation::answers;
use crate::delegation::calls::Desk;
use crate::driver::gate::Gate;
use crate::driver::held_progress::Stage;
use crate::driver::tool_calls::{Kit, Progressed, Unfinished};
use crate::limits::{LAST_WORD_MS_MAX, LAST_WORD_MS_MIN};
use crate::models::choice::PricedModel;
use crate::record::journal::{Journal, Unacknowledged};

/// Owns everything one agent needs while it runs.
pub(crate) struct Driver {
    crew: Arc<Crew>,
    agent: Agent,
    /// Whether it was admitted in another process.
    resumed: bool,
    /// What it goes on with, where it had begun there.
    next: Option<Next>,
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
    notes: Vec<String>,
    clock: Clock,
    /// Of its working time.
    deadline: Option<Duration>,
    /// Whether the workspace is to be looked at beside the first model call: commands may change it later.
    looks: bool,
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
    pub(crate) fn new(crew: Arc<Crew>, mut launch: AgentStart) -> Self {
        launch.journal.note(begin::begun(&crew, &launch));
        let AgentStart { id, budget, ref model, ref name, ref grant, .. } = launch;
        let last_word_ms = (budget.time_ms.unwrap_or(0) / 10).clamp(LAST_WORD_MS_MIN, LAST_WORD_MS_MAX);
        let handles = crew.handles(id);
        let settings = settings(model, &launch.empty, budget, crew.sum_up_over(launch.depth));
        let (agent, next, worked, effects) = match launch.past {
            Some(past) => (past.agent, Some(past.next), past.worked, past.effects),
            None => (Agent::knowing(settings, &launch.known), None, Duration::ZERO, Effects::default()),
        };
        handles.clock.begin(worked);
        let writes = shell_level(grant) == Shell::Full && grant.files == Files::Write;
        Self {
            looks: id == crew.main && writes,
            epoch: agent.conversation().epoch(),
            agent,
            resumed: launch.resumed,
            next,
            gate: Gate {
                crew: Arc::clone(&crew),
                agent: id,
                name: name.clone(),
                approval: grant.approval,
                strange_file: crew.delegation.as_ref().and_then(|it| strange_file(it, &launch.role)),
            },
            notes: Vec::new(),
            site: crew.site(id),
            checkout: None,
            isolation: launch.isolation,
            branch: launch.branch,
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
            toolbox: launch.toolbox,
            journal: launch.journal,
            clock: handles.clock.clone(),
            handles,
            told: launch.told,
            context_files: launch.context_files,
            deliverables: launch.deliverables,
            deadline: budget.time_ms.map(Duration::from_millis),
            last_word: Duration::from_millis(last_word_ms),
            effects,
        }
    }

    /// Runs the agent to its end, which is on record when this returns.
    pub(crate) async fn run(mut self) -> Report {
        // Its task comes before what was told meanwhile, and with the last word nothing more is taken in.
        let mut begun = self.next.is_some();
        let mut input = self.first_input().await;
        loop {
            if std::mem::replace(&mut begun, true) && !self.agent.is_closing() {
                self.take_news();
            }
            if self.agent.may_shorten(&input)
                && let Some(sub_agents) = self.crew.tree(|tree| answers::roster(tree, self.id))
            {
                self.agent.pin(SUB_AGENTS, sub_agents);
            }
            let Output { record, step } = self.agent.handle(input, self.elapsed_ms());
            for kind in record {
                self.journal.note(kind);
            }
            self.crew.spent(self.id, &self.agent.spent(), self.agent.tokens_counted());
            if self.id == self.crew.main
                && let Some(told) = self.site.history.tell_not_covered()
            {
                self.journal.note(told);
            }
            input = match step {
                Step::CallModel { turn, purpose } => self.call_model(turn, purpose).await,
                Step::CallTools { calls } => self.call_tools(&calls, BTreeMap::new(), Vec::new()).await,
                Step::Settle(ending) => return self.settle(ending).await,
                Step::Wait => self.idle().await,
            };
        }
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
            self.agent.hear_reports(text, news.reports.iter().map(|done| done.id).collect());
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
        if std::mem::take(&mut self.looks) {
            self.site.history.look_ahead();
        }
        let since = Instant::now();
        let mut on_record = self.journal.send_and_take();
        let stage = Stage::new(self.id, self.crew.updates.clone());
        let waited = {
            let mut on_signal = |signal| match signal {
                Signal::Retrying { attempt, attempts_max, delay_ms, reason } => {
                    stage.retrying();
                    self.journal.note(EventKind::Retrying { attempt, attempts_max, delay_ms, reason });
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
                let (cost_usd, reply_on_record) = (self.agent.cost_of(&reply), reply.clone());
                let replied = EventKind::Replied { turn, reply: reply_on_record, duration_ms, cost_usd };
                self.journal.note(replied);
                Input::Replied(reply)
            }
            Err(error) => {
                self.journal.note(EventKind::ModelFailed { turn, error: error.clone() });
                Input::ModelFailed(error)
            }
        }
    }

    /// Runs the calls of a reply. Some of its calls may have begun in another process, and some may be answered.
    async fn call_tools(
        &mut self,
        calls: &[ToolCall],
        begun: BTreeMap<CallId, bool>,
        done: Vec<Done>,
    ) -> Input {
        self.toolbox.next_turn();
        let (mut progressed, unfinished) = (Progressed::with(done), Unfinished::default());
        let kit = Kit {
            unfinished: &unfinished,
            toolbox: &self.toolbox,
            desk: self.desk.as_ref(),
            gate: &self.gate,
            site: &self.site,
            turn: self.agent.spent().turns,
            snapshot: self.snapshot(calls),
            begun,
        };
        let run = tool_calls::run(&kit, calls, &mut self.journal, &mut progressed);
        let interrupts = Some(&mut self.interrupts);
        let limit = (&self.clock, self.deadline);
        let waited = wait(run, &self.handles.cancel, limit, interrupts).await;
        progressed.stopped();
        let mut found = unfinished.changes(&self.site).await;
        self.crew.approvals.wrote(&found.effects, &found.written);
        progressed.effects.append(&mut found.effects);
        progressed.effects.extend(tool_calls::denied(&self.name, &found.refused));
        found.into_events(self.agent.spent().turns).for_each(|kind| self.journal.note(kind));
        if let Some(call) = progressed.asking.take() {
            self.journal.note(EventKind::PersonAnswered { call: call.clone(), answer: Answer::Withdrawn });
            let text = "It was not run: nobody had answered whether it may.".to_string();
            progressed.done.push(Done { id: call, ok: false, text, ran: false, read_only: true });
        }
        self.notes.extend(progressed.not_counted());
        if self.effects.add(&progressed.effects, self.crew.edits(self.id)) {
            self.crew.edited(self.id);
        }
        for effect in progressed.effects {
            if let Effect::Todo { text } = effect {
                self.agent.pin(posse_agent::TODO, text);
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
                todo: self.agent.pinned(posse_agent::TODO).map(str::to_string),
                changed: self.effects.changed(),
                words: self.agent.last_words().to_string(),
            })
        })
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

/// What is fixed for an agent's life.
pub(crate) fn settings(
    model: &PricedModel,
    empty: &Transcript,
    budget: Budget,
    sum_up_over: Option<usize>,
) -> Settings {
    Settings {
        budget,
        prices: model.prices,
        context_window: model.model.config().context_window,
        fixed_bytes: empty.bytes(),
        sum_up_over,
    }
}

/// The name under which sub-agents are told of when the conversation is shortened.
const SUB_AGENTS: &str = "Your sub-agents";

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
        recorded = on_record.eventually() => {
            recorded?;
            stage.open();
            Ok(call.await)
        }
        result = &mut call => Ok(result),
    }
}
