//! Drives one agent from its task to its end. All waiting happens here.

pub(crate) mod begin;
pub(crate) mod call_context;
mod call_hooks;
mod foreground;
pub(crate) mod gate;
pub(crate) mod held_progress;
mod moments;
mod rest;
mod server_questions;
mod settings;
pub(crate) mod settle;
pub(crate) mod tool_calls;
pub(crate) mod waiting;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use posse_agent::{Agent, Done, Input, Mail, Next, Output, Step};
use posse_model::Signal;
use posse_protocol::{
    Answer, Branch, CallId, Effect, EventKind, Isolation, ModelError, Network, Purpose, Reply, Report,
    ToolCall,
};
use posse_store::StoreError;
use posse_tools::Toolbox;
use posse_workspace::worktree::Checkout;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::agents::context::Snapshot;
use crate::agents::conversation::Conversation;
use crate::agents::offer::strange_file;
use crate::agents::past_prompts::PastPrompts;
use crate::agents::receipt::Effects;
use crate::agents::start::{AgentIdentity, AgentStart, FirstTask, InterruptedAgent};
use crate::changes::site::Site;
use crate::crew::{AgentSignals, Crew};
use crate::delegation::answers;
use crate::delegation::calls::DelegationCalls;
use crate::driver::call_context::{CallContext, TurnProgress, UnfinishedCalls};
use crate::driver::gate::Gate;
use crate::driver::held_progress::HeldProgress;
use crate::driver::waiting::{TimeLimit, Waited, wait};
use crate::hooks::agent_hooks::AgentHooks;
use crate::record::journal::{Journal, Unacknowledged};
use crate::remote::{Home, HomeRequest};

/// Owns everything one agent needs while it runs.
pub(crate) struct Driver {
    crew: Arc<Crew>,
    who: AgentIdentity,
    /// The machine that says what comes next.
    agent: Agent,
    /// What it goes on with, where it had begun in another process.
    next: Option<Next>,
    /// Grows with the agent's conversation, one message at a time.
    conversation: Conversation,
    toolbox: Toolbox,
    /// Its calls of delegation tools, where it can delegate.
    calls: Option<DelegationCalls>,
    gate: Gate,
    journal: Journal,
    signals: AgentSignals,
    interrupts: watch::Receiver<()>,
    task: FirstTask,
    workplace: Workplace,
    time: TimeLimit,
    /// Whether the workspace is to be looked at beside the first model call: commands may change it later.
    looks: bool,
    effects: Effects,
    /// What its earlier prompts came to.
    past: PastPrompts,
    /// What its report has to say besides.
    notes: Vec<String>,
    /// Its hooks; none where there are none.
    hooks: Option<AgentHooks>,
    /// How its session began, as hooks are told.
    source: &'static str,
}

/// Where an agent works.
struct Workplace {
    site: Arc<Site>,
    /// Its own, once it is made.
    checkout: Option<Checkout>,
    isolation: Isolation,
    /// The branch it goes on with, where it takes up the work of another.
    branch: Option<Branch>,
    /// Whether it was admitted in another process, and has to find out where its parent works.
    resumed: bool,
}

