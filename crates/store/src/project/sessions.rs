//! The `sessions` table: places are given here, and totals over all agents are kept.

use std::rc::Rc;

use posse_protocol::{AgentState, EventKind, Seq, SessionId, title_of};
use rusqlite::ErrorCode;

use super::figures::whole;
use super::tally::SessionTally;
use super::{Change, Sql};
use crate::{NewEvent, StoreError};

/// One session in this transaction.
pub(super) struct OpenSession {
    /// What its events are keyed by.
    number: i64,
    /// Its id as the tables keep it.
    pub(super) id: Rc<str>,
    /// What its row is found by while the transaction lasts.
    row: i64,
    /// The last place given.
    last: i64,
    tally: SessionTally,
}

impl OpenSession {
    /// Reads where a session is. The transaction holds the write lock, so that several processes may write to one
    /// session without a gap. No place is given where the events do not end where the session's row says.
    pub(super) fn read(sql: Sql<'_>, session: SessionId) -> Result<Self, StoreError> {
        let id: Rc<str> = session.to_string().into();
        let found = sql.ask_row(
            "SELECT rowid, number, last_seq,
               (SELECT max(id) FROM event_rows WHERE id < (number + 1) << 32) - (number << 32)
             FROM sessions WHERE id = ?1",
            (&id,),
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, Option<i64>>(3)?)),
        )?;
        let (row, number, last, on_record) = found.ok_or(StoreError::UnknownSession { session })?;
        // Without any event, that is the last one of the session before.
        let on_record = on_record.unwrap_or_default().max(0);
        if on_record != last {
            let place = |place: i64| Seq(u64::try_from(place).unwrap_or_default());
            return Err(StoreError::OutOfStep { session, said: place(last), found: place(on_record) });
        }
        Ok(Self { number, id, row, last, tally: SessionTally::default() })
    }

    /// Gives an event its place and adds up what it tells.
    pub(super) fn take(&mut self, event: &NewEvent) -> i64 {
        self.tally.note(event);
        self.last += 1;
        self.last
    }

    /// What the event in a place is keyed by.
    pub(super) fn key(&self, seq: i64) -> i64 {
        (self.number << 32) + seq
    }

    /// What is added to its row at the end.
    pub(super) fn tally(&mut self) -> &mut SessionTally {
        &mut self.tally
    }

    /// Writes which place was the last one given, and what has been added up.
    pub(super) fn write(&self, sql: Sql<'_>) -> Result<(), StoreError> {
        let SessionTally { last_at_ms, turns, tokens, cost } = &self.tally;
        let written = if self.tally.has_figures() {
            let parameters = rusqlite::params![
                self.row,
                self.last,
                last_at_ms,
                turns,
                tokens.input,
                tokens.cached,
                tokens.cache_write,
                tokens.output,
                tokens.reasoning,
                cost.usd,
                cost.unknown
            ];
            sql.run(
                "UPDATE sessions SET last_seq = ?2, last_at_ms = max(last_at_ms, ?3), turns = turns + ?4,
                   input_tokens       = iif(?5 IS NULL, input_tokens,       coalesce(input_tokens, 0) + ?5),
                   cached_tokens      = iif(?6 IS NULL, cached_tokens,      coalesce(cached_tokens, 0) + ?6),
                   cache_write_tokens = iif(?7 IS NULL, cache_write_tokens, coalesce(cache_write_tokens, 0) + ?7),
                   output_tokens      = iif(?8 IS NULL, output_tokens,      coalesce(output_tokens, 0) + ?8),
                   reasoning_tokens   = iif(?9 IS NULL, reasoning_tokens,   coalesce(reasoning_tokens, 0) + ?9),
                   cost_usd           = iif(?10 IS NULL, cost_usd,          coalesce(cost_usd, 0) + ?10),
                   cost_unknown       = max(0, cost_unknown + ?11)
                 WHERE rowid = ?1",
                parameters,
            )
        } else {
            let sql_text =
                "UPDATE sessions SET last_seq = ?2, last_at_ms = max(last_at_ms, ?3) WHERE rowid = ?1";
            sql.run(sql_text, (self.row, self.last, last_at_ms))
        };
        written.map(drop)
    }
}

/// A new session, which has no events yet.
pub(super) fn start(sql: Sql<'_>, event: &NewEvent) -> Result<(), StoreError> {
    let EventKind::SessionStarted { workspace, version, project, surface, .. } = &event.kind else {
        return Ok(());
    };
    // Older programs that only know the workspace mean it.
    let project = if project.is_empty() { workspace } else { project };
    let outcome = sql.run(
        "INSERT INTO sessions (id, number, started_at_ms, last_at_ms, last_seq, workspace, version, project, surface)
         VALUES (?1, 1 + coalesce((SELECT max(number) FROM sessions), 0), ?2, ?2, 0, ?3, ?4, ?5, ?6)",
        (event.session.to_string(), whole(event.at_ms), workspace, version, project, surface),
    );
    match outcome {
        Err(StoreError::Sql { source, .. })
            if source.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) =>
        {
            Err(StoreError::SessionExists { session: event.session })
        }
        outcome => outcome.map(drop),
    }
}

/// The main agent begins or goes on; an older event may not say with which model.
pub(super) fn runs(change: &Change<'_>, model: &str) -> Result<(), StoreError> {
    if change.is_main() {
        change.run(
            "UPDATE sessions SET model = coalesce(nullif(?2, ''), model), status = 'running' WHERE id = ?1",
            (&change.session, model),
        )?;
    }
    Ok(())
}

pub(super) fn told(change: &Change<'_>, text: &str) -> Result<(), StoreError> {
    if change.is_main() {
        let title = Some(title_of(text)).filter(|title| !title.is_empty());
        change.run(
            "UPDATE sessions SET title = coalesce(title, ?2), status = 'running' WHERE id = ?1",
            (&change.session, title),
        )?;
    }
    Ok(())
}

/// The main agent continues with another model.
pub(super) fn model_changed(change: &Change<'_>, model: &str) -> Result<(), StoreError> {
    if change.is_main() {
        change.run("UPDATE sessions SET model = ?2 WHERE id = ?1", (&change.session, model))?;
    }
    Ok(())
}

/// The session has the title that it was given, or has it no more.
pub(super) fn named(change: &Change<'_>, title: &str) -> Result<(), StoreError> {
    change
        .run("UPDATE sessions SET given_title = nullif(?2, '') WHERE id = ?1", (&change.session, title))
        .map(drop)
}

/// The session goes on, or does not.
pub(super) fn status(change: &Change<'_>, status: AgentState) -> Result<(), StoreError> {
    change.run("UPDATE sessions SET status = ?2 WHERE id = ?1", (&change.session, status.word())).map(drop)
}
