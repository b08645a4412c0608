//! The `agents` table: one row an agent, with its limits and what it has used.

use posse_protocol::{AgentId, Budget, ContextMode, Ending, Report};

use super::figures::{figure, whole};
use super::tally::AgentTally;
use super::{Change, Sql, messages};
use crate::StoreError;
use crate::blobs::hash;

/// What is known of an agent before it begins.
pub(super) struct Admission<'a> {
    pub(super) name: &'a str,
    pub(super) role: &'a str,
    pub(super) depth: u32,
    pub(super) title: &'a str,
    pub(super) requested_model: Option<&'a str>,
    pub(super) context: ContextMode,
    pub(super) continues: Option<AgentId>,
    /// What it is asked to do.
    pub(super) words: &'a str,
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
    let new = change.run(
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
    )?;
    if new > 0 { messages::pending(change, admission.words) } else { Ok(()) }
}

/// It has to wait: before it begins, or before it goes on where it was interrupted. Nothing that has ended waits.
pub(super) fn queued(change: &Change<'_>) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE agents SET status = 'queued', queued_at_ms = iif(started_at_ms IS NULL, ?3, queued_at_ms),
               interrupted_at_ms = NULL
             WHERE session_id = ?1 AND id = ?2 AND ended_at_ms IS NULL AND status IN ('pending', 'interrupted')",
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
               last_at_ms = max(last_at_ms, excluded.last_at_ms), ended_at_ms = NULL, error = NULL,
               interrupted_at_ms = NULL",
            (
                &change.session,
                &change.agent,
                change.event.parent.map(|id| id.to_string()),
                start.role,
                start.depth,
                start.model,
                start.model_id,
                // Equal prompts have equal ids, across sessions and machines.
                hash(start.system),
                start.budget.turns,
                start.budget.tokens.map(whole),
                start.budget.time_ms.map(whole),
                start.budget.cost_usd,
                whole(change.event.at_ms),
            ),
        )?;
    messages::begun(change)
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

/// Adds what the agent's events came to, also to the prompt it works on; refuses what happens to an agent that was
/// neither admitted nor started.
pub(super) fn add(sql: Sql<'_>, session: &str, agent: &str, tally: &AgentTally) -> Result<bool, StoreError> {
    if !tally.has_figures() {
        let seen = "UPDATE agents SET last_at_ms = max(last_at_ms, ?3) WHERE session_id = ?1 AND id = ?2";
        return sql.run(seen, (session, agent, tally.last_at_ms)).map(|rows| rows > 0);
    }
    let t = &tally.tokens;
    let message: Option<Option<i64>> = sql.ask(
        "UPDATE agents SET
           last_at_ms = max(last_at_ms, ?3), turns = turns + ?4, retries = retries + ?5, tool_calls = tool_calls + ?6,
           input_tokens       = iif(?7 IS NULL,  input_tokens,       coalesce(input_tokens, 0) + ?7),
           cached_tokens      = iif(?8 IS NULL,  cached_tokens,      coalesce(cached_tokens, 0) + ?8),
           cache_write_tokens = iif(?9 IS NULL,  cache_write_tokens, coalesce(cache_write_tokens, 0) + ?9),
           output_tokens      = iif(?10 IS NULL, output_tokens,      coalesce(output_tokens, 0) + ?10),
           reasoning_tokens   = iif(?11 IS NULL, reasoning_tokens,   coalesce(reasoning_tokens, 0) + ?11),
           cost_usd           = iif(?12 IS NULL, cost_usd,           coalesce(cost_usd, 0) + ?12),
           cost_unknown       = max(0, cost_unknown + ?13)
         WHERE session_id = ?1 AND id = ?2 RETURNING message_id",
        rusqlite::params![
            session, agent, tally.last_at_ms, tally.turns, tally.retries, tally.tool_calls,
            t.input, t.cached, t.cache_write, t.output, t.reasoning, tally.cost.usd, tally.cost.unknown
        ],
    )?;
    match message {
        Some(Some(message)) if tally.concerns_prompt() => messages::add(sql, message, tally).map(|()| true),
        known => Ok(known.is_some()),
    }
}

pub(super) fn compacted(change: &Change<'_>) -> Result<(), StoreError> {
    update(change, "UPDATE agents SET compactions = compactions + 1 WHERE session_id = ?1 AND id = ?2")
}

fn update(change: &Change<'_>, sql: &str) -> Result<(), StoreError> {
    change.run(sql, (&change.session, &change.agent)).map(drop)
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
               cost_usd = coalesce(?6, cost_usd), error = ?7, warnings = ?8
             WHERE session_id = ?1 AND id = ?2",
            (
                &change.session,
                &change.agent,
                report.ending.word(),
                whole(change.event.at_ms),
                figure(report.receipt.duration_ms),
                report.receipt.cost_usd,
                error_message(&report.ending),
                figure(report.warnings.len() as u64),
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
