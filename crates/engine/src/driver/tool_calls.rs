//! Runs the calls of one turn: those that only read or delegate at the same time, the others one by one, in order.

use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use posse_agent::Done;
use posse_policy::Act;
use posse_protocol::{AgentId, CallId, Denial, Effect, EventKind, ToolCall, ToolOutcome};
use posse_store::StoreError;
use posse_tools::Prepared;

use crate::changes::found::{Found, Refused};
use crate::delegation::answers::CallAnswer;
use crate::delegation::calls::{DelegationCall, Work};
use crate::driver::call_context::{AskedCall, CallContext, RESULT_UNKNOWN, TurnProgress, lock};
use crate::driver::call_hooks::{HookedCall, HookedLook};
use crate::driver::foreground;
use crate::driver::gate::GateOutcome;
use crate::driver::server_questions::ServerQuestions;
use crate::limits::{PARALLEL_CALLS_MAX, SHOW_AFTER_MS};
use crate::record::journal::Journal;

struct Ready {
    call: CallId,
    tool: String,
    work: Work,
    /// The same as hooks know it, where there are some.
    hooked: Option<Box<HookedCall>>,
}

impl Ready {
    /// The same, with the questions of its server heard.
    fn heard_by(self, questions: &mut ServerQuestions<'_>, context: &CallContext<'_>) -> Self {
        let work = match self.work {
            Work::Tool { prepared, routed } => {
                let span = context.trace.map(|(trace, agent)| trace.of_call(agent, &self.call));
                Work::Tool { prepared: Box::new(questions.listen(&self.call, *prepared, span)), routed }
            }
            delegation => delegation,
        };
        Self { work, ..self }
    }

    /// That it is about to run.
    fn started(&self) -> EventKind {
        let (call, tool, title) = (self.call.clone(), self.tool.clone(), self.title());
        let (kind, paths) = match &self.work {
            Work::Tool { prepared, .. } => (prepared.kind(), prepared.paths().to_vec()),
            Work::Delegation(asked) => (asked.kind(), Vec::new()),
        };
        EventKind::ToolStarted { call, tool, title, repeatable: self.repeatable(), kind, paths }
    }

    /// Whether it may run beside others.
    fn parallel(&self) -> bool {
        match &self.work {
            Work::Tool { prepared, .. } => prepared.read_only(),
            Work::Delegation(_) => true,
        }
    }

    /// Whether it is a command that can change anything in the workspace. What file tools and merges change is known
    /// exactly.
    fn can_change_anything(&self) -> bool {
        match &self.work {
            Work::Tool { prepared, .. } => prepared.can_change() && prepared.command().is_some(),
            Work::Delegation(_) => false,
        }
    }

    /// Whether doing it twice does nothing twice.
    fn repeatable(&self) -> bool {
        match &self.work {
            Work::Tool { prepared, .. } => prepared.read_only(),
            Work::Delegation(asked) => !asked.changes(),
        }
    }

    fn command(&self) -> Option<String> {
        match &self.work {
            Work::Tool { prepared, .. } => prepared.command(),
            Work::Delegation(_) => None,
        }
    }

    fn title(&self) -> String {
        match &self.work {
            Work::Tool { prepared, routed } => match routed {
                Some(routed) => format!("{routed} ({})", prepared.title()),
                None => prepared.title(),
            },
            Work::Delegation(asked) => asked.title(),
        }
    }
}

