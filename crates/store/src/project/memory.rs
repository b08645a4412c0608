//! The `memory` table: notes that agents make. The same text is kept once a project; what is too much goes, oldest
//! first. It must not know how notes are found.

use posse_protocol::clip::first_line;
use posse_protocol::{Effect, NewNote, NoteScope};

use super::Change;
use super::agent_figures::AgentFigures;
use super::figures::moment;
use crate::{StoreError, limits};

/// Keeps the notes among the effects of a call.
pub(super) fn noted(change: &Change<'_>, agent: &AgentFigures, effects: &[Effect]) -> Result<(), StoreError> {
    for effect in effects {
        if let Effect::Noted(note) = effect {
            keep(change, agent, note)?;
        }
    }
    Ok(())
}

fn keep(change: &Change<'_>, agent: &AgentFigures, note: &NewNote) -> Result<(), StoreError> {
    let text = note.text.trim();
    let text = &text[..text.floor_char_boundary(limits::NOTE_BYTES_MAX)];
    let kind = first_line(&note.kind, limits::NOTE_KIND_CHARS_MAX);
    let kind = if kind.is_empty() { NewNote::NOTE } else { &kind };
    if text.is_empty() {
        return Ok(());
    }
    let parameters = (
        &change.session,
        agent.number,
        note.scope.word(),
        kind,
        text,
        change.seq,
        moment(change.event.at_ms),
    );
    let place = same_place(note.scope);
    let renewed = change.run(
        &format!(
            "UPDATE memory SET project = s.project, kind = ?4, agent_name = a.name, role = a.role,
               session_id = ?1, seq = ?6, at_ms = max(at_ms, ?7)
             FROM agent_rows a JOIN sessions s ON s.id = a.session_id
             WHERE a.number = ?2 AND memory.scope = ?3 AND {place} AND memory.text = ?5"
        ),
        parameters,
    )?;
    if renewed == 0 {
        change.run(
            "INSERT INTO memory (scope, project, kind, text, agent_name, role, session_id, seq, at_ms)
             SELECT ?3, s.project, ?4, ?5, a.name, a.role, ?1, ?6, ?7
             FROM agent_rows a JOIN sessions s ON s.id = a.session_id WHERE a.number = ?2",
            parameters,
        )?;
        make_room(change, note.scope)?;
    }
    Ok(())
}

/// The tool refuses before it comes to this; whoever else writes events may not.
fn make_room(change: &Change<'_>, scope: NoteScope) -> Result<(), StoreError> {
    let notes_max = i64::try_from(limits::NOTES_IN_SCOPE_MAX).unwrap_or(i64::MAX);
    let place = same_place(scope);
    let sql = format!(
        "DELETE FROM memory WHERE id IN (
           SELECT memory.id FROM sessions s CROSS JOIN memory
           WHERE s.id = ?1 AND memory.scope = ?2 AND {place}
           ORDER BY memory.at_ms DESC, memory.id DESC LIMIT -1 OFFSET ?3)"
    );
    change.run(&sql, (&change.session, scope.word(), notes_max)).map(drop)
}

/// A note of the person's is the same in every project. Said in two ways and not in one with OR, which no index
/// would serve.
fn same_place(scope: NoteScope) -> &'static str {
    match scope {
        NoteScope::Project => "memory.project = s.project",
        NoteScope::User => "true",
    }
}
