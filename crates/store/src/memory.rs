//! Notes that outlive their session: finding, listing and forgetting them. They are made by events alone, in
//! `project/memory.rs`. It must not know who reads them.

use posse_protocol::{Note, NoteScope};
use rusqlite::Row;

use crate::read::rows_max;
use crate::rows::{count, parsed};
use crate::words::QueryWords;
use crate::{Store, StoreError, limits};

impl Store {
    /// The notes of a project and those of the person that hold any of the words, best first, newest first among
    /// equals. A word also finds longer ones that begin with it. Without a word in the query: the newest.
    pub fn recall(&self, query: &str, project: &str, limit: usize) -> Result<Vec<Note>, StoreError> {
        let limit = limit.min(limits::NOTES_RECALLED_MAX);
        let words = QueryWords::of(query);
        if words.is_empty() {
            return self.notes(Some(project), limit);
        }
        self.ask(|reader| {
            reader.rows(
                "SELECT m.* FROM memory_words w JOIN memory m ON m.id = w.rowid
                 WHERE memory_words MATCH ?1 AND (m.scope = 'user' OR m.project = ?2)
                 ORDER BY w.rank, m.at_ms DESC, m.id DESC LIMIT ?3",
                (words.any(), project, rows_max(limit, usize::MAX)),
                read_note,
            )
        })
    }

    /// The notes that agents in a project find, those of the person among them, or all there are; newest first.
    pub fn notes(&self, project: Option<&str>, limit: usize) -> Result<Vec<Note>, StoreError> {
        self.ask(|reader| {
            reader.rows(
                "SELECT * FROM memory WHERE ?1 IS NULL OR scope = 'user' OR project = ?1
                 ORDER BY at_ms DESC, id DESC LIMIT ?2",
                (project, rows_max(limit, limits::ROWS_MAX)),
                read_note,
            )
        })
    }

    /// The note with this number, if it is there.
    pub fn note(&self, id: u64) -> Result<Option<Note>, StoreError> {
        let Ok(id) = i64::try_from(id) else { return Ok(None) };
        self.ask(|reader| reader.rows("SELECT * FROM memory WHERE id = ?1", (id,), read_note))
            .map(|mut notes| notes.pop())
    }

    /// Takes a note out of memory, and says whether it was there. The event that made it stays in its session.
    pub fn forget(&self, id: u64) -> Result<bool, StoreError> {
        let Ok(id) = i64::try_from(id) else { return Ok(false) };
        let path = self.path().to_path_buf();
        self.work(move |connection| {
            let gone = connection.execute("DELETE FROM memory WHERE id = ?1", (id,));
            gone.map(|rows| rows > 0).map_err(|e| StoreError::from_sql(&path, e))
        })
    }

    /// How many notes a project has, without those of the person; at most
    /// [`NOTES_IN_SCOPE_MAX`](limits::NOTES_IN_SCOPE_MAX).
    pub fn note_count(&self, project: &str) -> Result<usize, StoreError> {
        self.count_notes("SELECT count(*) FROM memory WHERE scope = 'project' AND project = ?1", (project,))
    }

    /// How many notes the person has that are found in every project; at most
    /// [`NOTES_IN_SCOPE_MAX`](limits::NOTES_IN_SCOPE_MAX).
    pub fn user_note_count(&self) -> Result<usize, StoreError> {
        self.count_notes("SELECT count(*) FROM memory WHERE scope = 'user'", ())
    }

    fn count_notes(&self, question: &str, parameters: impl rusqlite::Params) -> Result<usize, StoreError> {
        let counts = self.ask(|reader| reader.rows(question, parameters, |row| row.get::<_, i64>(0)))?;
        Ok(counts.first().and_then(|n| usize::try_from(*n).ok()).unwrap_or_default())
    }
}

fn read_note(row: &Row<'_>) -> rusqlite::Result<Note> {
    let scope: String = row.get("scope")?;
    Ok(Note {
        id: count(row, "id")?,
        scope: if scope == NoteScope::User.word() { NoteScope::User } else { NoteScope::Project },
        project: row.get("project")?,
        kind: row.get("kind")?,
        text: row.get("text")?,
        agent: row.get("agent_name")?,
        role: row.get("role")?,
        session: parsed(row, "session_id")?,
        at_ms: count(row, "at_ms")?,
    })
}
