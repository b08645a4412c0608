//! The `tool_calls` table: one row a call, open while it runs. A call that begins and ends in one transaction is
//! written once.

use posse_protocol::{AgentId, CallId, SessionId};

use super::figures::{figure, whole};
use super::{Change, Sql};
use crate::StoreError;

/// A call that has no row yet.
pub(super) struct Call<'a> {
    session: SessionId,
    agent: AgentId,
    call: &'a CallId,
    tool: &'a str,
    /// None where the call was refused before anything ran.
    start: Option<Start<'a>>,
    end: Option<End>,
}

/// What is known of a call once it runs.
pub(super) struct Start<'a> {
    pub(super) seq: i64,
    pub(super) title: &'a str,
    pub(super) repeatable: bool,
}

/// How a call was answered.
pub(super) struct End {
    seq: i64,
    ok: bool,
    duration_ms: i64,
    output_bytes: i64,
}

impl End {
    pub(super) fn new(seq: i64, ok: bool, duration_ms: u64, output_bytes: usize) -> Self {
        Self { seq, ok, duration_ms: figure(duration_ms), output_bytes: whole(output_bytes as u64) }
    }
}

/// Notes that a call runs.
pub(super) fn started<'a>(
    calls: &mut Vec<Call<'a>>,
    change: &Change<'a>,
    call: &'a CallId,
    tool: &'a str,
    start: Start<'a>,
) {
    let (session, agent) = (change.event.session, change.event.agent);
    calls.push(Call { session, agent, call, tool, start: Some(start), end: None });
}

/// Closes the newest open call of this id; a call that never started was refused, and gets its row now.
pub(super) fn finished<'a>(
    calls: &mut Vec<Call<'a>>,
    change: &Change<'a>,
    call: &'a CallId,
    tool: &'a str,
    end: End,
) -> Result<(), StoreError> {
    let (session, agent) = (change.event.session, change.event.agent);
    let open = |one: &&mut Call<'a>| {
        one.end.is_none() && one.call == call && one.agent == agent && one.session == session
    };
    if let Some(known) = calls.iter_mut().rev().find(open) {
        known.end = Some(end);
        return Ok(());
    }
    let closed = change.run(
        "UPDATE tool_calls SET finished_seq = ?4, ok = ?5, duration_ms = ?6, output_bytes = ?7
         WHERE id = (SELECT max(id) FROM tool_calls
                     WHERE session_id = ?1 AND agent_id = ?2 AND call_id = ?3 AND finished_seq IS NULL)",
        (&change.session, &change.agent, &call.0, end.seq, end.ok, end.duration_ms, end.output_bytes),
    )?;
    if closed == 0 {
        calls.push(Call { session, agent, call, tool, start: None, end: Some(end) });
    }
    Ok(())
}

/// Gives each call its row, in the order in which they came.
pub(super) fn write(sql: Sql<'_>, calls: &mut Vec<Call<'_>>) -> Result<(), StoreError> {
    for Call { session, agent, call, tool, start, end } in calls.drain(..) {
        sql.run(
            "INSERT INTO tool_calls (session_id, agent_id, call_id, tool, started_seq, title, repeatable, finished_seq,
               ok, duration_ms, output_bytes, prompt_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
               (SELECT id FROM prompts WHERE session_id = ?1 AND agent_id = ?2 AND seq < coalesce(?5, ?8)
                ORDER BY id DESC LIMIT 1))",
            (
                session.to_string(),
                agent.to_string(),
                &call.0,
                tool,
                start.as_ref().map(|start| start.seq),
                start.as_ref().map(|start| start.title),
                start.as_ref().map(|start| start.repeatable),
                end.as_ref().map(|end| end.seq),
                end.as_ref().map(|end| end.ok),
                end.as_ref().map(|end| end.duration_ms),
                end.as_ref().map(|end| end.output_bytes),
            ),
        )?;
    }
    Ok(())
}
