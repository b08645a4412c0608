//! What was done to the workspace: checkpoints, and whose work was taken back or merged.

use posse_protocol::{AgentId, Seq};

use super::Change;
use super::figures::whole;
use crate::StoreError;

pub(super) fn checkpointed(change: &Change<'_>, turn: u32, commit: &str) -> Result<(), StoreError> {
    change
        .run(
            "INSERT INTO checkpoints (session_id, seq, agent_id, turn, commit_id, at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            (&change.session, change.seq, &change.agent, turn, commit, whole(change.event.at_ms)),
        )
        .map(drop)
}

/// Counted for the agent whose work it was, not for the one that brought it in.
pub(super) fn merged(change: &Change<'_>, from: AgentId, conflicts: usize) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE agent_rows SET merges = merges + 1, merge_conflicts = merge_conflicts + ?3
             WHERE session_id = ?1 AND id = ?2",
            (&change.session, from.to_string(), conflicts > 0),
        )
        .map(drop)
}

/// Counted once for each agent that lost changes. Bringing changes back is no such loss: then the events are those of
/// the undoing.
pub(super) fn undone(change: &Change<'_>, events: &[Seq]) -> Result<(), StoreError> {
    let events =
        serde_json::to_string(events).map_err(|source| StoreError::NotJson { kind: "undone", source })?;
    change
        .run(
            "UPDATE agent_rows SET undone = undone + 1
             WHERE session_id = ?1 AND id IN (
               SELECT iif(type = 'merged', body ->> '$.from', agent_id) FROM event_rows
               WHERE id IN (SELECT ?3 + value FROM json_each(?2)) AND type IN ('changed', 'merged'))",
            (&change.session, events, change.key - change.seq),
        )
        .map(drop)
}
