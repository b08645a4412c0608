//! Bringing the search index up to date: events are read on the caller's side, page by page, and written in short
//! transactions by the one writer. Several processes may do it at once; each page goes in once. It must not know
//! how searching is done.

use std::path::Path;

use posse_protocol::{AgentId, EventKind, Sender, SessionId};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::{Hit, HitKind};
use crate::read::{Reader, read_event, rows_max};
use crate::{Store, StoreError, limits};

/// One thing said.
struct Entry {
    seq: i64,
    agent: AgentId,
    what: HitKind,
    at_ms: i64,
    text: String,
}

/// The next events of one session.
struct Page {
    session: SessionId,
    /// The place before the first of them.
    after: i64,
    /// The place of the last one looked at.
    upto: i64,
    entries: Vec<Entry>,
}

/// Pages that go into one transaction.
#[derive(Default)]
struct Pages {
    pages: Vec<Page>,
    bytes: usize,
}

/// How a page went in.
#[derive(PartialEq)]
enum Kept {
    Now,
    /// Somebody else has got further with this session, or it is gone.
    NotNeeded,
}

/// Everything that is on record now is in the index afterwards.
pub(super) fn catch_up(store: &Store) -> Result<(), StoreError> {
    // Where somebody else indexes the same session, what is left of it is looked at again.
    while !one_round(store)? {}
    Ok(())
}

/// Goes through the sessions that have something new, and says whether all of it went in.
fn one_round(store: &Store) -> Result<bool, StoreError> {
    let mut waiting = Pages::default();
    let mut complete = true;
    for (session, mut after, last) in store.ask(sessions_behind)? {
        while after < last {
            let page = store.ask(|reader| read_page(reader, session, after, last))?;
            after = page.upto;
            waiting.add(page);
            if waiting.bytes >= limits::INDEX_BYTES_MAX || waiting.pages.len() >= limits::INDEX_PAGES_MAX {
                complete &= waiting.write(store)?;
            }
        }
    }
    Ok(waiting.write(store)? && complete)
}

/// Sessions with events that are not in the index: up to where they are, and up to where they go.
fn sessions_behind(reader: &Reader<'_>) -> Result<Vec<(SessionId, i64, i64)>, StoreError> {
    let behind = reader.rows(
        "SELECT s.id, coalesce(p.seq, 0), s.last_seq
         FROM sessions s LEFT JOIN search_progress p ON p.session_id = s.id
         WHERE s.last_seq > coalesce(p.seq, 0) ORDER BY s.started_at_ms",
        (),
        |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)),
    )?;
    // An id that is none is damage; it must not keep the others from being found.
    Ok(behind.into_iter().filter_map(|(id, after, last)| Some((id.parse().ok()?, after, last))).collect())
}

fn read_page(reader: &Reader<'_>, session: SessionId, after: i64, last: i64) -> Result<Page, StoreError> {
    let mut statement = reader.sql(reader.connection.prepare_cached(
        "SELECT e.*, e.id & 4294967295 AS seq
         FROM sessions s JOIN event_rows e ON e.id > (s.number << 32) + ?2 AND e.id <= (s.number << 32) + ?3
         WHERE s.id = ?1 AND e.type IN ('told', 'replied', 'tool_started', 'agent_settled')
         ORDER BY e.id LIMIT ?4",
    ))?;
    let events_max = rows_max(limits::INDEX_EVENTS_MAX, usize::MAX);
    let mut rows = reader.sql(statement.query((session.to_string(), after, last, events_max)))?;
    let mut page = Page { session, after, upto: last, entries: Vec::new() };
    let (mut events, mut bytes) = (0, 0);
    while let Some(row) = reader.sql(rows.next())? {
        let seq: i64 = reader.sql(row.get("seq"))?;
        events += 1;
        if let Ok(event) = read_event(reader.connection, session, row)
            && let Some((what, text)) = said(&event.kind)
        {
            let text = plain(text);
            bytes += text.len();
            let at_ms = i64::try_from(event.at_ms).unwrap_or(i64::MAX);
            page.entries.push(Entry { seq, agent: event.agent, what, at_ms, text });
        }
        if events == limits::INDEX_EVENTS_MAX || bytes >= limits::INDEX_BYTES_MAX {
            page.upto = seq;
            break;
        }
    }
    page.entries.retain(|entry| !entry.text.is_empty());
    Ok(page)
}

