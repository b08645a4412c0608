//! The `agent_rows` table: one row an agent, with its limits and how it does. What it has used is in `agent_figures`.

use posse_protocol::{AgentId, Budget, ContextMode, Report};

use super::Change;
use super::agent_figures::AgentFigures;
use super::figures::{figure, whole};
use super::messages::{self, BegunAgent};
use crate::StoreError;
use crate::blobs::hash;

/// What is known of an agent before it begins.
pub(super) struct AdmittedAgent<'a> {
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

/// A new agent that has not begun yet.
pub(super) fn admitted(
    change: &Change<'_>,
    admission: &AdmittedAgent<'_>,
) -> Result<AgentFigures, StoreError> {
    change.run(
        "INSERT INTO agent_rows (session_id, id, parent_id, name, role, depth, title, status, requested_model,
           context_mode, continues_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'pending', ?8, ?9, ?10)",
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
        ),
    )?;
    let mut agent = AgentFigures::new(change)?;
    messages::pending(change, &mut agent, admission.words)?;
    Ok(agent)
}

/// It has to wait: before it begins, or before it goes on where it was interrupted. Nothing that has ended waits.
pub(super) fn queued(change: &Change<'_>, agent: &AgentFigures) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE agent_rows SET status = 'queued', queued_at_ms = iif(started_at_ms IS NULL, ?2, queued_at_ms),
               interrupted_at_ms = NULL
             WHERE number = ?1 AND ended_at_ms IS NULL AND status IN ('pending', 'interrupted')",
            (agent.number, whole(change.event.at_ms)),
        )
        .map(drop)
}

/// An agent begins that was not admitted before.
pub(super) fn came(change: &Change<'_>, start: &BegunAgent<'_>) -> Result<AgentFigures, StoreError> {
    change.run(
        "INSERT INTO agent_rows (session_id, id, parent_id, name, role, depth, status)
         VALUES (?1, ?2, ?3, iif(?3 IS NULL, 'main', ?4), ?4, ?5, 'running')",
        (
            &change.session,
            &change.agent,
            change.event.parent.map(|id| id.to_string()),
            start.role,
            start.depth,
        ),
    )?;
    AgentFigures::new(change)
}

/// An agent begins, or is taken up again: then its totals go on.
pub(super) fn started(
    change: &Change<'_>,
    agent: &AgentFigures,
    start: &BegunAgent<'_>,
) -> Result<(), StoreError> {
    // Equal prompts have equal ids, across sessions and machines.
    let system_prompt_id = hash(start.system);
    change.run(
        "UPDATE agent_rows SET
           role = ?2, depth = ?3, status = 'running', model = ?4, model_id = ?5, system_prompt_id = ?6,
           budget_turns = ?7, budget_tokens = ?8, budget_time_ms = ?9, budget_cost_usd = ?10,
           started_at_ms = coalesce(started_at_ms, ?11), ended_at_ms = NULL, error = NULL, interrupted_at_ms = NULL
         WHERE number = ?1",
        (
            agent.number,
            start.role,
            start.depth,
            start.model,
            start.model_id,
            &system_prompt_id,
            start.budget.turns,
            start.budget.tokens.map(whole),
            start.budget.time_ms.map(whole),
            start.budget.cost_usd,
            whole(change.event.at_ms),
        ),
    )?;
    messages::begun(change, agent, start, &system_prompt_id)
}

/// It stands still until a person answers.
pub(super) fn person_needed(change: &Change<'_>, agent: &AgentFigures) -> Result<(), StoreError> {
    update(
        change,
        agent,
        "UPDATE agent_rows SET status = 'needs_person' WHERE number = ?1 AND status = 'running'",
    )
}

pub(super) fn person_answered(change: &Change<'_>, agent: &AgentFigures) -> Result<(), StoreError> {
    update(
        change,
        agent,
        "UPDATE agent_rows SET status = 'running' WHERE number = ?1 AND status = 'needs_person'",
    )
}

/// An agent that had settled works again.
pub(super) fn reopened(change: &Change<'_>, agent: &AgentFigures) -> Result<(), StoreError> {
    update(
        change,
        agent,
        "UPDATE agent_rows SET status = 'running', ended_at_ms = NULL WHERE number = ?1 AND ended_at_ms IS NOT NULL",
    )
}

pub(super) fn compacted(change: &Change<'_>, agent: &AgentFigures) -> Result<(), StoreError> {
    update(change, agent, "UPDATE agent_rows SET compactions = compactions + 1 WHERE number = ?1")
}

fn update(change: &Change<'_>, agent: &AgentFigures, sql: &str) -> Result<(), StoreError> {
    change.run(sql, (agent.number,)).map(drop)
}

/// Their parent is being told what these came to.
pub(super) fn delivered(change: &Change<'_>, agents: &[AgentId]) -> Result<(), StoreError> {
    let agents = serde_json::to_string(agents)
        .map_err(|source| StoreError::NotJson { kind: "reports_delivered", source })?;
    change
        .run(
            "UPDATE agent_rows SET delivered_at_ms = coalesce(delivered_at_ms, ?3)
             WHERE session_id = ?1 AND id IN (SELECT value FROM json_each(?2))",
            (&change.session, agents, whole(change.event.at_ms)),
        )
        .map(drop)
}

pub(super) fn model_failed(
    change: &Change<'_>,
    agent: &AgentFigures,
    message: &str,
) -> Result<(), StoreError> {
    change.run("UPDATE agent_rows SET error = ?2 WHERE number = ?1", (agent.number, message)).map(drop)
}

pub(super) fn settled(change: &Change<'_>, agent: &AgentFigures, report: &Report) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE agent_rows SET status = ?2, ended_at_ms = ?3, duration_ms = ?4, error = ?5, warnings = ?6
             WHERE number = ?1",
            (
                agent.number,
                report.ending.word(),
                whole(change.event.at_ms),
                figure(report.receipt.duration_ms),
                report.ending.error_message(),
                figure(report.warnings.len() as u64),
            ),
        )
        .map(drop)
}

/// It waits for the next prompt.
pub(super) fn rested(change: &Change<'_>, agent: &AgentFigures) -> Result<(), StoreError> {
    update(change, agent, "UPDATE agent_rows SET status = 'resting', ended_at_ms = NULL WHERE number = ?1")
}

/// It has answered a prompt.
pub(super) fn answered(change: &Change<'_>, agent: &AgentFigures, report: &Report) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE agent_rows SET error = ?2, warnings = ?3 WHERE number = ?1",
            (agent.number, report.ending.error_message(), figure(report.warnings.len() as u64)),
        )
        .map(drop)
}

/// It continues with another prompt.
pub(super) fn woken(change: &Change<'_>, agent: &AgentFigures) -> Result<(), StoreError> {
    update(change, agent, "UPDATE agent_rows SET status = 'running', error = NULL WHERE number = ?1")
}

/// It may spend another amount in all.
pub(super) fn budget(change: &Change<'_>, agent: &AgentFigures, budget: &Budget) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE agent_rows SET budget_turns = ?2, budget_tokens = ?3, budget_time_ms = ?4, budget_cost_usd = ?5
             WHERE number = ?1",
            (
                agent.number,
                budget.turns,
                budget.tokens.map(whole),
                budget.time_ms.map(whole),
                budget.cost_usd,
            ),
        )
        .map(drop)
}

/// It continues with another model.
pub(super) fn model_changed(
    change: &Change<'_>,
    agent: &AgentFigures,
    model: &str,
    model_id: &str,
) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE agent_rows SET model = ?2, model_id = ?3 WHERE number = ?1",
            (agent.number, model, model_id),
        )
        .map(drop)
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
