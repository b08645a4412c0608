//! The `sessions` table: places are given here, and totals over all agents are kept.

use posse_protocol::{EventKind, Report};
use rusqlite::ErrorCode;

use super::Change;
use super::figures::{one_line, whole};
use super::tally::SessionTally;
use crate::{StoreError, limits};

/// Gives places to all events of a session in this transaction, adds up what they tell, and says which place is the
/// first. The row itself holds the last place given, and the transaction holds the write lock, so that several
/// processes may write to one session without a gap.
pub(super) fn reserve(change: &Change<'_>, tally: &SessionTally) -> Result<i64, StoreError> {
    add(change, tally).map(|last| last - tally.events + 1)
}

/// Adds what events tell, and says which place was the last one given.
pub(super) fn add(change: &Change<'_>, tally: &SessionTally) -> Result<i64, StoreError> {
    let (events, last_at_ms) = (tally.events, tally.last_at_ms);
    let asked = if tally.has_figures() {
        let sql = "UPDATE sessions SET last_seq = last_seq + ?2, last_at_ms = max(last_at_ms, ?3), turns = turns + ?4,
              input_tokens       = iif(?5 IS NULL, input_tokens,       coalesce(input_tokens, 0) + ?5),
              cached_tokens      = iif(?6 IS NULL, cached_tokens,      coalesce(cached_tokens, 0) + ?6),
              cache_write_tokens = iif(?7 IS NULL, cache_write_tokens, coalesce(cache_write_tokens, 0) + ?7),
              output_tokens      = iif(?8 IS NULL, output_tokens,      coalesce(output_tokens, 0) + ?8),
              reasoning_tokens   = iif(?9 IS NULL, reasoning_tokens,   coalesce(reasoning_tokens, 0) + ?9),
              cost_usd           = iif(?10 IS NULL, cost_usd,          coalesce(cost_usd, 0) + ?10),
              cost_unknown       = max(0, cost_unknown + ?11)
            WHERE id = ?1 RETURNING last_seq";
        let tokens = &tally.tokens;
        let parameters = rusqlite::params![
            change.session,
            events,
            last_at_ms,
            tally.turns,
            tokens.input,
            tokens.cached,
            tokens.cache_write,
            tokens.output,
            tokens.reasoning,
            tally.cost.usd,
            tally.cost.unknown
        ];
        change.ask(sql, parameters)
    } else {
        let sql = "UPDATE sessions SET last_seq = last_seq + ?2, last_at_ms = max(last_at_ms, ?3)
                   WHERE id = ?1 RETURNING last_seq";
        change.ask(sql, (&change.session, events, last_at_ms))
    };
    asked?.ok_or(StoreError::UnknownSession { session: change.event.session })
}

/// A new session, which has no events yet.
pub(super) fn start(change: &Change<'_>) -> Result<(), StoreError> {
    let EventKind::SessionStarted { workspace, version, project, surface, .. } = &change.event.kind else {
        return Ok(());
    };
    // Older programs that only know the workspace mean it.
    let project = if project.is_empty() { workspace } else { project };
    let outcome = change.run(
        "INSERT INTO sessions (id, started_at_ms, last_at_ms, last_seq, workspace, version, project, surface)
         VALUES (?1, ?2, ?2, 0, ?3, ?4, ?5, ?6)",
        (&change.session, whole(change.event.at_ms), workspace, version, project, surface),
    );
    match outcome {
        Err(StoreError::Sql { source, .. })
            if source.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) =>
        {
            Err(StoreError::SessionExists { session: change.event.session })
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
        let title = Some(one_line(text, limits::TITLE_CHARS_MAX)).filter(|title| !title.is_empty());
        change.run(
            "UPDATE sessions SET title = coalesce(title, ?2), status = 'running' WHERE id = ?1",
            (&change.session, title),
        )?;
    }
    Ok(())
}

/// The session goes on, or does not.
pub(super) fn status(change: &Change<'_>, status: &str) -> Result<(), StoreError> {
    change.run("UPDATE sessions SET status = ?2 WHERE id = ?1", (&change.session, status)).map(drop)
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
        status(change, report.ending.word())?;
    }
    Ok(())
}
