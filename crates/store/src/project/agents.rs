//! The `agents` table: one row an agent, with its limits and what it has used.

use posse_protocol::{Budget, Ending, Report, Usage};
use sha2::{Digest, Sha256};

use super::Change;
use super::figures::{Tokens, figure, whole};
use crate::StoreError;

/// What an agent starts with.
pub(super) struct Start<'a> {
    pub(super) role: &'a str,
    pub(super) depth: u32,
    pub(super) model: &'a str,
    pub(super) model_id: &'a str,
    pub(super) budget: &'a Budget,
    pub(super) system: &'a str,
}

/// A new agent, or one that is taken up again: then its totals go on.
pub(super) fn started(change: &Change<'_>, start: &Start<'_>) -> Result<(), StoreError> {
    change
        .run(
            "INSERT INTO agents (session_id, id, parent_id, role, depth, model, model_id, system_prompt_id,
               budget_turns, budget_tokens, budget_time_ms, budget_cost_usd, started_at_ms, last_at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13)
             ON CONFLICT DO UPDATE SET
               role = excluded.role, depth = excluded.depth, status = 'running', model = excluded.model,
               model_id = excluded.model_id, system_prompt_id = excluded.system_prompt_id,
               budget_turns = excluded.budget_turns, budget_tokens = excluded.budget_tokens,
               budget_time_ms = excluded.budget_time_ms, budget_cost_usd = excluded.budget_cost_usd,
               last_at_ms = excluded.last_at_ms, ended_at_ms = NULL, error = NULL",
            (
                &change.session,
                &change.agent,
                change.event.parent.map(|id| id.to_string()),
                start.role,
                start.depth,
                start.model,
                start.model_id,
                prompt_id(start.system),
                start.budget.turns,
                start.budget.tokens.map(whole),
                start.budget.time_ms.map(whole),
                start.budget.cost_usd,
                whole(change.event.at_ms),
            ),
        )
        .map(drop)
}

/// Notes that something happened to the agent; refuses what happens to an agent that never started.
pub(super) fn seen(change: &Change<'_>) -> Result<(), StoreError> {
    let rows = change.run(
        "UPDATE agents SET last_at_ms = max(last_at_ms, ?3) WHERE session_id = ?1 AND id = ?2",
        (&change.session, &change.agent, whole(change.event.at_ms)),
    )?;
    if rows == 0 { Err(StoreError::UnknownAgent { agent: change.event.agent }) } else { Ok(()) }
}

pub(super) fn turn_started(change: &Change<'_>) -> Result<(), StoreError> {
    update(change, "UPDATE agents SET turns = turns + 1 WHERE session_id = ?1 AND id = ?2")
}

pub(super) fn retrying(change: &Change<'_>) -> Result<(), StoreError> {
    update(change, "UPDATE agents SET retries = retries + 1 WHERE session_id = ?1 AND id = ?2")
}

pub(super) fn compacted(change: &Change<'_>) -> Result<(), StoreError> {
    update(change, "UPDATE agents SET compactions = compactions + 1 WHERE session_id = ?1 AND id = ?2")
}

pub(super) fn tool_finished(change: &Change<'_>) -> Result<(), StoreError> {
    update(change, "UPDATE agents SET tool_calls = tool_calls + 1 WHERE session_id = ?1 AND id = ?2")
}

fn update(change: &Change<'_>, sql: &str) -> Result<(), StoreError> {
    change.run(sql, (&change.session, &change.agent)).map(drop)
}

pub(super) fn replied(change: &Change<'_>, usage: Usage) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE agents SET
               input_tokens       = iif(?1 IS NULL, input_tokens,       coalesce(input_tokens, 0) + ?1),
               cached_tokens      = iif(?2 IS NULL, cached_tokens,      coalesce(cached_tokens, 0) + ?2),
               cache_write_tokens = iif(?3 IS NULL, cache_write_tokens, coalesce(cache_write_tokens, 0) + ?3),
               output_tokens      = iif(?4 IS NULL, output_tokens,      coalesce(output_tokens, 0) + ?4),
               reasoning_tokens   = iif(?5 IS NULL, reasoning_tokens,   coalesce(reasoning_tokens, 0) + ?5)
             WHERE session_id = ?6 AND id = ?7",
            Tokens::of(usage).then(&[&change.session, &change.agent]).as_slice(),
        )
        .map(drop)
}

pub(super) fn model_failed(change: &Change<'_>, message: &str) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE agents SET error = ?3 WHERE session_id = ?1 AND id = ?2",
            (&change.session, &change.agent, message),
        )
        .map(drop)
}

pub(super) fn settled(change: &Change<'_>, report: &Report) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE agents SET status = ?3, ended_at_ms = ?4, duration_ms = ?5,
               cost_usd = coalesce(?6, cost_usd), error = ?7
             WHERE session_id = ?1 AND id = ?2",
            (
                &change.session,
                &change.agent,
                report.ending.word(),
                whole(change.event.at_ms),
                figure(report.receipt.duration_ms),
                report.receipt.cost_usd,
                error_message(&report.ending),
            ),
        )
        .map(drop)
}

/// What a person should read about an ending that was not wished for.
pub(super) fn error_message(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Completed | Ending::Cancelled => None,
        Ending::Failed { failure } => Some(failure.to_string()),
        Ending::Interrupted { reason } => Some(reason.clone()),
        Ending::TimedOut
        | Ending::OutOfTurns
        | Ending::OutOfTokens
        | Ending::OutOfMoney
        | Ending::Refused => Some(ending.to_string()),
    }
}

/// Equal prompts have equal ids, across sessions and machines: the SHA-256 of the text, in hex.
fn prompt_id(system: &str) -> String {
    Sha256::digest(system.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