impl Driver {
    pub(crate) fn new(crew: Arc<Crew>, mut start: AgentStart) -> Self {
        start.journal.note(begin::begun(&crew, &start));
        let source = moments::source(&start);
        std::mem::take(&mut start.forked).into_iter().for_each(|part| start.journal.note(part));
        let AgentStart { who, grant, budget, mut conversation, isolation, branch, resumed, .. } = start;
        let signals = crew.signals(who.id);
        let settings = conversation.settings(budget, crew.sum_up_over(who.depth), crew.stays_at(who.depth));
        let InterruptedAgent { agent, next, worked, effects, past } = match start.interrupted {
            Some(interrupted) => *interrupted,
            None => InterruptedAgent::new(Agent::knowing(settings, conversation.messages())),
        };
        conversation.follow(agent.conversation());
        signals.clock.begin(worked);
        let writes = start.toolbox.can_write();
        let gate = Gate {
            crew: Arc::clone(&crew),
            agent: who.id,
            name: who.name.clone(),
            approval: grant.approval,
            reaches_out: grant.network != Network::None,
            strange_file: crew.delegation.as_ref().and_then(|it| strange_file(it, &who.role)),
        };
        let identity = (who.id, who.role.name.as_str(), who.id == crew.main);
        let hooks = AgentHooks::new(crew.hooks.as_ref(), identity, &grant, &start.journal);
        Self {
            hooks,
            source,
            looks: who.id == crew.main && writes && crew.home.is_none(),
            workplace: Workplace { site: crew.site(who.id), checkout: None, isolation, branch, resumed },
            calls: DelegationCalls::new(Arc::clone(&crew), who.id, conversation.model.clone(), grant),
            interrupts: signals.interrupt.subscribe(),
            time: TimeLimit::new(signals.clock.clone(), budget.time_ms),
            toolbox: start.toolbox,
            journal: start.journal,
            task: start.task,
            notes: Vec::new(),
            crew,
            who,
            agent,
            next,
            conversation,
            gate,
            signals,
            effects,
            past,
        }
    }

    /// Runs the agent to its end, which is on record when this returns.
    pub(crate) async fn run(mut self) -> Report {
        // Its task comes before what was told meanwhile, and with the last word nothing more is taken in.
        let mut begun = self.next.is_some();
        let mut input = self.first_input().await;
        loop {
            if std::mem::replace(&mut begun, true) && !self.agent.is_closing() {
                self.take_news(&input);
            }
            self.take_wishes();
            self.before_end(&input).await;
            if self.agent.may_shorten(&input)
                && let Some(sub_agents) = self.sub_agents()
            {
                self.agent.pin(SUB_AGENTS, sub_agents);
            }
            let Output { record, step } = self.agent.handle(input, self.time.elapsed_ms());
            let shortened = record.iter().find_map(moments::summary_of);
            for kind in record {
                self.journal.note(kind);
            }
            self.has_shortened(shortened).await;
            self.crew.set_spent(self.who.id, &self.agent.spent(), self.agent.tokens_counted());
            if self.who.id == self.crew.main
                && let Some(told) = self.workplace.site.history.tell_not_covered()
            {
                self.journal.note(told);
            }
            input = match step {
                Step::CallModel { turn, purpose } => {
                    self.before_shortening(purpose).await;
                    self.call_model(turn, purpose).await
                }
                Step::CallTools { calls } => self.call_tools(&calls, BTreeMap::new(), Vec::new()).await,
                Step::Settle(ending) => return self.settle(ending).await,
                Step::Rest(ending) => self.rest(ending).await,
                Step::Wait if self.agent.is_resting() => self.await_prompt().await,
                Step::Wait => self.idle().await,
            };
        }
    }

    /// Takes in what came meanwhile, unless calls come before the next turn: what is not taken can still be edited or taken
    /// back. Says how its sub-agents are.
    fn take_news(&mut self, input: &Input) {
        if matches!(input, Input::Replied(reply) if !reply.calls.is_empty()) {
            self.agent.set_kin(self.crew.kin(self.who.id));
        } else {
            self.take_mail();
        }
    }

    /// Takes in what came meanwhile: it is told at the agent's next turn. Says whether something came.
    fn take_mail(&mut self) -> bool {
        // What came with an interrupt is taken now, so it need not stop what comes next.
        let news = self.crew.news(self.who.id, || drop(self.interrupts.borrow_and_update()));
        self.agent.set_kin(news.kin);
        let any = !news.mail.is_empty() || !news.reports.is_empty() || !news.worded.is_empty();
        for Mail { id, from, words, .. } in news.mail {
            self.agent.hear(id, from, words);
        }
        if !news.reports.is_empty() {
            let told =
                news.reports.iter().map(|done| answers::report(&self.crew, done, posse_surface::Shape::Text));
            let text = told.collect::<Vec<_>>().join("\n\n");
            self.agent.hear_reports(text, news.reports.iter().map(|done| done.id).collect());
        }
        for (text, agents) in news.worded {
            self.agent.hear_reports(text, agents);
        }
        any
    }

