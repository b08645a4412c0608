//! Runs the calls of one turn: those that only read or delegate at the same time, the others one by one, in order.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use posse_agent::Done;
use posse_protocol::{AgentId, CallId, CommandRun, Effect, EventKind, ToolCall, ToolOutcome};
use posse_store::StoreError;
use posse_tools::{Prepared, Toolbox};

use crate::context::Snapshot;
use crate::desk::{Answer, Asked, Desk, Work};
use crate::journal::Journal;
use crate::limits::{PARALLEL_CALLS_MAX, SHOW_AFTER_MS};
use crate::measure::Measure;

/// What the calls of one turn have come to so far. Outlives the future that fills it, so that what was done before
/// a cancel is not forgotten.
#[derive(Default)]
pub(crate) struct Progressed {
    pub(crate) done: Vec<Done>,
    pub(crate) effects: Vec<Effect>,
    /// Commands that were started and have not ended.
    running: Vec<(CallId, String)>,
}

impl Progressed {
    /// Counts what still ran when everything was stopped: a command that was killed did run. True if there was one.
    pub(crate) fn stopped(&mut self) -> bool {
        let any = !self.running.is_empty();
        for (_, command) in std::mem::take(&mut self.running) {
            self.effects.push(Effect::Command(CommandRun { command, exit_code: None, tests: None }));
        }
        any
    }
}

/// Where the calls of an agent go.
pub(crate) struct Kit<'a> {
    pub(crate) toolbox: &'a Toolbox,
    pub(crate) desk: Option<&'a Desk>,
    pub(crate) measure: &'a Measure,
    /// The conversation, where a call may want to hand it on.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
}

impl Kit<'_> {
    fn read(&self, call: &ToolCall) -> Result<Work, ToolOutcome> {
        match self.desk {
            Some(desk) if desk.owns(call) => desk.read(call, self.toolbox, self.snapshot.clone()),
            _ => Ok(Work::Tool { prepared: self.toolbox.prepare(call)?, routed: None }),
        }
    }
}

struct Ready {
    call: CallId,
    tool: String,
    work: Work,
}

impl Ready {
    /// Whether it may run beside others.
    fn parallel(&self) -> bool {
        match &self.work {
            Work::Tool { prepared, .. } => prepared.read_only(),
            Work::Asked(_) => true,
        }
    }

    fn command(&self) -> Option<String> {
        match &self.work {
            Work::Tool { prepared, .. } => prepared.command(),
            Work::Asked(_) => None,
        }
    }

    fn title(&self) -> String {
        match &self.work {
            Work::Tool { prepared, routed } => match routed {
                Some(routed) => format!("{routed} ({})", prepared.title()),
                None => prepared.title(),
            },
            Work::Asked(asked) => asked.title(),
        }
    }
}

/// Runs all calls. One that can change something is on record before it runs; results are, as soon as they are there.
pub(crate) async fn run(
    kit: &Kit<'_>,
    calls: &[ToolCall],
    journal: &mut Journal,
    progressed: &mut Progressed,
) -> Result<(), StoreError> {
    let mut batch: Vec<Ready> = Vec::new();
    for call in calls {
        match kit.read(call) {
            Err(outcome) => {
                finish(journal, progressed, call.id.clone(), &call.name, Answered::refused(outcome));
            }
            Ok(work) => {
                let ready = Ready { call: call.id.clone(), tool: call.name.clone(), work };
                // Agents that are to start together do, however many; readers need threads, which are few.
                let room = batch.len() < PARALLEL_CALLS_MAX || matches!(ready.work, Work::Asked(_));
                let together = ready.parallel() && room && batch.last().is_none_or(Ready::parallel);
                if !together {
                    run_batch(kit, std::mem::take(&mut batch), journal, progressed).await?;
                }
                batch.push(ready);
            }
        }
    }
    run_batch(kit, batch, journal, progressed).await
}