/// Runs all calls. One that can change something is on record before it runs; results are, as soon as they are there.
pub(crate) async fn run(
    context: &CallContext<'_>,
    calls: &[ToolCall],
    journal: &mut Journal,
    progressed: &mut TurnProgress,
) -> Result<(), StoreError> {
    let mut batch: Vec<Ready> = Vec::new();
    for call in calls {
        match context.read(call) {
            // What cannot be run today may have run before.
            Err(_) if context.begun.get(&call.id) == Some(&false) => {
                finish(context, journal, progressed, call.id.clone(), &call.name, Answered::unknown());
            }
            Err(outcome) => {
                finish(context, journal, progressed, call.id.clone(), &call.name, Answered::refused(outcome));
            }
            Ok(work) if context.unknown(&call.id, &work) => {
                finish(context, journal, progressed, call.id.clone(), &call.name, Answered::unknown());
            }
            Ok(work) => {
                let mut ready = Ready { call: call.id.clone(), tool: call.name.clone(), work, hooked: None };
                // Agents that are to start together do, however many; readers need threads, which are few.
                let room = batch.len() < PARALLEL_CALLS_MAX || matches!(ready.work, Work::Delegation(_));
                if !(ready.parallel() && room && batch.last().is_none_or(Ready::parallel)) {
                    // Before it is judged: what comes before may write what this would run, or change where paths lead.
                    run_batch(context, std::mem::take(&mut batch), journal, progressed).await?;
                }
                let since = Instant::now();
                let passage = judge(context, call, &mut ready, &mut batch, journal, progressed).await?;
                let answered = match passage {
                    GateOutcome::Free | GateOutcome::Ask(_) => {
                        batch.push(ready);
                        continue;
                    }
                    GateOutcome::Denied(denial, mut outcome) => {
                        outcome.effects.push(Effect::Denied(denial));
                        Answered::refused(outcome)
                    }
                    GateOutcome::Answered(outcome) => Answered::by_person(outcome, since),
                };
                let by_person = answered.ran.is_some();
                finish(context, journal, progressed, call.id.clone(), &call.name, answered);
                if by_person {
                    journal.send();
                }
            }
        }
    }
    run_batch(context, batch, journal, progressed).await
}

/// Lets hooks, the gate and, where it has to be, a person decide about a call.
async fn judge(
    context: &CallContext<'_>,
    call: &ToolCall,
    ready: &mut Ready,
    batch: &mut Vec<Ready>,
    journal: &mut Journal,
    progressed: &mut TurnProgress,
) -> Result<GateOutcome, StoreError> {
    match context.before(call, &ready.work, journal, progressed).await {
        HookedLook::Refused(outcome) => return Ok(outcome),
        HookedLook::Judge(hooked, rewritten) => {
            ready.hooked = hooked;
            rewritten.into_iter().for_each(|work| ready.work = work);
        }
    }
    let (work, hooked) = (&ready.work, ready.hooked.as_deref());
    let undo = context.undo_for(work).await;
    let look = || context.judged(&call.id, work, hooked, context.gate.look(&call.id, work, undo));
    let mut passage = look();
    if let GateOutcome::Ask(_) = passage {
        // A person may take long.
        run_batch(context, std::mem::take(batch), journal, progressed).await?;
        passage = look();
    }
    let GateOutcome::Ask(asks) = passage else { return Ok(passage) };
    let is_free = asks.question.asks.is_some();
    if is_free {
        journal.note(ready.started());
    } else if let Some(decided) =
        context.answered_by_hooks(call, work, hooked, &asks, journal, progressed).await
    {
        return Ok(decided);
    }
    progressed.asking = Some(AskedCall { id: call.id.clone(), is_free });
    let passage = context.gate.ask(&asks, work, journal).await?;
    progressed.asking = None;
    Ok(passage)
}

