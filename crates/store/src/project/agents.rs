//! The `agents` table: one row an agent, with its limits and what it has used.

use posse_protocol::{AgentId, Budget, ContextMode, Ending, EventKind, Report, Usage};
use sha2::{Digest, Sha256};

use super::Change;
use super::figures::{Tokens, figure, whole};
use crate::StoreError;

/// What is known of an agent before it begins.
pub(super) struct Admission<'a> {
    pub(super) name: &'a str,
    pub(super) role: &'a str,
    pub(super) depth: u32,
    pub(super) title: &'a str,
    pub(super) requested_model: Option<&'a str>,
    pub(super) context: ContextMode,
    pub(super) continues: Option<AgentId>,
}

/// What an agent starts with.
pub(super) struct Start<'a> {
    pub(super) role: &'a str,
    pub(super) depth: u32,
    pub(super) model: &'a str,
    pub(super) model_id: &'a str,
    pub(super) budget: &'a Budget,
    pub(super) system: &'a str,
}

/// A new agent that has not begun yet. One that is on record already stays as it is.
pub(super) fn admitted(change: &Change<'_>, admission: &Admission<'_>) -> Result<(), StoreError> {
    change
        .run(
            "INSERT INTO agents (session_id, id, parent_id, name, role, depth, title, status, requested_model,
               context_mode, continues_id, last_at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'pending', ?8, ?9, ?10, ?11)
             ON CONFLICT DO NOTHING",
            (
                &change.session,
                &change.agent,
                change.event.parent.map(|id| id.to_string()),
                admission.name,
                admission.role,
                admission.depth,
                admission.title,
                admission.requested_model,
                context_word(admission.context),
                admission.continues.map(|id| id.to_string()),
                whole(change.event.at_ms),
            ),
        )
        .map(drop)
}

/// It has to wait; nothing that has begun or ended waits to begin.
pub(super) fn queued(change: &Change<'_>) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE agents SET status = 'queued', queued_at_ms = ?3
             WHERE session_id = ?1 AND id = ?2 AND status = 'pending'",
            (&change.session, &change.agent, whole(change.event.at_ms)),
        )
        .map(drop)
}

/// A new agent, one that was admitted before, or one that is taken up again: then its totals go on.
pub(super) fn started(change: &Change<'_>, start: &Start<'_>) -> Result<(), StoreError> {
    change
        .run(
            "INSERT INTO agents (session_id, id, parent_id, name, role, depth, status, model, model_id,
               system_prompt_id, budget_turns, budget_tokens, budget_time_ms, budget_cost_usd, started_at_ms,
               last_at_ms)
             VALUES (?1, ?2, ?3, iif(?3 IS NULL, 'main', ?4), ?4, ?5, 'running', ?6, ?7, ?8, ?9, ?10, ?11, ?12,
               ?13, ?13)
             ON CONFLICT DO UPDATE SET
               role = excluded.role, depth = excluded.depth, status = 'running', model = excluded.model,
               model_id = excluded.model_id, system_prompt_id = excluded.system_prompt_id,
               budget_turns = excluded.budget_turns, budget_tokens = excluded.budget_tokens,
               budget_time_ms = excluded.budget_time_ms, budget_cost_usd = excluded.budget_cost_usd,
               started_at_ms = coalesce(started_at_ms, excluded.started_at_ms),
               last_at_ms = max(last_at_ms, excluded.last_at_ms), ended_at_ms = NULL, error = NULL",
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

/// It stands still until a person answers.
pub(super) fn person_needed(change: &Change<'_>) -> Result<(), StoreError> {
    update(
        change,
        "UPDATE agents SET status = 'needs_person' WHERE session_id = ?1 AND id = ?2 AND status = 'running'",
    )
}

pub(super) fn person_answered(change: &Change<'_>) -> Result<(), StoreError> {
    update(
        change,
        "UPDATE agents SET status = 'running' WHERE session_id = ?1 AND id = ?2 AND status = 'needs_person'",
    )
}

/// Their parent is being told what these came to.
pub(super) fn delivered(change: &Change<'_>, agents: &[AgentId]) -> Result<(), StoreError> {
    let agents = serde_json::to_string(agents)
        .map_err(|source| StoreError::NotJson { kind: "reports_delivered", source })?;
    change
        .run(
            "UPDATE agents SET delivered_at_ms = coalesce(delivered_at_ms, ?3)
             WHERE session_id = ?1 AND id IN (SELECT value FROM json_each(?2))",
            (&change.session, agents, whole(change.event.at_ms)),
        )
        .map(drop)
}

/// Notes that something happened to the agent; refuses what happens to an agent that was neither admitted nor started.
pub(super) fn seen(change: &Change<'_>) -> Result<(), StoreError> {
    let rows = change.run(
        "UPDATE agents SET last_at_ms = max(last_at_ms, ?3) WHERE session_id = ?1 AND id = ?2",
        (&change.session, &change.agent, whole(change.event.at_ms)),
    )?;
    known(change, rows)
}

fn known(change: &Change<'_>, rows: usize) -> Result<(), StoreError> {
    if rows == 0 { Err(StoreError::UnknownAgent { agent: change.event.agent }) } else { Ok(()) }
}

/// Whether what follows from an event notes by itself that something happened to the agent: the most frequent ones do,
/// which saves a statement for each of them.
pub(super) fn notes_itself(kind: &EventKind) -> bool {
    matches!(kind, EventKind::TurnStarted { .. } | EventKind::Replied { .. } | EventKind::ToolFinished { .. })
}

pub(super) fn turn_started(change: &Change<'_>) -> Result<(), StoreError> {
    let sql = "UPDATE agents SET turns = turns + 1, last_at_ms = max(last_at_ms, ?3)
               WHERE session_id = ?1 AND id = ?2";
    known(change, change.run(sql, (&change.session, &change.agent, whole(change.event.at_ms)))?)
}

pub(super) fn retrying(change: &Change<'_>) -> Result<(), StoreError> {
    update(change, "UPDATE agents SET retries = retries + 1 WHERE session_id = ?1 AND id = ?2")
}

pub(super) fn compacted(change: &Change<'_>) -> Result<(), StoreError> {
    update(change, "UPDATE agents SET compactions = compactions + 1 WHERE session_id = ?1 AND id = ?2")
}

pub(super) fn tool_finished(change: &Change<'_>) -> Result<(), StoreError> {
    let sql = "UPDATE agents SET tool_calls = tool_calls + 1, last_at_ms = max(last_at_ms, ?3)
               WHERE session_id = ?1 AND id = ?2";
    known(change, change.run(sql, (&change.session, &change.agent, whole(change.event.at_ms)))?)
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
               reasoning_tokens   = iif(?5 IS NULL, reasoning_tokens,   coalesce(reasoning_tokens, 0) + ?5),
               last_at_ms         = max(last_at_ms, ?8)
             WHERE session_id = ?6 AND id = ?7",
            Tokens::of(usage).then(&[&change.session, &change.agent, &whole(change.event.at_ms)]).as_slice(),
        )
        .and_then(|rows| known(change, rows))
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

/// How a conversation began, as the tables call it.
fn context_word(context: ContextMode) -> &'static str {
    match context {
        ContextMode::Fresh => "fresh",
        ContextMode::Fork => "fork",
        ContextMode::Summary => "summary",
        ContextMode::Selective => "selective",
    }
}

/// Equal prompts have equal ids, across sessions and machines: the SHA-256 of the text, in hex.
fn prompt_id(system: &str) -> String {
    Sha256::digest(system.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