async fn run_batch(
    kit: &Kit<'_>,
    batch: Vec<Ready>,
    journal: &mut Journal,
    progressed: &mut Progressed,
) -> Result<(), StoreError> {
    for ready in &batch {
        let (call, tool, title) = (ready.call.clone(), ready.tool.clone(), ready.title());
        progressed.running.extend(ready.command().map(|command| (call.clone(), command)));
        journal.note(EventKind::ToolStarted { call, tool, title });
    }
    // What can change something is on record before it does. Reading does not wait for that: if it is quick, its start
    // and its result go on record together. What is delegated goes on record by itself before it runs.
    let alone = !batch.iter().all(Ready::parallel);
    let delegates = batch.iter().any(|ready| matches!(ready.work, Work::Asked(_)));
    if alone {
        journal.durable().await?;
    } else if delegates {
        journal.send();
    }
    let mut taking_long = std::pin::pin!(tokio::time::sleep(Duration::from_millis(SHOW_AFTER_MS)));
    let mut shown = alone || delegates;
    // Dropping them, as a cancel does, stops what still runs.
    let mut running = batch.into_iter().map(|ready| Box::pin(run_one(kit, ready))).collect::<Vec<_>>();
    while !running.is_empty() {
        tokio::select! {
            biased;
            (call, tool, answered) = first_done(&mut running) => {
                finish(journal, progressed, call, &tool, answered);
                if shown {
                    journal.send();
                }
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

async fn run_one(kit: &Kit<'_>, ready: Ready) -> (CallId, String, Answered) {
    let Ready { call, tool, work } = ready;
    let since = Instant::now();
    let (answer, read_only) = match work {
        Work::Tool { prepared, routed } => {
            let read_only = prepared.read_only();
            let mut outcome = run_tool(kit, prepared).await;
            if let Some(routed) = routed {
                outcome.text = format!("[{routed}]\n{}", outcome.text);
            }
            (Answer { outcome, delivered: Vec::new() }, read_only)
        }
        Work::Asked(asked) => {
            let read_only = !asked.changes();
            (ask(kit, *asked).await, read_only)
        }
    };
    let ran = Some(Ran { read_only, duration_ms: since.elapsed().as_millis() as u64 });
    (call, tool, Answered { answer, ran })
}

async fn ask(kit: &Kit<'_>, asked: Asked) -> Answer {
    match kit.desk {
        Some(desk) => desk.carry_out(asked).await,
        None => Answer::error("Delegation is off in this session."),
    }
}

/// Runs a tool. What a command changed is found out by looking at the workspace before and after.
async fn run_tool(kit: &Kit<'_>, prepared: Prepared) -> ToolOutcome {
    if prepared.command().is_none() {
        let outcome = prepared.run().await;
        kit.measure.note(&outcome.effects);
        return outcome;
    }
    let running = kit.measure.before().await;
    let mut outcome = prepared.run().await;
    drop(running);
    outcome.effects.extend(kit.measure.after().await.into_iter().map(Effect::File));
    outcome
}

/// What one call came to.
struct Answered {
    answer: Answer,
    /// None if it was refused.
    ran: Option<Ran>,
}

impl Answered {
    fn refused(outcome: ToolOutcome) -> Self {
        Self { answer: Answer { outcome, delivered: Vec::new() }, ran: None }
    }
}

#[derive(Clone, Copy)]
struct Ran {
    read_only: bool,
    duration_ms: u64,
}

fn finish(journal: &mut Journal, progressed: &mut Progressed, call: CallId, tool: &str, answered: Answered) {
    let Answered { answer: Answer { outcome, delivered }, ran } = answered;
    let ToolOutcome { ok, text, effects } = outcome;
    progressed.running.retain(|(running, _)| *running != call);
    progressed.effects.extend_from_slice(&effects);
    progressed.done.push(Done {
        id: call.clone(),
        ok,
        text: text.clone(),
        ran: ran.is_some(),
        read_only: ran.is_none_or(|ran| ran.read_only),
    });
    let duration_ms = ran.map_or(0, |ran| ran.duration_ms);
    let tool = tool.to_string();
    note_delivered(journal, delivered);
    journal.note(EventKind::ToolFinished { call, tool, ok, text, effects, duration_ms });
}

/// Says whose reports the next words or the next result hold.
pub(crate) fn note_delivered(journal: &mut Journal, agents: Vec<AgentId>) {
    if !agents.is_empty() {
        journal.note(EventKind::ReportsDelivered { agents });
    }
}
