//! What it means that a session was interrupted, and that it goes on: for its row, its agents, their prompts and the
//! calls that were under way.

use posse_protocol::{AgentId, Budget};

use super::Change;
use super::figures::whole;
use super::sessions;
use crate::StoreError;

/// These agents had not ended. Nobody works for them now, and nobody knows what came of the calls under way.
pub(super) fn interrupted(change: &Change<'_>, agents: &[AgentId]) -> Result<(), StoreError> {
    let agents = serde_json::to_string(agents)
        .map_err(|source| StoreError::NotJson { kind: "session_interrupted", source })?;
    change.run(
        "UPDATE agents SET status = 'interrupted', interrupted_at_ms = ?3
         WHERE session_id = ?1 AND ended_at_ms IS NULL AND id IN (SELECT value FROM json_each(?2))",
        (&change.session, &agents, whole(change.event.at_ms)),
    )?;
    change.run(
        "UPDATE prompts SET status = 'interrupted', bailout_reason = 'interrupted'
         WHERE session_id = ?1 AND completed_at IS NULL AND agent_id IN (SELECT value FROM json_each(?2))",
        (&change.session, &agents),
    )?;
    change.run(
        "UPDATE tool_calls SET interrupted_seq = ?3
         WHERE session_id = ?1 AND finished_seq IS NULL AND agent_id IN (SELECT value FROM json_each(?2))",
        (&change.session, &agents, change.seq),
    )?;
    sessions::status(change, "interrupted")
}

/// With what an agent goes on.
pub(super) struct Resumption<'a> {
    /// Empty in older events: then it is the same as before.
    pub(super) model: &'a str,
    pub(super) model_id: &'a str,
    pub(super) budget: &'a Budget,
}

/// The agent goes on; what it has used so far still counts. One that had not begun has still to begin.
pub(super) fn resumed(change: &Change<'_>, resumption: &Resumption<'_>) -> Result<(), StoreError> {
    let budget = resumption.budget;
    change.run(
        "UPDATE agents SET status = iif(started_at_ms IS NULL, 'pending', 'running'), interrupted_at_ms = NULL,
           delivered_at_ms = iif(ended_at_ms IS NULL, delivered_at_ms, NULL), ended_at_ms = NULL, duration_ms = NULL,
           error = NULL, budget_turns = ?3, budget_tokens = ?4, budget_time_ms = ?5, budget_cost_usd = ?6,
           model = coalesce(nullif(?7, ''), model), model_id = coalesce(nullif(?8, ''), model_id)
         WHERE session_id = ?1 AND id = ?2",
        (
            &change.session,
            &change.agent,
            budget.turns,
            budget.tokens.map(whole),
            budget.time_ms.map(whole),
            budget.cost_usd,
            resumption.model,
            resumption.model_id,
        ),
    )?;
    change.run(
        "UPDATE prompts SET bailout_reason = NULL,
           status = iif(told, 'running', (SELECT iif(a.started_at_ms IS NULL, 'pending', 'running') FROM agents a
                                          WHERE a.session_id = ?1 AND a.id = ?2))
         WHERE session_id = ?1 AND agent_id = ?2 AND completed_at IS NULL",
        (&change.session, &change.agent),
    )?;
    sessions::runs(change, resumption.model)
}
