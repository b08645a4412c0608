//! Runs the calls of one turn: those that only read at the same time, the others one by one, in order.

use std::time::Instant;

use posse_agent::Done;
use posse_protocol::{CallId, Effect, EventKind, ToolCall, ToolOutcome};
use posse_store::StoreError;
use posse_tools::{Prepared, Toolbox};
use tokio::task::JoinSet;

use crate::journal::Journal;
use crate::limits::PARALLEL_CALLS_MAX;

/// What the calls of one turn have come to so far. Outlives the future that fills it, so that what was done before
/// a cancel is not forgotten.
#[derive(Default)]
pub(crate) struct Progressed {
    pub(crate) done: Vec<Done>,
    pub(crate) effects: Vec<Effect>,
}

struct Ready {
    call: CallId,
    tool: String,
    prepared: Prepared,
}

/// Runs all calls. Each is on record before it runs, and its result as soon as it is there.
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
    mut batch: Vec<Ready>,
    journal: &mut Journal,
    progressed: &mut Progressed,
) -> Result<(), StoreError> {
    if batch.is_empty() {
        return Ok(());
    }
    for ready in &batch {
        let (call, tool, title) = (ready.call.clone(), ready.tool.clone(), ready.prepared.title());
        journal.note(EventKind::ToolStarted { call, tool, title });
    }
    journal.durable().await?;
    if batch.len() == 1
        && let Some(only) = batch.pop()
    {
        let (call, tool, outcome, ran) = run_one(only).await;
        finish(journal, progressed, call, &tool, outcome, Some(ran));
        return Ok(());
    }
    // Dropping the set, as a cancel does, aborts what still runs.
    let mut running = batch.into_iter().map(run_one).collect::<JoinSet<_>>();
    while let Some(joined) = running.join_next().await {
        // A task that panicked is answered by the agent machine as not answered.
        if let Ok((call, tool, outcome, ran)) = joined {
            finish(journal, progressed, call, &tool, outcome, Some(ran));
            journal.send();
        }
    }
    Ok(())
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
