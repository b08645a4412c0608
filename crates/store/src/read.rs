//! Queries. Each runs on a connection that cannot write, so that no question holds up the writer.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use posse_protocol::{Event, EventKind, Seq, SessionId};
use rusqlite::{Connection, Row};

use crate::rows::{maybe_parsed, parsed};
use crate::{AgentRow, SessionRow, StoreError, blobs, connection, limits};

/// Read connections that wait for the next question.
pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), idle: Mutex::default() }
    }

    /// Asks on an idle connection, or on a new one if all are busy.
    pub(crate) fn with<T>(
        &self,
        ask: impl FnOnce(&Reader<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connection::open_reader(&self.path)?,
        };
        let answer = ask(&Reader { connection: &connection, path: &self.path });
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < limits::READERS_IDLE_MAX {
            idle.push(connection);
        }
        answer
    }
}

/// One connection while it is being asked.
pub(crate) struct Reader<'a> {
    pub(crate) connection: &'a Connection,
    path: &'a Path,
}

impl Reader<'_> {
    pub(crate) fn events_after(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let mut statement = self.sql(self.connection.prepare_cached(
            "SELECT e.id & 4294967295 AS seq, e.agent_id, e.parent_id, e.at_ms, e.body, e.blob_bytes
             FROM sessions s JOIN event_rows e ON e.id > (s.number << 32) + ?2 AND e.id < (s.number + 1) << 32
             WHERE s.id = ?1 ORDER BY e.id LIMIT ?3",
        ))?;
        // Beyond this place there are none.
        let after = u32::try_from(after.0).unwrap_or(u32::MAX);
        let parameters = (session.to_string(), after, rows_max(limit, limits::PAGE_EVENTS_MAX));
        let mut rows = self.sql(statement.query(parameters))?;
        let mut events = Vec::new();
        let mut bytes = 0;
        while let Some(row) = self.sql(rows.next())? {
            let body = self.sql(row.get_ref("body"))?.as_bytes().map_or(0, <[u8]>::len);
            let blobs: i64 = self.sql(row.get("blob_bytes"))?;
            bytes += body.saturating_add(usize::try_from(blobs).unwrap_or(0));
            if bytes > limits::PAGE_BYTES_MAX && !events.is_empty() {
                break;
            }
            match read_event(self.connection, session, row) {
                Ok(event) => events.push(event),
                Err(_) if !events.is_empty() => break,
                Err(detail) => {
                    let seq: i64 = self.sql(row.get("seq"))?;
                    let seq = Seq(u64::try_from(seq).unwrap_or(0));
                    return Err(StoreError::DamagedEvent { session, seq, detail });
                }
            }
        }
        Ok(events)
    }

    pub(crate) fn sessions(&self, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        self.rows(
            "SELECT * FROM sessions ORDER BY started_at_ms DESC, id DESC LIMIT ?1",
            (rows_max(limit, limits::ROWS_MAX),),
            SessionRow::read,
        )
    }

    /// Oldest first.
    pub(crate) fn sessions_before(&self, at_ms: u64, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        self.rows(
            "SELECT * FROM sessions WHERE last_at_ms < ?1 AND status <> 'running'
               AND NOT EXISTS (SELECT 1 FROM agent_rows a WHERE a.session_id = sessions.id
                               AND a.ended_at_ms IS NULL AND a.status <> 'interrupted')
             ORDER BY last_at_ms, id LIMIT ?2",
            (i64::try_from(at_ms).unwrap_or(i64::MAX), rows_max(limit, limits::ROWS_MAX)),
            SessionRow::read,
        )
    }

    pub(crate) fn unfinished(&self) -> Result<Vec<SessionRow>, StoreError> {
        self.rows(
            "SELECT * FROM sessions WHERE status = 'running'
               OR id IN (SELECT session_id FROM agent_rows WHERE ended_at_ms IS NULL AND status <> 'interrupted')
             ORDER BY started_at_ms DESC, id DESC LIMIT ?1",
            (rows_max(limits::ROWS_MAX, usize::MAX),),
            SessionRow::read,
        )
    }

    /// Whether something of a kind happened in a session.
    pub(crate) fn has_event(&self, session: SessionId, kind: &str) -> Result<bool, StoreError> {
        let found: Vec<bool> = self.rows(
            "SELECT EXISTS (SELECT 1 FROM events WHERE session_id = ?1 AND type = ?2)",
            (session.to_string(), kind),
            |row| row.get(0),
        )?;
        Ok(found == [true])
    }

    pub(crate) fn find_session(&self, wanted: &str) -> Result<SessionRow, StoreError> {
        let missing = || StoreError::NoSession { wanted: wanted.to_owned() };
        if wanted == "last" {
            return self.sessions(1)?.pop().ok_or_else(missing);
        }
        let prefix = wanted.to_ascii_lowercase();
        if prefix.is_empty() || !prefix.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
            return Err(missing());
        }
        // Ids are made of 0-9, a-f and -, so every id that begins with the prefix sorts before prefix + "g". An id begins with
        // the time, and its end tells sessions apart in fewer characters.
        let mut found = self.rows(
            "SELECT * FROM sessions WHERE (id >= ?1 AND id < ?1 || 'g') OR substr(id, -length(?1)) = ?1
             ORDER BY started_at_ms DESC, id DESC LIMIT ?2",
            (prefix, rows_max(limits::AMBIGUOUS_LISTED_MAX + 1, usize::MAX)),
            SessionRow::read,
        )?;
        if found.len() > 1 {
            let more = found.len() > limits::AMBIGUOUS_LISTED_MAX;
            let ids = found.iter().take(limits::AMBIGUOUS_LISTED_MAX).map(|s| s.id).collect();
            return Err(StoreError::Ambiguous { prefix: wanted.to_owned(), ids, more });
        }
        found.pop().ok_or_else(missing)
    }

    pub(crate) fn agents(&self, session: SessionId) -> Result<Vec<AgentRow>, StoreError> {
        self.rows(
            "SELECT * FROM agents WHERE session_id = ?1 ORDER BY rowid LIMIT ?2",
            (session.to_string(), rows_max(limits::ROWS_MAX, usize::MAX)),
            AgentRow::read,
        )
    }

    pub(crate) fn rows<T>(
        &self,
        question: &str,
        parameters: impl rusqlite::Params,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.sql(self.connection.prepare_cached(question))?;
        let rows = self.sql(statement.query_map(parameters, read))?;
        self.sql(rows.collect())
    }

    pub(crate) fn sql<T>(&self, outcome: rusqlite::Result<T>) -> Result<T, StoreError> {
        outcome.map_err(|e| StoreError::from_sql(self.path, e))
    }
}

