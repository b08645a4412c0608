//! Questions to a person that nobody has answered yet, as the record tells.

use posse_protocol::{AgentId, CallId, Event, EventKind, SessionId};

use crate::read::{Reader, read_event, rows_max};
use crate::rows::parsed;
use crate::{Store, StoreError, limits};

impl Store {
    /// The agents that wait for a person: of one session, or of all, newest sessions first.
    pub fn waiting_agents(
        &self,
        session: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<(SessionId, AgentId)>, StoreError> {
        let of = session.map(|session| session.to_string());
        // Agents that have not ended are few, and have an index of their own.
        let sql = "SELECT r.session_id, r.id FROM agent_rows r JOIN sessions s ON s.id = r.session_id
                   WHERE r.ended_at_ms IS NULL AND r.status = 'needs_person' AND r.session_id = coalesce(?1, r.session_id)
                   ORDER BY s.started_at_ms DESC, s.id DESC, r.number LIMIT ?2";
        self.ask(|reader| {
            reader.rows(sql, (of, rows_max(limit, limits::ROWS_MAX)), |row| {
                Ok((parsed(row, "session_id")?, parsed(row, "id")?))
            })
        })
    }

    /// The events with which an agent asked and was not answered since, oldest first.
    pub fn unanswered(&self, session: SessionId, agent: AgentId) -> Result<Vec<Event>, StoreError> {
        self.ask(|reader| unanswered(reader, session, agent))
    }
}

fn unanswered(reader: &Reader<'_>, session: SessionId, agent: AgentId) -> Result<Vec<Event>, StoreError> {
    let mut statement = reader.sql(reader.connection.prepare_cached(
        "SELECT e.*, e.id & 4294967295 AS seq
         FROM sessions s JOIN event_rows e ON e.id > s.number << 32 AND e.id < (s.number + 1) << 32
         WHERE s.id = ?1 AND e.agent_id = ?2
           AND e.type IN ('person_needed', 'person_answered', 'agent_resumed', 'agent_settled')
         ORDER BY e.id",
    ))?;
    let mut rows = reader.sql(statement.query((session.to_string(), agent.to_string())))?;
    let mut open: Vec<Event> = Vec::new();
    while let Some(row) = reader.sql(rows.next())? {
        // An event that cannot be read asks nothing that could be answered.
        let Ok(event) = read_event(reader.connection, session, row) else { continue };
        match &event.kind {
            EventKind::PersonNeeded { question } => {
                open.retain(|asked| call(asked) != Some(&question.call));
                open.push(event);
            }
            EventKind::PersonAnswered { call: answered, .. } => {
                open.retain(|asked| call(asked) != Some(answered));
            }
            // What it asked before is asked again, or not at all.
            _ => open.clear(),
        }
    }
    Ok(open)
}

fn call(event: &Event) -> Option<&CallId> {
    match &event.kind {
        EventKind::PersonNeeded { question } => Some(&question.call),
        _ => None,
    }
}
