//! From one event to the tables: the event itself, and everything derived from it, inside the writer's transaction.
//!
//! No work here grows with the session: totals are kept by adding, and only the end of a prompt reads the calls made
//! under it. It must not know when transactions begin or end.

mod agents;
mod figures;
mod messages;
mod sessions;
mod tool_calls;

use std::path::Path;

use posse_protocol::{EventKind, Sender, Seq};
use rusqlite::{Connection, Params};

use crate::queue::Prepared;
use crate::{NewEvent, StoreError};

/// The name of an event's type, as it is in the event's JSON.
pub(crate) fn type_word(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::SessionStarted { .. } => "session_started",
        EventKind::AgentAdmitted { .. } => "agent_admitted",
        EventKind::AgentQueued { .. } => "agent_queued",
        EventKind::AgentStarted { .. } => "agent_started",
        EventKind::Told { .. } => "told",
        EventKind::TurnStarted { .. } => "turn_started",
        EventKind::Retrying { .. } => "retrying",
        EventKind::Replied { .. } => "replied",
        EventKind::ModelFailed { .. } => "model_failed",
        EventKind::ToolStarted { .. } => "tool_started",
        EventKind::ToolFinished { .. } => "tool_finished",
        EventKind::Compacted { .. } => "compacted",
        EventKind::PersonNeeded { .. } => "person_needed",
        EventKind::PersonAnswered { .. } => "person_answered",
        EventKind::Checkpointed { .. } => "checkpointed",
        EventKind::Changed { .. } => "changed",
        EventKind::Merged { .. } => "merged",
        EventKind::Undone { .. } => "undone",
        EventKind::BackgroundStarted { .. } => "background_started",
        EventKind::BackgroundEnded { .. } => "background_ended",
        EventKind::ReportsDelivered { .. } => "reports_delivered",
        EventKind::AgentSettled { .. } => "agent_settled",
    }
}

/// One event on its way into the tables.
struct Change<'a> {
    connection: &'a Connection,
    path: &'a Path,
    event: &'a NewEvent,
    /// Its place, already given.
    seq: i64,
    /// The ids as the tables keep them.
    session: String,
    agent: String,
}

/// Puts one event on record, in the next place of its session, and derives what follows from it.
pub(crate) fn record(connection: &Connection, path: &Path, prepared: &Prepared) -> Result<Seq, StoreError> {
    let event = &prepared.event;
    let (session, agent) = (event.session.to_string(), event.agent.to_string());
    let mut change = Change { connection, path, event, seq: 0, session, agent };
    change.seq = sessions::next_place(&change)?;
    change.run(
        "INSERT INTO events (session_id, seq, agent_id, parent_id, at_ms, type, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        (
            &change.session,
            change.seq,
            &change.agent,
            event.parent.map(|id| id.to_string()),
            figures::whole(event.at_ms),
            type_word(&event.kind),
            &prepared.body,
        ),
    )?;
    project(&change)?;
    Ok(Seq(u64::try_from(change.seq).unwrap_or_default()))
}

fn project(change: &Change<'_>) -> Result<(), StoreError> {
    match &change.event.kind {
        EventKind::SessionStarted { .. } => Ok(()),
        EventKind::AgentAdmitted { name, role, depth, title, requested_model, context, continues } => {
            let admission = agents::Admission {
                name,
                role,
                depth: *depth,
                title,
                requested_model: requested_model.as_deref(),
                context: *context,
                continues: *continues,
            };
            agents::admitted(change, &admission)
        }
        EventKind::AgentStarted { role, depth, model, model_id, budget, system, grant: _, checkout: _ } => {
            agents::started(change, &agents::Start { role, depth: *depth, model, model_id, budget, system })?;
            sessions::agent_started(change, model)
        }
        kind => {
            if !agents::notes_itself(kind) {
                agents::seen(change)?;
            }
            project_work(change, kind)
        }
    }
}

/// What happens to an agent that is on record.
fn project_work(change: &Change<'_>, kind: &EventKind) -> Result<(), StoreError> {
    match kind {
        EventKind::SessionStarted { .. }
        | EventKind::AgentAdmitted { .. }
        | EventKind::AgentStarted { .. } => Ok(()),
        EventKind::AgentQueued { .. } => agents::queued(change),
        EventKind::Told { from: Sender::Person | Sender::Parent, text } => {
            messages::opened(change, text)?;
            sessions::told(change, text)
        }
        // Reminders, reports and letters are part of the work on the prompt before, not prompts of their own.
        EventKind::Told { from: Sender::Posse | Sender::Reports | Sender::Peer, .. } => Ok(()),
        EventKind::TurnStarted { .. } => {
            agents::turn_started(change)?;
            messages::turn_started(change)?;
            sessions::turn_started(change)
        }
        EventKind::Retrying { .. } => agents::retrying(change),
        EventKind::Replied { reply, .. } => {
            agents::replied(change, reply.usage)?;
            messages::replied(change, reply.usage)?;
            sessions::replied(change, reply.usage)
        }
        EventKind::ModelFailed { error, .. } => agents::model_failed(change, &error.message),
        EventKind::ToolStarted { call, tool, title } => tool_calls::started(change, call, tool, title),
        EventKind::ToolFinished { call, tool, ok, text, duration_ms, effects: _ } => {
            let end = tool_calls::End { tool, ok: *ok, output_bytes: text.len(), duration_ms: *duration_ms };
            tool_calls::finished(change, call, &end)?;
            agents::tool_finished(change)
        }
        EventKind::Compacted { .. } => {
            agents::compacted(change)?;
            messages::compacted(change)
        }
        EventKind::PersonNeeded { .. } => agents::person_needed(change),
        EventKind::PersonAnswered { .. } => agents::person_answered(change),
        // Read from the events themselves: they are few, and nobody asks about them often.
        EventKind::Checkpointed { .. }
        | EventKind::Changed { .. }
        | EventKind::Merged { .. }
        | EventKind::Undone { .. }
        | EventKind::BackgroundStarted { .. }
        | EventKind::BackgroundEnded { .. } => Ok(()),
        EventKind::ReportsDelivered { agents } => agents::delivered(change, agents),
        EventKind::AgentSettled { report } => {
            messages::settled(change, report)?;
            sessions::settled(change, report)?;
            agents::settled(change, report)
        }
    }
}

impl Change<'_> {
    /// Runs one statement and says how many rows it changed.
    fn run(&self, sql: &str, parameters: impl Params) -> Result<usize, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(parameters))
            .map_err(|e| StoreError::from_sql(self.path, e))
    }

    /// Whether this is about the main agent, whose state is the session's.
    fn is_main(&self) -> bool {
        self.event.parent.is_none()
    }
}
