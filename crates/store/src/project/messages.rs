//! The `prompts` table: one row a prompt, from the moment its agent is admitted, or is given it, until that agent
//! settles. The view `messages` shows it, in the words of the design that asked for that table.
//!
//! Work is counted under the newest prompt. A prompt given while an earlier one is still open does not close it: both
//! are answered when the agent settles.

use posse_protocol::{Ending, Report, TestRun};
use serde::Serialize;

use super::agents::error_message;
use super::figures::{first_paragraph, moment, shortened, whole};
use super::tally::AgentTally;
use super::{Change, Sql};
use crate::{StoreError, limits};

/// An agent is admitted with these words and waits to be given them.
pub(super) fn pending(change: &Change<'_>, words: &str) -> Result<(), StoreError> {
    insert(change, words, Some("pending"))
}

/// A prompt is given: the one the agent was admitted with, or another.
pub(super) fn opened(change: &Change<'_>, text: &str) -> Result<(), StoreError> {
    let waited = change.run(
        "UPDATE prompts SET told = 1, seq = ?3, started_at = strftime('%Y-%m-%dT%H:%M:%fZ', ?4 / 1000.0, 'unixepoch'),
           request_content = ?5, status = 'running'
         WHERE id = (SELECT message_id FROM agents WHERE session_id = ?1 AND id = ?2) AND told = 0",
        (&change.session, &change.agent, change.seq, moment(change.event.at_ms), text),
    )?;
    if waited > 0 { reopened(change) } else { insert(change, text, None) }
}

/// The agent begins: what only its start tells is known now.
pub(super) fn begun(change: &Change<'_>) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE prompts SET status = 'running', model_id = a.model_id, system_prompt_id = a.system_prompt_id,
               max_iterations = a.budget_turns, max_duration_ms = a.budget_time_ms
             FROM agents a
             WHERE a.session_id = ?1 AND a.id = ?2 AND prompts.id = a.message_id AND told = 0 AND completed_at IS NULL",
            (&change.session, &change.agent),
        )
        .map(drop)
}

/// `status`: that of a prompt which waits to be given; one that is given now runs.
fn insert(change: &Change<'_>, text: &str, status: Option<&str>) -> Result<(), StoreError> {
    change.run(
        "INSERT INTO prompts (session_id, agent_id, seq, parent_message_id, started_at, agent_role, agent_depth,
           model_id, system_prompt_id, request_type, request_content, context_mode, max_iterations, max_duration_ms,
           status, told)
         SELECT a.session_id, a.id, ?3,
           (SELECT p.message_id FROM agents p WHERE p.session_id = a.session_id AND p.id = a.parent_id),
           strftime('%Y-%m-%dT%H:%M:%fZ', ?4 / 1000.0, 'unixepoch'), a.role, a.depth,
           coalesce(a.model_id, ''), coalesce(a.system_prompt_id, ''),
           CASE WHEN coalesce(a.message_id, a.continues_id) IS NOT NULL THEN 'continuation'
                WHEN a.depth > 0 THEN 'delegation' ELSE 'prompt' END,
           ?5, coalesce(a.context_mode, 'full'), a.budget_turns, a.budget_time_ms,
           coalesce(?6, 'running'), ?6 IS NULL
         FROM agents a WHERE a.session_id = ?1 AND a.id = ?2",
        (&change.session, &change.agent, change.seq, moment(change.event.at_ms), text, status),
    )?;
    let id = change.sql.connection.last_insert_rowid();
    let sql = "UPDATE agents SET message_id = ?3 WHERE session_id = ?1 AND id = ?2";
    change.run(sql, (&change.session, &change.agent, id))?;
    if status.is_none() { reopened(change) } else { Ok(()) }
}

/// An agent that had settled works again.
fn reopened(change: &Change<'_>) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE agents SET status = iif(ended_at_ms IS NULL, status, 'running'),
               ended_at_ms = NULL
             WHERE session_id = ?1 AND id = ?2",
            (&change.session, &change.agent),
        )
        .map(drop)
}

/// Words that are no prompt are part of the work on the prompt before. Where that is done, they are what the agent
/// works on next.
pub(super) fn woken(change: &Change<'_>, text: &str) -> Result<bool, StoreError> {
    let done: Option<bool> = change.ask(
        "SELECT m.completed_at IS NOT NULL FROM agents a JOIN prompts m ON m.id = a.message_id
         WHERE a.session_id = ?1 AND a.id = ?2",
        (&change.session, &change.agent),
    )?;
    if done == Some(true) {
        opened(change, text)?;
    }
    Ok(done == Some(true))
}