    /// Its sub-agents in words, if it has some.
    fn sub_agents(&self) -> Option<String> {
        match &self.crew.home {
            Some(home) => home.roster(),
            None => self.crew.tree(|tree| answers::roster(tree, self.who.id)),
        }
    }

    /// Rests until something comes in. It holds no slot meanwhile.
    async fn idle(&mut self) -> Input {
        self.journal.send();
        let mut news = self.signals.news.subscribe();
        let parked = self.crew.park(self.who.id);
        let _told_home = self.crew.home.as_ref().map(|home| tell_idle(Arc::clone(home)));
        loop {
            if self.crew.take_stop(self.who.id) {
                drop(parked);
                return Input::Stop { partial: String::new(), done: Vec::new() };
            }
            if self.take_mail() {
                drop(parked);
                return Input::GoOn;
            }
            let change = async { drop(news.changed().await) };
            match wait(change, &self.signals.cancel, &self.time, None).await {
                Waited::Done(()) | Waited::Interrupted => {}
                Waited::Cancelled => return cancelled(String::new(), Vec::new()),
                Waited::TimeUp => return self.time_up(String::new(), Vec::new()),
            }
        }
    }

    async fn call_model(&mut self, turn: u32, purpose: Purpose) -> Input {
        if purpose == Purpose::LastWord {
            // What comes for an agent that rests then is for the next prompt.
            if !self.agent.stays() {
                self.crew.close_mailbox(self.who.id);
            }
            self.time.allow_last_word();
        }
        self.conversation.catch_up(self.agent.conversation());
        if std::mem::take(&mut self.looks) {
            self.workplace.site.history.look_ahead();
        }
        let since = Instant::now();
        let mut on_record = self.journal.send_and_take();
        self.has_begun();
        let progress = HeldProgress::new(self.who.id, self.crew.updates.clone());
        let waited = {
            let mut on_signal = |signal| match signal {
                Signal::Retrying { attempt, attempts_max, delay_ms, reason } => {
                    progress.retrying();
                    self.journal.note(EventKind::Retrying { attempt, attempts_max, delay_ms, reason });
                    self.journal.send();
                }
                signal => progress.show(signal),
            };
            let call = async {
                self.crew.wait_for_slot(self.who.id, &self.signals).await;
                if let Some(home) = &self.crew.home {
                    home.may_act(false).await;
                }
                self.conversation.model.model.call(self.conversation.transcript(), &mut on_signal).await
            };
            let interrupts = Some(&mut self.interrupts);
            wait(
                held_back_call(call, &mut on_record, &progress),
                &self.signals.cancel,
                &self.time,
                interrupts,
            )
            .await
        };
        self.journal.give_back(on_record);
        let duration_ms = since.elapsed().as_millis() as u64;
        match waited {
            Waited::Done(Ok(result)) => self.replied(turn, result, duration_ms),
            Waited::Done(Err(error)) => broken(&error),
            Waited::Cancelled => cancelled(progress.partial(), Vec::new()),
            Waited::TimeUp => self.time_up(progress.partial(), Vec::new()),
            Waited::Interrupted => self.interrupted(progress.partial(), Vec::new()),
        }
    }

