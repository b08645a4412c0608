//! The `sessions` table: places are given here, and totals over all agents are kept.

use posse_protocol::{EventKind, Report, Usage};
use rusqlite::{ErrorCode, OptionalExtension};

use super::Change;
use super::figures::{Tokens, one_line, whole};
use crate::{StoreError, limits};

/// The place of this event. The row itself holds the last one given, and the transaction holds the write lock, so
/// that several processes may write to one session without a gap.
pub(super) fn next_place(change: &Change<'_>) -> Result<i64, StoreError> {
    if let EventKind::SessionStarted { workspace, version, sandboxed: _ } = &change.event.kind {
        return start(change, workspace, version);
    }
    let sql = "UPDATE sessions SET last_seq = last_seq + 1, last_at_ms = max(last_at_ms, ?2)
               WHERE id = ?1 RETURNING last_seq";
    change
        .connection
        .prepare_cached(sql)
        .and_then(|mut statement| {
            let parameters = (&change.session, whole(change.event.at_ms));
            statement.query_row(parameters, |row| row.get(0)).optional()
        })
        .map_err(|e| StoreError::from_sql(change.path, e))?
        .ok_or(StoreError::UnknownSession { session: change.event.session })
}

fn start(change: &Change<'_>, workspace: &str, version: &str) -> Result<i64, StoreError> {
    let at_ms = whole(change.event.at_ms);
    let outcome = change.run(
        "INSERT INTO sessions (id, started_at_ms, last_at_ms, last_seq, workspace, version)
         VALUES (?1, ?2, ?2, 1, ?3, ?4)",
        (&change.session, at_ms, workspace, version),
    );
    match outcome {
        Err(StoreError::Sql { source, .. })
            if source.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) =>
        {
            Err(StoreError::SessionExists { session: change.event.session })
        }
        outcome => outcome.map(|_| 1),
    }
}

pub(super) fn agent_started(change: &Change<'_>, model: &str) -> Result<(), StoreError> {
    if change.is_main() {
        change.run(
            "UPDATE sessions SET model = ?2, status = 'running' WHERE id = ?1",
            (&change.session, model),
        )?;
    }
    Ok(())
}

pub(super) fn told(change: &Change<'_>, text: &str) -> Result<(), StoreError> {
    if change.is_main() {
        let title = Some(one_line(text, limits::TITLE_CHARS_MAX)).filter(|title| !title.is_empty());
        change.run(
            "UPDATE sessions SET title = coalesce(title, ?2), status = 'running' WHERE id = ?1",
            (&change.session, title),
        )?;
    }
    Ok(())
}

pub(super) fn turn_started(change: &Change<'_>) -> Result<(), StoreError> {
    change.run("UPDATE sessions SET turns = turns + 1 WHERE id = ?1", (&change.session,)).map(drop)
}

pub(super) fn replied(change: &Change<'_>, usage: Usage) -> Result<(), StoreError> {
    change
        .run(
            "UPDATE sessions SET
               input_tokens       = iif(?1 IS NULL, input_tokens,       coalesce(input_tokens, 0) + ?1),
               cached_tokens      = iif(?2 IS NULL, cached_tokens,      coalesce(cached_tokens, 0) + ?2),
               cache_write_tokens = iif(?3 IS NULL, cache_write_tokens, coalesce(cache_write_tokens, 0) + ?3),
               output_tokens      = iif(?4 IS NULL, output_tokens,      coalesce(output_tokens, 0) + ?4),
               reasoning_tokens   = iif(?5 IS NULL, reasoning_tokens,   coalesce(reasoning_tokens, 0) + ?5)
             WHERE id = ?6",
            Tokens::of(usage).then(&[&change.session]).as_slice(),
        )
        .map(drop)
}

/// Must run before the agent's own row changes: a receipt covers the agent's whole life, so only what is new in it
/// is added to the session.
pub(super) fn settled(change: &Change<'_>, report: &Report) -> Result<(), StoreError> {
    change.run(
        "UPDATE sessions SET cost_usd = coalesce(cost_usd, 0) + ?3
           - coalesce((SELECT cost_usd FROM agents WHERE session_id = ?1 AND id = ?2), 0)
         WHERE id = ?1 AND ?3 IS NOT NULL",
        (&change.session, &change.agent, report.receipt.cost_usd),
    )?;
    if change.is_main() {
        let status = report.ending.word();
        change.run("UPDATE sessions SET status = ?2 WHERE id = ?1", (&change.session, status))?;
    }
    Ok(())
}