pub(super) fn compacted(change: &Change<'_>) -> Result<(), StoreError> {
    change.run(&current("context_mode = 'summary'"), (&change.session, &change.agent)).map(drop)
}

/// What had arrived of a reply stands in for an answer until a better one comes.
pub(super) fn cut_short(change: &Change<'_>, text: &str) -> Result<(), StoreError> {
    if text.trim().is_empty() {
        return Ok(());
    }
    let sql = current("response_content = ?3, response_summary = ?4") + " AND completed_at IS NULL";
    let summary = first_paragraph(text, limits::SUMMARY_CHARS_MAX);
    change.run(&sql, (&change.session, &change.agent, text, summary)).map(drop)
}

/// Changes the row that the agent's work is counted under; there may be none yet.
fn current(set: &str) -> String {
    format!(
        "UPDATE prompts SET {set}
         WHERE id = (SELECT message_id FROM agents WHERE session_id = ?1 AND id = ?2)"
    )
}

/// The request of the latest reply is the size of the context; totals are sums over all replies.
pub(super) fn add(sql: Sql<'_>, message: i64, tally: &AgentTally) -> Result<(), StoreError> {
    sql.run(
        "UPDATE prompts SET
           iteration_count     = iteration_count + ?2,
           context_token_count = coalesce(?3, context_token_count),
           prompt_tokens       = iif(?4 IS NULL, prompt_tokens,     coalesce(prompt_tokens, 0) + ?4),
           completion_tokens   = iif(?5 IS NULL, completion_tokens, coalesce(completion_tokens, 0) + ?5),
           total_tokens        = iif(?6 IS NULL, total_tokens,      coalesce(total_tokens, 0) + ?6)
         WHERE id = ?1",
        (
            message,
            tally.turns,
            tally.context_tokens,
            tally.tokens.input,
            tally.tokens.output,
            tally.total_tokens,
        ),
    )
    .map(drop)
}

/// Completes every open prompt of the agent.
pub(super) fn settled(change: &Change<'_>, report: &Report) -> Result<(), StoreError> {
    let text = Some(report.text.as_str()).filter(|text| !text.trim().is_empty());
    change
        .run(
            "UPDATE prompts SET
               completed_at = strftime('%Y-%m-%dT%H:%M:%fZ', ?3 / 1000.0, 'unixepoch'),
               duration_ms = max(0, ?3 - CAST(round(unixepoch(started_at, 'subsec') * 1000) AS INTEGER)),
               response_content = coalesce(?4, response_content, ''),
               response_summary = coalesce(?5, response_summary, ?12), files_modified_json = ?6,
               bailout_reason = ?7, status = ?8, error_message = ?9,
               metadata_json = json_set(?10, '$.requested_model',
                 (SELECT requested_model FROM agents a WHERE a.session_id = ?1 AND a.id = ?2)),
               tool_calls_json = (
                 SELECT json_group_array(json_object('id', call_id, 'tool', tool, 'title', title,
                          'ok', json(CASE ok WHEN 1 THEN 'true' WHEN 0 THEN 'false' ELSE 'null' END),
                          'duration_ms', duration_ms) ORDER BY id)
                 FROM (SELECT * FROM tool_calls c
                       WHERE c.session_id = ?1 AND c.agent_id = ?2
                         AND coalesce(c.started_seq, c.finished_seq) > prompts.seq
                       ORDER BY c.id LIMIT ?11))
             WHERE session_id = ?1 AND agent_id = ?2 AND completed_at IS NULL",
            (
                &change.session,
                &change.agent,
                moment(change.event.at_ms),
                text,
                text.map(|_| shortened(&posse_report::summary(report), limits::SUMMARY_CHARS_MAX)),
                json(&report.receipt.files),
                bailout_reason(&report.ending),
                status(&report.ending),
                error_message(&report.ending),
                json(&Metadata::of(report)),
                whole(limits::TOOL_CALLS_LISTED_MAX as u64),
                report.ending.to_string(),
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
    fn of(report: &'a Report) -> Self {
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
