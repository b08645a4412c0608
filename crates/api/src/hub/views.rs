//! The folded views of sessions, kept for a while: who opens a session again, or opens one that goes on, waits only for
//! what is new.

use std::sync::{Arc, Mutex, PoisonError};

use posse_engine::Engine;
use posse_protocol::{AgentState, SessionId, Update};
use posse_view::SessionView;

use crate::failure::{CallError, CallErrorKind};
use crate::limits::VIEWS_KEPT_MAX;

type Kept = Arc<tokio::sync::Mutex<SessionView>>;

/// Views, the one that was asked for last at the end.
#[derive(Default)]
pub struct Views {
    kept: Mutex<Vec<(SessionId, Kept)>>,
}

impl Views {
    fn of(&self, session: SessionId) -> Kept {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let view = match kept.iter().position(|(id, _)| *id == session) {
            Some(at) => kept.remove(at).1,
            None => Kept::default(),
        };
        if kept.len() >= VIEWS_KEPT_MAX {
            kept.remove(0);
        }
        kept.push((session, Arc::clone(&view)));
        view
    }

    /// Forgets a session that is gone.
    pub(crate) fn forget(&self, session: SessionId) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).retain(|(id, _)| *id != session);
    }

    /// What there is to show of a session, as far as it is on record.
    pub async fn show(&self, engine: &Engine, session: SessionId) -> Result<SessionView, CallError> {
        let row = engine.read(move |engine| engine.find_session(&session.to_string())).await?;
        let kept = self.of(session);
        let mut view = kept.lock().await;
        let mut updates = engine.recorded(session, view.seq);
        while let Some(Update::Event(event)) = updates.next().await {
            // Where an event is missing, the record is damaged there, and the rest is still worth showing.
            view.pass_over(event.seq);
            view.fold(&event).map_err(|error| CallError::new(CallErrorKind::Internal, error.to_string()))?;
        }
        let mut shown = view.clone();
        // The row knows whether anybody works on it, even where that could not be put on record.
        if row.status == AgentState::Interrupted && shown.seq == row.last_seq {
            shown.show_interrupted();
        }
        Ok(shown)
    }
}
