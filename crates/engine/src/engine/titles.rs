//! Gives a session another title. Any process may do that, also while the session runs in another one: the store assigns
//! the sequence number under its write lock.

use posse_protocol::{EventKind, Sender, SessionId, typed_title};
use posse_store::SessionRow;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::record::journal::Journal;

impl Engine {
    /// Gives a session a title, in one line; an empty one brings back the title that is made of its first prompt. Answers
    /// with the session as it is now.
    pub async fn rename(&self, session: SessionId, title: &str) -> Result<SessionRow, EngineError> {
        let title = typed_title(title).map_err(|error| EngineError::Refused(error.to_string()))?;
        let agents = self.read(move |engine| engine.agents(session)).await?;
        let main = agents.iter().find(|agent| agent.parent.is_none());
        let none = || EngineError::NotFound(format!("there is no session {session}"));
        let mut journal = Journal::new(self.parts.store.clone(), session, main.ok_or_else(none)?.id, None);
        journal.note(EventKind::SessionNamed { title: title.unwrap_or_default(), by: Sender::Person });
        journal.durable().await?;
        self.read(move |engine| engine.find_session(&session.to_string())).await
    }
}