async fn run_batch(
    context: &CallContext<'_>,
    batch: Vec<Ready>,
    journal: &mut Journal,
    progressed: &mut TurnProgress,
) -> Result<(), StoreError> {
    if !progressed.looked && batch.iter().any(Ready::can_change_anything) {
        progressed.looked = true;
        if let Some(commit) = context.site.history.checkpoint().await {
            journal.note(EventKind::Checkpointed { turn: context.turn, commit });
        }
    }
    for ready in &batch {
        progressed.running.extend(ready.command().map(|command| (ready.call.clone(), command)));
        journal.note(ready.started());
    }
    // What can change something is on record before it does. Reading does not wait for that: if it is quick, its start
    // and its result go on record together. What is delegated goes on record by itself before it runs.
    let alone = !batch.iter().all(Ready::parallel);
    let delegates = batch.iter().any(|ready| matches!(ready.work, Work::Delegation(_)));
    if alone {
        journal.durable().await?;
        if let Some(home) = &context.gate.crew.home {
            // What reaches beyond the checkout cannot be made undone by continuing elsewhere.
            home.may_act(context.gate.reaches_out).await;
        }
    } else if delegates {
        journal.send();
    }
    let mut taking_long = std::pin::pin!(tokio::time::sleep(Duration::from_millis(SHOW_AFTER_MS)));
    let mut shown = alone || delegates;
    // Dropping them, as a cancel does, stops what still runs.
    let mut questions = ServerQuestions::default();
    let run = |ready| Box::pin(run_one(context, ready));
    let mut running = batch
        .into_iter()
        .map(|ready: Ready| run(ready.heard_by(&mut questions, context)))
        .collect::<Vec<_>>();
    while !running.is_empty() {
        tokio::select! {
            biased;
            (call, tool, answered) = first_done(&mut running) => {
                questions.ended(&call, journal);
                progressed.asking.take_if(|asked| asked.id == call);
                finish(context, journal, progressed, call, &tool, answered);
                if shown {
                    journal.send();
                }
            }
            news = questions.next() => {
                questions.handle(news, context.gate, journal).await?;
                let open = questions.open_for().cloned();
                progressed.asking = open.map(|id| AskedCall { id, is_free: true });
            }
            () = &mut taking_long, if !shown => {
                journal.send();
                shown = true;
            }
        }
    }
    Ok(())
}

/// Waits for one of a few futures, and takes it out. They run on this task: what blocks in them has threads of its
/// own, so that tasks of their own would only cost the way there and back.
async fn first_done<F: Future + Unpin>(running: &mut Vec<F>) -> F::Output {
    std::future::poll_fn(|context| {
        for index in 0..running.len() {
            if let Poll::Ready(done) = Pin::new(&mut running[index]).poll(context) {
                drop(running.remove(index));
                return Poll::Ready(done);
            }
        }
        Poll::Pending
    })
    .await
}

async fn run_one(context: &CallContext<'_>, ready: Ready) -> (CallId, String, Answered) {
    let Ready { call, tool, work, hooked } = ready;
    let since = Instant::now();
    let (mut answer, read_only, mut found) = match work {
        Work::Tool { prepared, routed } => {
            let read_only = prepared.read_only();
            let writes = context
                .gate
                .crew
                .approvals
                .track_write(prepared.can_change().then(|| prepared.title()).as_deref());
            let leaves = prepared.wish().act == Act::Leave;
            let (mut outcome, mut found) = run_tool(context, &call, *prepared).await;
            // What a person let out is not watched, and is their own doing.
            found.written.unseen &= !leaves;
            writes.wrote(&outcome.effects, &found.written);
            if let Some(routed) = routed {
                outcome.text = format!("[{routed}]\n{}", outcome.text);
            }
            (CallAnswer { outcome, delivered: Vec::new() }, read_only, found)
        }
        Work::Delegation(asked) => {
            let read_only = !asked.changes();
            (ask(context, *asked).await, read_only, Found::default())
        }
    };
    let duration_ms = since.elapsed().as_millis() as u64;
    let (hooks, more) = context.after(&call, hooked, &mut answer.outcome, duration_ms).await;
    context.gate.crew.approvals.note_written(&more.effects, &more.written);
    answer.outcome.effects.extend_from_slice(&more.effects);
    found.extend(more);
    let ran = Some(Ran { read_only, duration_ms });
    (call, tool, Answered { answer, ran, found, hooks })
}

async fn ask(context: &CallContext<'_>, asked: DelegationCall) -> CallAnswer {
    match context.delegation {
        Some(delegation) => delegation.carry_out(asked).await,
        None => CallAnswer::error("Delegation is off in this session."),
    }
}

