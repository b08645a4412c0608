//! A command that the person typed, run as the main agent would run it, without a session: the same rules, grant, sandbox and
//! environment. What an agent would only be asked about runs, because the person asks for it; it never leaves the sandbox.
//!
//! Nobody looks at the workspace before and after, so undo knows nothing of what it changes.

use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use posse_policy::{Decision, Rules, Undo, judge_with};
use posse_protocol::{AgentId, CallId, Effect, Grant, ToolCall, ToolOutcome};
use posse_tools::{Jobs, Knowledge, LiveOutput, Prepared, ToolSettings, Toolbox};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::knowledge::skill_files::{SkillFolder, find_skills, places};
use crate::limits::{OUTPUT_PART_BYTES_MAX, OUTPUT_TICK_MS};
use crate::session::opening::ConfinedTools;

/// The tool that runs it.
const TOOL: &str = "shell";

/// A command line, and what it may do.
#[derive(Clone, Debug)]
pub struct TypedCommand {
    /// For the shell.
    pub command: String,
    /// The folder it runs in.
    pub workspace: PathBuf,
    /// What the main agent may do, in the mode that is meant.
    pub grant: Grant,
    /// How commands run.
    pub tools: ToolSettings,
    /// What is denied, whatever the mode.
    pub rules: Rules,
    /// Where skills are: commands may read those.
    pub skills: Vec<SkillFolder>,
    /// When it is stopped; at most as late as the settings allow.
    pub deadline_ms: u64,
}

/// What came of a command that was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedOutcome {
    /// It ran.
    Ran {
        /// Its code; none if a signal or the deadline ended it.
        exit_code: Option<i32>,
        /// How it ended, in words.
        ending: String,
        /// What it wrote, with a line that says what is left out, and what the reader should know about the sandbox.
        output: String,
    },
    /// It did not run, for this reason.
    Refused(String),
    /// It was stopped because somebody said so.
    Cancelled,
}

/// Runs it to its end. `on_output` is given what it writes meanwhile, a few times a second, bounded.
pub async fn run_typed(
    typed: TypedCommand,
    cancel: &CancellationToken,
    on_output: impl FnMut(String),
) -> TypedOutcome {
    let prepared = match tokio::task::spawn_blocking(move || prepare(typed)).await {
        Ok(Ok(prepared)) => prepared,
        Ok(Err(reason)) => return TypedOutcome::Refused(reason),
        Err(error) => return TypedOutcome::Refused(error.to_string()),
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => TypedOutcome::Cancelled,
        outcome = watched(prepared, on_output) => told(outcome),
    }
}

/// Checks it against grant and rules. Nothing runs here.
fn prepare(typed: TypedCommand) -> Result<Prepared, String> {
    let TypedCommand { command, workspace, grant, tools, rules, skills, deadline_ms } = typed;
    let confined = ConfinedTools::of(tools, &rules, &workspace).map_err(|error| error.to_string())?;
    let mut tools = confined.tools;
    let skills = skills.into_iter().map(|folder| SkillFolder { hides: confined.hides.clone(), ..folder });
    let skills = skills.collect::<Vec<_>>();
    tools.sandbox.readable.extend(places(&skills, &find_skills(&skills)));
    let (approval, nobody) = (grant.approval, AgentId::from(Uuid::nil()));
    let toolbox =
        Toolbox::new(&confined.workspace, grant, tools, nobody, Jobs::default(), Knowledge::default());
    let arguments = serde_json::json!({ "command": command, "timeout_ms": deadline_ms }).to_string();
    let call = ToolCall { id: CallId(TOOL.to_owned()), name: TOOL.to_owned(), arguments };
    let prepared = toolbox.prepare(&call).map_err(|refused| refused.text)?;
    match judge_with(approval, &rules, &prepared.wish(), Undo::Holds) {
        // Behind the reason an agent is told what to do instead.
        Decision::Deny(reason) => Err(reason.split("; ").next().unwrap_or(&reason).to_owned()),
        // The person has typed it.
        Decision::Allow | Decision::Ask(_) => Ok(prepared),
    }
}

/// Runs it. Dropping this stops it, with all that it started.
async fn watched(prepared: Prepared, mut on_output: impl FnMut(String)) -> ToolOutcome {
    let tick = Duration::from_millis(OUTPUT_TICK_MS);
    let mut output = LiveOutput::of(prepared.running());
    let mut ticks = interval_at(Instant::now() + tick, tick);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut running = pin!(prepared.run());
    loop {
        tokio::select! {
            biased;
            outcome = &mut running => return outcome,
            _ = ticks.tick() => output.next(OUTPUT_PART_BYTES_MAX).into_iter().for_each(&mut on_output),
        }
    }
}

fn told(outcome: ToolOutcome) -> TypedOutcome {
    let run = outcome.effects.iter().find_map(|effect| match effect {
        Effect::Command(run) => Some(run.exit_code),
        _ => None,
    });
    let Some(exit_code) = run else { return TypedOutcome::Refused(outcome.text) };
    let (ending, output) = outcome.text.split_once('\n').unwrap_or((&outcome.text, ""));
    TypedOutcome::Ran { exit_code, ending: ending.to_owned(), output: output.to_owned() }
}
