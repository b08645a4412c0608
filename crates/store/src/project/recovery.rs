//! What it means that a session was interrupted, and that it goes on: for its row, its agents, their prompts and the
//! calls that were under way.

use posse_protocol::{AgentId, AgentState, Budget};

use super::Change;
use super::agent_figures::AgentFigures;
use super::figures::whole;
use super::sessions;
use crate::StoreError;

/// These agents had not ended. Nobody works for them now, and nobody knows what came of the calls under way.
pub(super) fn interrupted(change: &Change<'_>, agents: &[AgentId]) -> Result<(), StoreError> {
    let agents = serde_json::to_string(agents)
        .map_err(|source| StoreError::NotJson { kind: "session_interrupted", source })?;
    change.run(
        "UPDATE agent_rows SET status = 'interrupted', interrupted_at_ms = ?3
         WHERE session_id = ?1 AND ended_at_ms IS NULL AND id IN (SELECT value FROM json_each(?2))",
        (&change.session, &agents, whole(change.event.at_ms)),
    )?;
    change.run(
        "UPDATE prompt_rows SET status = 'interrupted', bailout_reason = 'interrupted'
         WHERE completed_at IS NULL
           AND agent IN (SELECT number FROM agent_rows WHERE session_id = ?1 AND id IN (SELECT value FROM json_each(?2)))",
        (&change.session, &agents),
    )?;
    change.run(
        "UPDATE call_rows SET interrupted_seq = ?3
         WHERE finished_seq IS NULL
           AND agent IN (SELECT number FROM agent_rows WHERE session_id = ?1 AND id IN (SELECT value FROM json_each(?2)))",
        (&change.session, &agents, change.seq),
    )?;
    sessions::status(change, AgentState::Interrupted)
}

/// With what an agent goes on.
pub(super) struct Resumption<'a> {
    /// Empty in older events: then it is the same as before.
    pub(super) model: &'a str,
    pub(super) model_id: &'a str,
    pub(super) budget: &'a Budget,
}

/// The agent goes on; what it has used so far still counts. One that had not begun has still to begin.
pub(super) fn resumed(
    change: &Change<'_>,
    agent: &AgentFigures,
    resumption: &Resumption<'_>,
) -> Result<(), StoreError> {
    let budget = resumption.budget;
    change.run(
        "UPDATE agent_rows SET status = iif(started_at_ms IS NULL, 'pending', 'running'), interrupted_at_ms = NULL,
           delivered_at_ms = iif(ended_at_ms IS NULL, delivered_at_ms, NULL), ended_at_ms = NULL, duration_ms = NULL,
           error = NULL, budget_turns = ?2, budget_tokens = ?3, budget_time_ms = ?4, budget_cost_usd = ?5,
           model = coalesce(nullif(?6, ''), model), model_id = coalesce(nullif(?7, ''), model_id)
         WHERE number = ?1",
        (
            agent.number,
            budget.turns,
            budget.tokens.map(whole),
            budget.time_ms.map(whole),
            budget.cost_usd,
            resumption.model,
            resumption.model_id,
        ),
    )?;
    change.run(
        "UPDATE prompt_rows SET bailout_reason = NULL,
           status = iif(told, 'running', (SELECT iif(a.started_at_ms IS NULL, 'pending', 'running') FROM agent_rows a
                                          WHERE a.number = ?1))
         WHERE agent = ?1 AND completed_at IS NULL",
        (agent.number,),
    )?;
    sessions::runs(change, resumption.model)
}
