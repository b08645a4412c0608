//! The `prompt_rows` table: one row a prompt, from the moment its agent is admitted, or is given it, until that agent
//! settles. The view `messages` shows it, in the words of the design that asked for that table.
//!
//! Work is counted under the newest prompt. A prompt given while an earlier one is still open does not close it: both
//! are answered when the agent settles.

use posse_protocol::clip::clipped;
use posse_protocol::{Budget, Ending, Report, TestRun};
use serde::Serialize;

use super::agent_figures::AgentFigures;
use super::figures::{first_paragraph, moment, whole};
use super::{Change, tool_calls};
use crate::{StoreError, limits};

/// What an agent starts with.
pub(super) struct BegunAgent<'a> {
    pub(super) role: &'a str,
    pub(super) depth: u32,
    pub(super) model: &'a str,
    pub(super) model_id: &'a str,
    pub(super) budget: &'a Budget,
    pub(super) system: &'a str,
}

/// An agent is admitted with these words and waits to be given them.
pub(super) fn pending(change: &Change<'_>, agent: &mut AgentFigures, words: &str) -> Result<(), StoreError> {
    insert(change, agent, words, Some("pending"))
}

/// A prompt is given: the one the agent was admitted with, or another.
pub(super) fn opened(change: &Change<'_>, agent: &mut AgentFigures, text: &str) -> Result<(), StoreError> {
    let waited = change.run(
        "UPDATE prompt_rows SET told = 1, seq = ?2, started_at = strftime('%Y-%m-%dT%H:%M:%fZ', ?3 / 1000.0, 'unixepoch'),
           request_content = ?4, status = 'running'
         WHERE id = ?1 AND told = 0",
        (agent.message, change.seq, moment(change.event.at_ms), text),
    )?;
    if waited == 0 {
        insert(change, agent, text, None)?;
    }
    Ok(())
}

/// The agent begins: what only its start tells is known now.
pub(super) fn begun(
    change: &Change<'_>,
    agent: &AgentFigures,
    start: &BegunAgent<'_>,
    system_prompt_id: &str,
) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE prompt_rows SET status = 'running', model_id = ?2, system_prompt_id = ?3, max_iterations = ?4,
               max_duration_ms = ?5
             WHERE id = ?1 AND told = 0 AND completed_at IS NULL",
            (
                agent.message,
                start.model_id,
                system_prompt_id,
                start.budget.turns,
                start.budget.time_ms.map(whole),
            ),
        )
        .map(drop)
}

/// `status`: that of a prompt which waits to be given; one that is given now runs.
fn insert(
    change: &Change<'_>,
    agent: &mut AgentFigures,
    text: &str,
    status: Option<&str>,
) -> Result<(), StoreError> {
    change.run(
        "INSERT INTO prompt_rows (agent, session_id, agent_id, seq, parent_message_id, started_at, agent_role, agent_depth,
           model_id, system_prompt_id, request_type, request_content, context_mode, max_iterations, max_duration_ms,
           status, told)
         SELECT a.number, a.session_id, a.id, ?2,
           (SELECT f.message_id FROM agent_rows p JOIN agent_figures f ON f.agent = p.number
            WHERE p.session_id = a.session_id AND p.id = a.parent_id),
           strftime('%Y-%m-%dT%H:%M:%fZ', ?3 / 1000.0, 'unixepoch'), a.role, a.depth,
           coalesce(a.model_id, ''), coalesce(a.system_prompt_id, ''),
           CASE WHEN coalesce(?6, a.continues_id) IS NOT NULL THEN 'continuation'
                WHEN a.depth > 0 THEN 'delegation' ELSE 'prompt' END,
           ?4, coalesce(a.context_mode, 'full'), a.budget_turns, a.budget_time_ms,
           coalesce(?5, 'running'), ?5 IS NULL
         FROM agent_rows a WHERE a.number = ?1",
        (agent.number, change.seq, moment(change.event.at_ms), text, status, agent.message),
    )?;
    agent.turn_to(change.sql, change.sql.connection.last_insert_rowid())
}

/// Words that are no prompt are part of the work on the prompt before. Where that is done, they are what the agent
/// works on next.
pub(super) fn woken(change: &Change<'_>, agent: &mut AgentFigures, text: &str) -> Result<bool, StoreError> {
    let done: Option<bool> =
        change.ask("SELECT completed_at IS NOT NULL FROM prompt_rows WHERE id = ?1", (agent.message,))?;
    if done == Some(true) {
        opened(change, agent, text)?;
    }
    Ok(done == Some(true))
}

pub(super) fn compacted(change: &Change<'_>, agent: &AgentFigures) -> Result<(), StoreError> {
    change.run("UPDATE prompt_rows SET context_mode = 'summary' WHERE id = ?1", (agent.message,)).map(drop)
}

/// What had arrived of a reply stands in for an answer until a better one comes.
pub(super) fn cut_short(change: &Change<'_>, agent: &AgentFigures, text: &str) -> Result<(), StoreError> {
    if text.trim().is_empty() {
        return Ok(());
    }
    let summary = first_paragraph(text, limits::SUMMARY_CHARS_MAX);
    change
        .run(
            "UPDATE prompt_rows SET response_content = ?2, response_summary = ?3
             WHERE id = ?1 AND completed_at IS NULL",
            (agent.message, text, summary),
        )
        .map(drop)
}