/// What can be found of an event. What tools put out is not: it is large, and mostly the person's own files.
fn said(kind: &EventKind) -> Option<(HitKind, &str)> {
    match kind {
        EventKind::Told { from: Sender::Person | Sender::Parent, text, .. } => Some((HitKind::Prompt, text)),
        EventKind::Replied { reply, .. } => Some((HitKind::Reply, &reply.text)),
        EventKind::ToolStarted { title, .. } => Some((HitKind::Tool, title)),
        EventKind::AgentSettled { report } => Some((HitKind::Report, &report.text)),
        _ => None,
    }
}

/// One line without control characters, so that snippets are lines and their marks are unambiguous.
fn plain(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(limits::INDEXED_TEXT_BYTES_MAX)];
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.trim().to_owned()
}

impl Pages {
    fn add(&mut self, page: Page) {
        self.bytes += page.entries.iter().map(|entry| entry.text.len()).sum::<usize>();
        self.pages.push(page);
    }

    /// Writes what waits, and says whether every page went in.
    fn write(&mut self, store: &Store) -> Result<bool, StoreError> {
        let Self { pages, .. } = std::mem::take(self);
        if pages.is_empty() {
            return Ok(true);
        }
        let path = store.path().to_path_buf();
        store.work(move |connection| keep_all(connection, &path, &pages))
    }
}

fn keep_all(connection: &mut Connection, path: &Path, pages: &[Page]) -> Result<bool, StoreError> {
    let mut keep = || {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut all = true;
        for page in pages {
            all &= keep_page(&transaction, page)? == Kept::Now;
        }
        transaction.commit().map(|()| all)
    };
    keep().map_err(|e| StoreError::from_sql(path, e))
}

fn keep_page(transaction: &Transaction<'_>, page: &Page) -> rusqlite::Result<Kept> {
    let session = page.session.to_string();
    let progress: Option<i64> = transaction
        .prepare_cached(
            "SELECT coalesce(p.seq, 0) FROM sessions s LEFT JOIN search_progress p ON p.session_id = s.id
             WHERE s.id = ?1",
        )?
        .query_row((&session,), |row| row.get(0))
        .optional()?;
    if progress != Some(page.after) {
        return Ok(Kept::NotNeeded);
    }
    for entry in &page.entries {
        keep_entry(transaction, &session, entry)?;
    }
    transaction
        .prepare_cached(
            "INSERT INTO search_progress (session_id, seq) VALUES (?1, ?2)
             ON CONFLICT DO UPDATE SET seq = excluded.seq",
        )?
        .execute((&session, page.upto))?;
    Ok(Kept::Now)
}

fn keep_entry(transaction: &Transaction<'_>, session: &str, entry: &Entry) -> rusqlite::Result<()> {
    let agent = entry.agent.to_string();
    // The marks of what was found must not be in the text itself: their pictures stand for them.
    let text = entry.text.replace(Hit::MARK_BEGIN, "\u{2402}").replace(Hit::MARK_END, "\u{2403}");
    let parameters = (session, entry.seq, &agent, entry.what.word(), entry.at_ms, &text);
    if entry.what == HitKind::Report {
        // Most often the report is the last reply, and should be found once.
        let same = transaction
            .prepare_cached(
                "UPDATE search SET seq = ?2, what = ?4, at_ms = ?5
                 WHERE text = ?6 AND id = (SELECT max(id) FROM search
                                           WHERE session_id = ?1 AND agent_id = ?3 AND what = 'reply')",
            )?
            .execute(parameters)?;
        if same > 0 {
            return Ok(());
        }
    }
    transaction
        .prepare_cached(
            "INSERT INTO search (session_id, seq, agent_id, what, at_ms, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(parameters)
        .map(drop)
}
