//! The conversation of one agent, a page at a time, the newest first; and the folders that sessions were in.

use posse_protocol::{AgentId, Event, Seq, SessionId};
use rusqlite::Row;

use crate::read::{Reader, read_event, rows_max};
use crate::{Store, StoreError, limits};

impl Store {
    /// The newest events of an agent before a place, in order, and the admissions of its sub-agents among them. A page is
    /// bounded in bytes, too, and has at least one event if there is one. An event that is damaged is left out.
    pub fn transcript(
        &self,
        session: SessionId,
        agent: AgentId,
        before: Seq,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        self.ask(|reader| reader.transcript(session, agent, before, limit))
    }

    /// The folders of sessions, those of the newest first.
    pub fn folders(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        self.ask(|reader| {
            reader.rows(
                "SELECT workspace FROM sessions GROUP BY workspace ORDER BY max(started_at_ms) DESC LIMIT ?1",
                (rows_max(limit, limits::ROWS_MAX),),
                |row: &Row<'_>| row.get(0),
            )
        })
    }

    /// A number that is another one after anything was put on record or taken off it.
    pub fn pulse(&self) -> Result<(u64, u64), StoreError> {
        let sql = "SELECT count(*), coalesce(sum(last_seq), 0) FROM sessions";
        let found: Vec<(i64, i64)> =
            self.ask(|reader| reader.rows(sql, (), |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?))))?;
        let number = |n: i64| u64::try_from(n).unwrap_or(0);
        Ok(found.first().map(|(count, sum)| (number(*count), number(*sum))).unwrap_or_default())
    }
}

impl Reader<'_> {
    fn transcript(
        &self,
        session: SessionId,
        agent: AgentId,
        before: Seq,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let mut statement = self.sql(self.connection.prepare_cached(
            "SELECT e.id & 4294967295 AS seq, e.agent_id, e.parent_id, e.at_ms, e.body, e.blob_bytes
             FROM sessions s JOIN event_rows e ON e.id > (s.number << 32) AND e.id < (s.number << 32) + ?3
             WHERE s.id = ?1 AND (e.agent_id = ?2 OR (e.parent_id = ?2 AND e.type = 'agent_admitted'))
             ORDER BY e.id DESC LIMIT ?4",
        ))?;
        let before = u32::try_from(before.0).unwrap_or(u32::MAX);
        let limit = rows_max(limit, limits::PAGE_EVENTS_MAX);
        let mut rows = self.sql(statement.query((session.to_string(), agent.to_string(), before, limit)))?;
        let (mut events, mut bytes) = (Vec::new(), 0usize);
        while let Some(row) = self.sql(rows.next())? {
            let body = self.sql(row.get_ref("body"))?.as_bytes().map_or(0, <[u8]>::len);
            let blobs: i64 = self.sql(row.get("blob_bytes"))?;
            bytes = bytes.saturating_add(body).saturating_add(usize::try_from(blobs).unwrap_or(0));
            if bytes > limits::TRANSCRIPT_BYTES_MAX && !events.is_empty() {
                break;
            }
            events.extend(read_event(self.connection, session, row));
        }
        events.reverse();
        Ok(events)
    }
}
