//! Runs a command in the foreground: what it writes is shown meanwhile, and a person can move it to the background.

use std::pin::pin;
use std::time::Duration;

use posse_protocol::{AgentId, CallId, Progress, ProgressKind, ToolOutcome, Update};
use posse_tools::{LiveOutput, Prepared};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::crew::Crew;
use crate::limits::{OUTPUT_BEHIND_MAX, OUTPUT_PART_BYTES_MAX, OUTPUT_TICK_MS};
use crate::record::channel::UpdateSender;

const TICK: Duration = Duration::from_millis(OUTPUT_TICK_MS);

/// Runs a tool to its end. Dropping it stops it.
pub(crate) async fn run(crew: &Crew, agent: AgentId, call: &CallId, prepared: Prepared) -> ToolOutcome {
    if prepared.command().is_none() || prepared.goes_on() {
        return prepared.run().await;
    }
    let command = prepared.running();
    let _movable = crew.background.movable(agent, call, command.clone());
    let mut output = LiveOutput::of(command);
    let mut ticks = interval_at(Instant::now() + TICK, TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut running = pin!(prepared.run());
    loop {
        tokio::select! {
            biased;
            outcome = &mut running => return outcome,
            _ = ticks.tick() => show(&crew.updates, agent, call, &mut output),
        }
    }
}

/// Shows what is new, if somebody follows and keeps up.
fn show(updates: &UpdateSender, agent: AgentId, call: &CallId, output: &mut LiveOutput) {
    if !updates.has_readers() || updates.len() > OUTPUT_BEHIND_MAX {
        return;
    }
    if let Some(text) = output.next(OUTPUT_PART_BYTES_MAX) {
        let kind = ProgressKind::Output { call: call.clone(), text };
        // Nobody may be left by now.
        updates.send(Update::Progress(Progress { agent, kind }));
    }
}
