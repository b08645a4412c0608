//! The `messages` table: one row a prompt, from the moment it is given to an agent until that agent settles.
//!
//! Work is counted under the newest prompt. A prompt given while an earlier one is still open does not close it: both
//! are answered when the agent settles.

use posse_protocol::{Ending, Report, TestRun, Usage};
use serde::Serialize;

use super::Change;
use super::agents::error_message;
use super::figures::{figure, first_paragraph, moment, whole};
use crate::{StoreError, limits};

pub(super) fn opened(change: &Change<'_>, text: &str) -> Result<(), StoreError> {
    change.run(
        "INSERT INTO messages (session_id, agent_id, seq, parent_message_id, started_at, agent_role, agent_depth,
           model_id, system_prompt_id, request_type, request_content, context_mode, max_iterations, max_duration_ms)
         SELECT a.session_id, a.id, ?3,
           (SELECT p.message_id FROM agents p WHERE p.session_id = a.session_id AND p.id = a.parent_id),
           strftime('%Y-%m-%dT%H:%M:%fZ', ?4 / 1000.0, 'unixepoch'), a.role, a.depth,
           coalesce(a.model_id, ''), coalesce(a.system_prompt_id, ''),
           CASE WHEN coalesce(a.message_id, a.continues_id) IS NOT NULL THEN 'continuation'
                WHEN a.depth > 0 THEN 'delegation' ELSE 'prompt' END,
           ?5, coalesce(a.context_mode, 'full'), a.budget_turns, a.budget_time_ms
         FROM agents a WHERE a.session_id = ?1 AND a.id = ?2",
        (&change.session, &change.agent, change.seq, moment(change.event.at_ms), text),
    )?;
    change
        .run(
            "UPDATE agents SET message_id = ?3, status = iif(ended_at_ms IS NULL, status, 'running'),
               ended_at_ms = NULL
             WHERE session_id = ?1 AND id = ?2",
            (&change.session, &change.agent, change.connection.last_insert_rowid()),
        )
        .map(drop)
}

pub(super) fn turn_started(change: &Change<'_>) -> Result<(), StoreError> {
    current(change, "UPDATE messages SET iteration_count = iteration_count + 1")
}

pub(super) fn compacted(change: &Change<'_>) -> Result<(), StoreError> {
    current(change, "UPDATE messages SET context_mode = 'summary'")
}

/// Changes the row that the agent's work is counted under; there may be none yet.
fn current(change: &Change<'_>, update: &str) -> Result<(), StoreError> {
    let sql =
        format!("{update} WHERE id = (SELECT message_id FROM agents WHERE session_id = ?1 AND id = ?2)");
    change.run(&sql, (&change.session, &change.agent)).map(drop)
}

/// The request of the latest reply is the size of the context; totals are sums over all replies.
pub(super) fn replied(change: &Change<'_>, usage: Usage) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE messages SET
               context_token_count = coalesce(?1, context_token_count),
               prompt_tokens       = iif(?1 IS NULL, prompt_tokens,     coalesce(prompt_tokens, 0) + ?1),
               completion_tokens   = iif(?2 IS NULL, completion_tokens, coalesce(completion_tokens, 0) + ?2),
               total_tokens        = iif(?3 IS NULL, total_tokens,      coalesce(total_tokens, 0) + ?3)
             WHERE id = (SELECT message_id FROM agents WHERE session_id = ?4 AND id = ?5)",
            (
                usage.input_tokens.map(figure),
                usage.output_tokens.map(figure),
                usage.total_tokens().map(figure),
                &change.session,
                &change.agent,
            ),
        )
        .map(drop)
}

/// Completes every open prompt of the agent.
pub(super) fn settled(change: &Change<'_>, report: &Report) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE messages SET
               completed_at = strftime('%Y-%m-%dT%H:%M:%fZ', ?3 / 1000.0, 'unixepoch'),
               duration_ms = max(0, ?3 - CAST(round(unixepoch(started_at, 'subsec') * 1000) AS INTEGER)),
               response_content = ?4, response_summary = ?5, files_modified_json = ?6,
               bailout_reason = ?7, status = ?8, error_message = ?9,
               metadata_json = json_set(?10, '$.requested_model',
                 (SELECT requested_model FROM agents a WHERE a.session_id = ?1 AND a.id = ?2)),
               tool_calls_json = (
                 SELECT json_group_array(json_object('id', call_id, 'tool', tool, 'title', title,
                          'ok', json(CASE ok WHEN 1 THEN 'true' WHEN 0 THEN 'false' ELSE 'null' END),
                          'duration_ms', duration_ms) ORDER BY id)
                 FROM (SELECT * FROM tool_calls c
                       WHERE c.session_id = ?1 AND c.agent_id = ?2
                         AND coalesce(c.started_seq, c.finished_seq) > messages.seq
                       ORDER BY c.id LIMIT ?11))
             WHERE session_id = ?1 AND agent_id = ?2 AND completed_at IS NULL",
            (
                &change.session,
                &change.agent,
                moment(change.event.at_ms),
                &report.text,
                first_paragraph(&report.text, limits::SUMMARY_CHARS_MAX),
                json(&report.receipt.files),
                bailout_reason(&report.ending),
                report.ending.word(),
                error_message(&report.ending),
                json(&Metadata::of(report)),
                whole(limits::TOOL_CALLS_LISTED_MAX as u64),
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
            tests: receipt.tests,
            warnings: &report.warnings,
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
