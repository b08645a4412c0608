//! The `call_rows` table: one row a call, open while it runs. A call that begins and ends in one transaction is
//! written once.

use posse_protocol::CallId;
use serde::Serialize;

use super::Sql;
use super::agent_figures::AgentFigures;
use super::figures::{figure, whole};
use crate::{StoreError, limits};

/// A call that has no row yet.
pub(super) struct NewCall<'a> {
    /// The agent's number.
    agent: i64,
    /// The prompt it was made under.
    prompt: Option<i64>,
    call: &'a CallId,
    tool: &'a str,
    /// None where the call was refused before anything ran.
    start: Option<CallStart<'a>>,
    end: Option<CallEnd>,
}

/// What is known of a call once it runs.
pub(super) struct CallStart<'a> {
    pub(super) seq: i64,
    pub(super) title: &'a str,
    pub(super) repeatable: bool,
}

/// How a call was answered.
pub(super) struct CallEnd {
    seq: i64,
    ok: bool,
    duration_ms: i64,
    output_bytes: i64,
}

impl CallEnd {
    pub(super) fn new(seq: i64, ok: bool, duration_ms: u64, output_bytes: usize) -> Self {
        Self { seq, ok, duration_ms: figure(duration_ms), output_bytes: whole(output_bytes as u64) }
    }
}

/// Notes that a call runs.
pub(super) fn started<'a>(
    calls: &mut Vec<NewCall<'a>>,
    agent: &AgentFigures,
    call: &'a CallId,
    tool: &'a str,
    start: CallStart<'a>,
) {
    let (agent, prompt) = (agent.number, agent.message);
    calls.push(NewCall { agent, prompt, call, tool, start: Some(start), end: None });
}

/// Closes the newest open call of this id; a call that never started was refused, and gets its row now.
pub(super) fn finished<'a>(
    sql: Sql<'_>,
    calls: &mut Vec<NewCall<'a>>,
    agent: &AgentFigures,
    call: &'a CallId,
    tool: &'a str,
    end: CallEnd,
) -> Result<(), StoreError> {
    let (agent, prompt) = (agent.number, agent.message);
    let open = |one: &&mut NewCall<'a>| one.end.is_none() && one.agent == agent && one.call == call;
    if let Some(known) = calls.iter_mut().rev().find(open) {
        known.end = Some(end);
        return Ok(());
    }
    let closed = sql.run(
        "UPDATE call_rows SET finished_seq = ?3, ok = ?4, duration_ms = ?5, output_bytes = ?6
         WHERE id = (SELECT max(id) FROM call_rows WHERE agent = ?1 AND call_id = ?2 AND finished_seq IS NULL)",
        (agent, &call.0, end.seq, end.ok, end.duration_ms, end.output_bytes),
    )?;
    if closed == 0 {
        calls.push(NewCall { agent, prompt, call, tool, start: None, end: Some(end) });
    }
    Ok(())
}

/// A call as a prompt lists it.
#[derive(Serialize)]
pub(super) struct Listed {
    id: String,
    tool: String,
    title: Option<String>,
    ok: Option<bool>,
    duration_ms: Option<i64>,
}

/// The first calls that an agent has made since it was given a prompt, in their order.
pub(super) fn since(
    sql: Sql<'_>,
    agent: &AgentFigures,
    prompt: i64,
    seq: i64,
) -> Result<Vec<Listed>, StoreError> {
    sql.ask_rows(
        "SELECT call_id, tool, title, ok, duration_ms FROM call_rows
         WHERE agent = ?1 AND prompt_id >= ?2 AND coalesce(started_seq, finished_seq) > ?3
         ORDER BY prompt_id, id LIMIT ?4",
        (agent.number, prompt, seq, whole(limits::TOOL_CALLS_LISTED_MAX as u64)),
        |row| {
            Ok(Listed {
                id: row.get(0)?,
                tool: row.get(1)?,
                title: row.get(2)?,
                ok: row.get(3)?,
                duration_ms: row.get(4)?,
            })
        },
    )
}

/// Gives each call its row, in the order in which they came.
pub(super) fn write(sql: Sql<'_>, calls: &mut Vec<NewCall<'_>>) -> Result<(), StoreError> {
    for NewCall { agent, prompt, call, tool, start, end } in calls.drain(..) {
        sql.run(
            "INSERT INTO call_rows (agent, prompt_id, call_id, tool, started_seq, title, repeatable, finished_seq, ok,
               duration_ms, output_bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            (
                agent,
                prompt,
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
