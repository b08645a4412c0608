//! The sessions that run in this process, by id. It keeps none of them alive.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use posse_protocol::SessionId;

use crate::crew::Crew;

/// Clones are the same list.
#[derive(Clone, Default)]
pub(crate) struct RunningSessions(Arc<Mutex<HashMap<SessionId, Weak<Crew>>>>);

impl RunningSessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Weak<Crew>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a session that begins to run, and forgets those that have ended.
    pub(crate) fn add(&self, crew: &Arc<Crew>) {
        let mut sessions = self.lock();
        // Looking at all of them for each one that comes would take long where there are many.
        if sessions.len() == sessions.capacity() {
            sessions.retain(|_, crew| crew.strong_count() > 0);
        }
        sessions.insert(crew.session, Arc::downgrade(crew));
    }

    /// A session, as long as it runs here.
    pub(crate) fn get(&self, session: SessionId) -> Option<Arc<Crew>> {
        self.lock().get(&session)?.upgrade()
    }

    /// All sessions that run here.
    pub(crate) fn ids(&self) -> Vec<SessionId> {
        let sessions = self.lock();
        sessions.iter().filter(|(_, crew)| crew.strong_count() > 0).map(|(id, _)| *id).collect()
    }
}