/// A prompt that is not completed.
struct OpenPrompt {
    id: i64,
    seq: i64,
    requested_model: Option<String>,
}

/// Completes every open prompt of the agent. One after the other by its id: what changes many rows at once, or reads and
/// sorts within one statement, makes SQLite set up a table for the while, which takes longer than all the rest.
pub(super) fn settled(change: &Change<'_>, agent: &AgentFigures, report: &Report) -> Result<(), StoreError> {
    let open = change.sql.ask_rows(
        "SELECT p.id, p.seq, a.requested_model FROM prompt_rows p JOIN agent_rows a ON a.number = p.agent
         WHERE p.agent = ?1 AND p.completed_at IS NULL",
        (agent.number,),
        |row| Ok(OpenPrompt { id: row.get(0)?, seq: row.get(1)?, requested_model: row.get(2)? }),
    )?;
    open.iter().try_for_each(|prompt| complete(change, agent, prompt, report))
}

fn complete(
    change: &Change<'_>,
    agent: &AgentFigures,
    prompt: &OpenPrompt,
    report: &Report,
) -> Result<(), StoreError> {
    let text = Some(report.text.as_str()).filter(|text| !text.trim().is_empty());
    let calls = tool_calls::since(change.sql, agent, prompt.id, prompt.seq)?;
    change
        .run(
            "UPDATE prompt_rows SET
               completed_at = strftime('%Y-%m-%dT%H:%M:%fZ', ?2 / 1000.0, 'unixepoch'),
               duration_ms = max(0, ?2 - CAST(round(unixepoch(started_at, 'subsec') * 1000) AS INTEGER)),
               response_content = coalesce(?3, response_content, ''),
               response_summary = coalesce(?4, response_summary, ?5), files_modified_json = ?6,
               bailout_reason = ?7, status = ?8, error_message = ?9, metadata_json = ?10, tool_calls_json = ?11
             WHERE id = ?1",
            (
                prompt.id,
                moment(change.event.at_ms),
                text,
                text.map(|_| clipped(posse_report::summary(report).trim(), limits::SUMMARY_CHARS_MAX)),
                report.ending.to_string(),
                json(&report.receipt.files),
                bailout_reason(&report.ending),
                status(&report.ending),
                report.ending.error_message(),
                json(&Metadata::of(report, prompt.requested_model.as_deref())),
                json(&calls),
            ),
        )
        .map(drop)
}

/// What has no column of its own.
#[derive(Serialize)]
struct Metadata<'a> {
    /// Time worked, without waiting for a person.
    worked_ms: u64,
    cost_usd: Option<f64>,
    cached_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
    tool_calls: u32,
    commands: u32,
    tests: Option<TestRun>,
    warnings: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    /// The agent and everything below it.
    subtree: Subtree,
    requested_model: Option<&'a str>,
}

#[derive(Serialize)]
struct Subtree {
    agents: u32,
    turns: u32,
    tool_calls: u32,
    tokens: Option<u64>,
    cost_usd: Option<f64>,
}

impl<'a> Metadata<'a> {
    fn of(report: &'a Report, requested_model: Option<&'a str>) -> Self {
        let receipt = &report.receipt;
        let below = receipt.below;
        Self {
            worked_ms: receipt.duration_ms,
            cost_usd: receipt.cost_usd,
            cached_tokens: receipt.usage.cached_tokens,
            reasoning_tokens: receipt.usage.reasoning_tokens,
            tool_calls: receipt.tool_calls,
            commands: receipt.commands_total,
            tests: receipt.tests.as_ref().and_then(|tests| tests.counts),
            warnings: &report.warnings,
            notes: &report.notes,
            subtree: Subtree {
                agents: below.agents.saturating_add(1),
                turns: receipt.turns.saturating_add(below.turns),
                tool_calls: receipt.tool_calls.saturating_add(below.tool_calls),
                tokens: receipt.tokens_in_all(),
                cost_usd: receipt.cost_in_all(),
            },
            requested_model,
        }
    }
}

/// Plain data is always expressible; if not, the column is empty rather than wrong.
fn json(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}

/// How it ended, by the design's word where it has one.
fn status(ending: &Ending) -> &'static str {
    if *ending == Ending::TimedOut { "timeout" } else { ending.word() }
}

/// Why the agent stopped before it was done; none if it was done.
fn bailout_reason(ending: &Ending) -> Option<&'static str> {
    match ending {
        Ending::Completed => None,
        Ending::Failed { .. } => Some("error"),
        Ending::Cancelled => Some("cancelled"),
        Ending::Interrupted { .. } => Some("interrupted"),
        Ending::TimedOut => Some("timeout"),
        Ending::OutOfTurns => Some("max_iterations"),
        Ending::OutOfTokens => Some("max_tokens"),
        Ending::OutOfMoney => Some("max_cost"),
        Ending::Refused => Some("refused"),
    }
}