    /// Lets others write to the record of a new session, which begins with the first events of its main agent.
    fn has_begun(&self) {
        if self.who.id == self.crew.main && !self.crew.begun.is_cancelled() {
            self.crew.begun.cancel();
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
        let (mut progressed, unfinished) = (TurnProgress::with(done), UnfinishedCalls::default());
        let context = CallContext {
            unfinished: &unfinished,
            toolbox: &self.toolbox,
            delegation: self.calls.as_ref(),
            gate: &self.gate,
            site: &self.workplace.site,
            hooks: self.hooks.as_ref().filter(|hooks| call_hooks::about_calls(hooks)),
            stopped: OnceLock::new(),
            turn: self.agent.spent().turns,
            trace: self.crew.trace.map(|trace| (trace, self.who.id)),
            snapshot: self.snapshot(calls),
            begun,
        };
        let run = tool_calls::run(&context, calls, &mut self.journal, &mut progressed);
        let interrupts = Some(&mut self.interrupts);
        let waited = wait(run, &self.signals.cancel, &self.time, interrupts).await;
        let stop = progressed.stop.take().or(context.stopped.into_inner());
        progressed.stopped();
        let mut found = unfinished.changes(&self.workplace.site).await;
        self.crew.approvals.note_written(&found.effects, &found.written);
        progressed.effects.append(&mut found.effects);
        progressed.effects.extend(tool_calls::denied(&self.who.name, &found.refused));
        found.into_events(self.agent.spent().turns).for_each(|kind| self.journal.note(kind));
        if let Some(asked) = progressed.asking.take() {
            let (call, answer) = (asked.id.clone(), Answer::Withdrawn);
            self.journal.note(EventKind::PersonAnswered { call, answer });
            progressed.done.push(asked.withdrawn());
        }
        self.notes.extend(progressed.not_counted());
        if self.effects.add(&progressed.effects, self.crew.edits(self.who.id)) {
            self.crew.note_edit(self.who.id);
        }
        for effect in progressed.effects {
            if let Effect::Todo { text } = effect {
                self.agent.pin(posse_agent::TODO, text);
            }
        }
        match waited {
            Waited::Done(Ok(())) => match stop {
                Some(stop) => self.stopped_by_hook(stop, progressed.done),
                None => Input::ToolsDone(progressed.done),
            },
            Waited::Done(Err(error)) => broken(&error),
            Waited::Cancelled => cancelled(String::new(), progressed.done),
            Waited::TimeUp => self.time_up(String::new(), progressed.done),
            Waited::Interrupted => self.interrupted(String::new(), progressed.done),
        }
    }

    /// What it does was stopped: for a message, or because the person wants it to rest.
    fn interrupted(&self, partial: String, done: Vec<Done>) -> Input {
        if self.crew.take_stop(self.who.id) {
            Input::Stop { partial, done }
        } else {
            Input::Interrupted { partial, done }
        }
    }

    /// The conversation as it was sent last, if one of the calls may hand it on.
    fn snapshot(&self, calls: &[ToolCall]) -> Option<Arc<Snapshot>> {
        let delegation = self.calls.as_ref()?;
        calls.iter().any(|call| delegation.owns(call)).then(|| {
            Arc::new(Snapshot {
                conversation: self.conversation.clone(),
                task: self.agent.task().to_string(),
                todo: self.agent.pinned(posse_agent::TODO).map(str::to_string),
                changed: self.effects.changed(),
                words: self.agent.last_words().to_string(),
            })
        })
    }

    /// Time is over: the agent gets a moment for a last report, and after that none.
    fn time_up(&mut self, partial: String, done: Vec<Done>) -> Input {
        self.time.only_last_word();
        Input::TimeUp { partial, done }
    }
}

/// Tells home that its agent waits, for as long as it does.
fn tell_idle(home: Arc<Home>) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move { drop(home.ask(HomeRequest::Idle).await) }))
}

/// The name under which sub-agents are told of when the conversation is shortened.
const SUB_AGENTS: &str = "Your sub-agents";

fn cancelled(partial: String, done: Vec<Done>) -> Input {
    Input::Cancel { partial, done }
}

fn broken(error: &StoreError) -> Input {
    Input::Broken { message: format!("the record cannot be written: {error}") }
}

/// Makes a call whose request may leave before its turn is on record. What comes is shown once everything before it
/// is published; a reply that is complete by then needs no showing, since its event holds all of it.
async fn held_back_call<T>(
    call: impl Future<Output = T>,
    on_record: &mut Unacknowledged,
    progress: &HeldProgress,
) -> Result<T, StoreError> {
    let mut call = std::pin::pin!(call);
    tokio::select! {
        biased;
        recorded = on_record.eventually() => {
            recorded?;
            progress.release();
            Ok(call.await)
        }
        result = &mut call => Ok(result),
    }
}