/// Runs a tool, and keeps what it changed. What a command changed is found out by looking before and after.
async fn run_tool(context: &CallContext<'_>, call: &CallId, prepared: Prepared) -> (ToolOutcome, Found) {
    let history = &context.site.history;
    let run = |prepared| foreground::run(&context.gate.crew, context.gate.agent, call, prepared);
    if !prepared.can_change() {
        return (run(prepared).await, Found::default());
    }
    if prepared.command().is_none() {
        let writing = prepared.place().map(|place| history.begin_file_write(place));
        lock(&context.unfinished.writes).push((prepared.rewrites(), writing));
        let mut outcome = prepared.run().await;
        let mut found = context.unfinished.changes(context.site).await;
        outcome.effects.append(&mut found.effects);
        return (outcome, found);
    }
    let running = history.begin_command(context.gate.approval).await;
    if prepared.goes_on() {
        // What it changes is looked for when it ends; from its start on it counts by itself.
        return (prepared.run().await, Found::default());
    }
    lock(&context.unfinished.commands).push((running, prepared.running()));
    let mut outcome = run(prepared).await;
    let mut found = context.unfinished.changes(context.site).await;
    // What it changed comes before it: what comes after a command that ran tests was not tested by it.
    outcome.effects.splice(0..0, found.effects.drain(..));
    for refused in &found.refused {
        outcome.text.push_str(&format!("\n({refused}.)"));
    }
    outcome.effects.extend(denied(&context.gate.name, &found.refused));
    (outcome, found)
}

/// What a command was not to write, for the receipt.
pub(crate) fn denied(agent: &str, refused: &[Refused]) -> impl Iterator<Item = Effect> {
    refused.iter().map(move |one| {
        let (agent, tool, what) = (agent.to_string(), "shell".to_string(), one.path.clone());
        Effect::Denied(Denial { agent, tool, what, reason: one.to_string() })
    })
}

/// What one call came to.
struct Answered {
    answer: CallAnswer,
    /// None if it was refused.
    ran: Option<Ran>,
    found: Found,
    /// Hooks that heard of it.
    hooks: Vec<EventKind>,
}

impl Answered {
    fn refused(outcome: ToolOutcome) -> Self {
        Self {
            answer: CallAnswer { outcome, delivered: Vec::new() },
            ran: None,
            found: Found::default(),
            hooks: Vec::new(),
        }
    }

    /// It was a question.
    fn by_person(outcome: ToolOutcome, since: Instant) -> Self {
        let ran = Some(Ran { read_only: true, duration_ms: since.elapsed().as_millis() as u64 });
        Self {
            answer: CallAnswer { outcome, delivered: Vec::new() },
            ran,
            found: Found::default(),
            hooks: Vec::new(),
        }
    }

    /// It ran in a process that is gone.
    fn unknown() -> Self {
        let ran = Some(Ran { read_only: false, duration_ms: 0 });
        Self { answer: CallAnswer::error(RESULT_UNKNOWN), ran, found: Found::default(), hooks: Vec::new() }
    }
}

#[derive(Clone, Copy)]
struct Ran {
    read_only: bool,
    duration_ms: u64,
}

fn finish(
    context: &CallContext<'_>,
    journal: &mut Journal,
    progressed: &mut TurnProgress,
    call: CallId,
    tool: &str,
    answered: Answered,
) {
    let Answered { answer: CallAnswer { outcome, delivered }, ran, found, hooks } = answered;
    let ToolOutcome { ok, text, effects, attachments } = outcome;
    progressed.running.retain(|(running, _)| *running != call);
    progressed.effects.extend_from_slice(&effects);
    progressed.done.push(Done {
        id: call.clone(),
        ok,
        text: text.clone(),
        attachments: attachments.clone(),
        ran: ran.is_some(),
        read_only: ran.is_none_or(|ran| ran.read_only),
    });
    let duration_ms = ran.map_or(0, |ran| ran.duration_ms);
    let tool = tool.to_string();
    note_delivered(journal, delivered);
    found.into_events(context.turn).chain(hooks).for_each(|kind| journal.note(kind));
    journal.note(EventKind::ToolFinished { call, tool, ok, text, attachments, effects, duration_ms });
}

/// Says whose reports the next words or the next result hold.
fn note_delivered(journal: &mut Journal, agents: Vec<AgentId>) {
    if !agents.is_empty() {
        journal.note(EventKind::ReportsDelivered { agents });
    }
}