pub(crate) fn rows_max(limit: usize, max: usize) -> i64 {
    i64::try_from(limit.min(max)).unwrap_or(i64::MAX)
}

/// Reads one event, with the texts it refers to; what is wrong with it is told in words, because the rest of the
/// record may be fine.
pub(crate) fn read_event(
    connection: &Connection,
    session: SessionId,
    row: &Row<'_>,
) -> Result<Event, String> {
    let words = |e: rusqlite::Error| e.to_string();
    let body = row.get_ref("body").map_err(words)?.as_str().map_err(|e| e.to_string())?;
    let blob_bytes: i64 = row.get("blob_bytes").map_err(words)?;
    let kind = blobs::read(connection, body, blob_bytes != 0)?;
    read_envelope(session, row, kind).map_err(words)
}

fn read_envelope(session: SessionId, row: &Row<'_>, kind: EventKind) -> rusqlite::Result<Event> {
    let (seq, at_ms): (i64, i64) = (row.get("seq")?, row.get("at_ms")?);
    Ok(Event {
        seq: Seq(u64::try_from(seq).unwrap_or(0)),
        session,
        agent: parsed(row, "agent_id")?,
        parent: maybe_parsed(row, "parent_id")?,
        at_ms: u64::try_from(at_ms).unwrap_or(0),
        kind,
    })
}
