//! The `tool_calls` table: one row a call, open while it runs.

use posse_protocol::CallId;

use super::Change;
use super::figures::{figure, whole};
use crate::StoreError;

/// How a call was answered.
pub(super) struct End<'a> {
    pub(super) tool: &'a str,
    pub(super) ok: bool,
    pub(super) output_bytes: usize,
    pub(super) duration_ms: u64,
}

pub(super) fn started(change: &Change<'_>, call: &CallId, tool: &str, title: &str) -> Result<(), StoreError> {
    change
        .run(
            "INSERT INTO tool_calls (session_id, agent_id, call_id, started_seq, tool, title)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            (&change.session, &change.agent, &call.0, change.seq, tool, title),
        )
        .map(drop)
}

/// Closes the newest open call of this id; a call that never started was refused, and gets its row now.
pub(super) fn finished(change: &Change<'_>, call: &CallId, end: &End<'_>) -> Result<(), StoreError> {
    let duration_ms = figure(end.duration_ms);
    let output_bytes = whole(end.output_bytes as u64);
    let closed = change.run(
        "UPDATE tool_calls SET finished_seq = ?4, ok = ?5, duration_ms = ?6, output_bytes = ?7
         WHERE id = (SELECT max(id) FROM tool_calls
                     WHERE session_id = ?1 AND agent_id = ?2 AND call_id = ?3 AND finished_seq IS NULL)",
        (&change.session, &change.agent, &call.0, change.seq, end.ok, duration_ms, output_bytes),
    )?;
    if closed == 0 {
        change.run(
            "INSERT INTO tool_calls
               (session_id, agent_id, call_id, finished_seq, tool, ok, duration_ms, output_bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            (
                &change.session,
                &change.agent,
                &call.0,
                change.seq,
                end.tool,
                end.ok,
                duration_ms,
                output_bytes,
            ),
        )?;
    }
    Ok(())
}
