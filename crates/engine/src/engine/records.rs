//! Looking after the record: searching it, clearing it, notes that outlive sessions, and what all of it comes to.

use std::path::Path;

use posse_protocol::Note;
use posse_store::{Hit, SessionRow, Stats, StatsQuery};
use posse_workspace::Workspace;

use crate::changes::checkouts::Checkouts;
use crate::elsewhere::forget_kept;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::record::session_lock::SessionLock;

impl Engine {
    /// What was said in past sessions that fits a query, best first.
    pub fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, EngineError> {
        Ok(self.parts.store.search(query, limit)?)
    }

    /// Sessions in which nothing has happened since a moment, and that are not at work.
    pub fn sessions_before(&self, at_ms: u64, limit: usize) -> Result<Vec<SessionRow>, EngineError> {
        Ok(self.parts.store.sessions_before(at_ms, limit)?)
    }

    /// Takes a session off the record, for good. One that is at work is left alone. Notes that were made in it stay, and
    /// so does work on branches: what its agents had left in checkouts is committed first, and the branches are given
    /// back.
    pub async fn delete_session(&self, session: &SessionRow) -> Result<Vec<String>, EngineError> {
        let id = session.id;
        let idle = SessionLock::take(&self.parts.processes, id).map_err(EngineError::DataDir)?;
        let at_work = || EngineError::Busy(format!("The session {id} is at work; stop it first."));
        let _idle = idle.ok_or_else(at_work)?;
        let branches = match Workspace::open(Path::new(&session.workspace)) {
            Ok(workspace) => Checkouts::new(self.parts.processes.clone(), id).clear(&workspace).await,
            // A folder that is gone has no repository to keep work in.
            Err(_) => Vec::new(),
        };
        for agent in self.parts.store.agents(id)? {
            forget_kept(self.parts.processes.data_dir(), agent.id);
        }
        self.parts.store.delete_session(id)?;
        Ok(branches)
    }

    /// Gives back the room that deleted sessions had. For after the last of them.
    pub fn tidy(&self) -> Result<(), EngineError> {
        Ok(self.parts.store.tidy()?)
    }

    /// Notes on record, newest first: those of a project and the person's own, or all.
    pub fn notes(&self, project: Option<&str>, limit: usize) -> Result<Vec<Note>, EngineError> {
        Ok(self.parts.store.notes(project, limit)?)
    }

    /// Notes that fit a query, best first.
    pub fn recall(&self, query: &str, project: &str, limit: usize) -> Result<Vec<Note>, EngineError> {
        Ok(self.parts.store.recall(query, project, limit)?)
    }

    /// One note.
    pub fn note(&self, id: u64) -> Result<Option<Note>, EngineError> {
        Ok(self.parts.store.note(id)?)
    }

    /// Takes a note off the record. False if there is none.
    pub fn forget(&self, id: u64) -> Result<bool, EngineError> {
        Ok(self.parts.store.forget(id)?)
    }

    /// What tasks came to, by role, model, surface and week.
    pub fn stats(&self, query: &StatsQuery) -> Result<Stats, EngineError> {
        Ok(self.parts.store.stats(query)?)
    }
}
