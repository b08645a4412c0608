//! Runs the calls of one turn: those that only read at the same time, the others one by one, in order.

use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use posse_agent::Done;
use posse_protocol::{CallId, CommandRun, Effect, EventKind, ToolCall, ToolOutcome};
use posse_store::StoreError;
use posse_tools::{Prepared, Toolbox};

use crate::journal::Journal;
use crate::limits::{PARALLEL_CALLS_MAX, SHOW_AFTER_MS};

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
    /// Counts what still ran when everything was stopped: a command that was killed did run.
    pub(crate) fn stopped(&mut self) {
        for (_, command) in std::mem::take(&mut self.running) {
            self.effects.push(Effect::Command(CommandRun { command, exit_code: None, tests: None }));
        }
    }
}

struct Ready {
    call: CallId,
    tool: String,
    prepared: Prepared,
}

/// Runs all calls. One that can change something is on record before it runs; results are, as soon as they are there.
pub(crate) async fn run(
    toolbox: &Toolbox,
    calls: &[ToolCall],
    journal: &mut Journal,
    progressed: &mut Progressed,
) -> Result<(), StoreError> {
    let mut batch: Vec<Ready> = Vec::new();
    for call in calls {
        match toolbox.prepare(call) {
            Err(outcome) => finish(journal, progressed, call.id.clone(), &call.name, outcome, None),
            Ok(prepared) => {
                let together = prepared.read_only()
                    && batch.len() < PARALLEL_CALLS_MAX
                    && batch.last().is_none_or(|ready| ready.prepared.read_only());
                if !together {
                    run_batch(std::mem::take(&mut batch), journal, progressed).await?;
                }
                batch.push(Ready { call: call.id.clone(), tool: call.name.clone(), prepared });
            }
        }
    }
    run_batch(batch, journal, progressed).await
}

async fn run_batch(
    batch: Vec<Ready>,
    journal: &mut Journal,
    progressed: &mut Progressed,
) -> Result<(), StoreError> {
    for ready in &batch {
        let (call, tool, title) = (ready.call.clone(), ready.tool.clone(), ready.prepared.title());
        progressed.running.extend(ready.prepared.command().map(|command| (call.clone(), command)));
        journal.note(EventKind::ToolStarted { call, tool, title });
    }
    // What can change something is on record before it does. Reading does not wait for that: if it is quick, its start
    // and its result go on record together.
    let reading = batch.iter().all(|ready| ready.prepared.read_only());
    if !reading {
        journal.durable().await?;
    }
    let mut taking_long = std::pin::pin!(tokio::time::sleep(Duration::from_millis(SHOW_AFTER_MS)));
    let mut shown = !reading;
    // Dropping them, as a cancel does, stops what still runs.
    let mut running = batch.into_iter().map(|ready| Box::pin(run_one(ready))).collect::<Vec<_>>();
    while !running.is_empty() {
        tokio::select! {
            biased;
            (call, tool, outcome, ran) = first_done(&mut running) => {
                finish(journal, progressed, call, &tool, outcome, Some(ran));
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

async fn run_one(ready: Ready) -> (CallId, String, ToolOutcome, Ran) {
    let Ready { call, tool, prepared } = ready;
    let (since, read_only) = (Instant::now(), prepared.read_only());
    let outcome = prepared.run().await;
    (call, tool, outcome, Ran { read_only, duration_ms: since.elapsed().as_millis() as u64 })
}

#[derive(Clone, Copy)]
struct Ran {
    read_only: bool,
    duration_ms: u64,
}

fn finish(
    journal: &mut Journal,
    progressed: &mut Progressed,
    call: CallId,
    tool: &str,
    outcome: ToolOutcome,
    ran: Option<Ran>,
) {
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
    journal.note(EventKind::ToolFinished { call, tool, ok, text, effects, duration_ms });
}
