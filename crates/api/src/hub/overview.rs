//! What waits for a person and what works, over all sessions of the record. One task looks, while somebody listens.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;

use posse_engine::{Engine, SessionFilter};
use posse_protocol::AgentState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::limits::{OVERVIEW_MS, ROWS_MAX};

/// How many sessions need somebody, and a number that changes with the list of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsChanged {
    /// Questions that wait for a person.
    pub waiting: usize,
    /// Sessions at work.
    pub working: usize,
    /// Another number whenever something was put on record.
    pub version: u64,
}

/// Looks at the record for all who listen.
pub(crate) struct Overview {
    engine: Engine,
    current: Mutex<Weak<watch::Sender<SessionsChanged>>>,
    version: Arc<AtomicU64>,
}

/// One listener. The task that looks ends after the last.
pub(crate) struct OverviewReader {
    _looking: Arc<watch::Sender<SessionsChanged>>,
    pub(crate) changes: watch::Receiver<SessionsChanged>,
}

impl Overview {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, current: Mutex::default(), version: Arc::default() }
    }

    pub(crate) async fn listen(&self) -> OverviewReader {
        if let Some(looking) = self.lock().upgrade() {
            return OverviewReader { changes: looking.subscribe(), _looking: looking };
        }
        let first = look(&self.engine, &self.version).await;
        let mut current = self.lock();
        // Somebody else may have been quicker.
        let looking = current.upgrade().unwrap_or_else(|| {
            let looking = Arc::new(watch::Sender::new(first));
            *current = Arc::downgrade(&looking);
            tokio::spawn(keep_looking(
                self.engine.clone(),
                Arc::downgrade(&looking),
                Arc::clone(&self.version),
            ));
            looking
        });
        OverviewReader { changes: looking.subscribe(), _looking: looking }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Weak<watch::Sender<SessionsChanged>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn keep_looking(engine: Engine, tell: Weak<watch::Sender<SessionsChanged>>, version: Arc<AtomicU64>) {
    let mut pulse = None;
    loop {
        tokio::time::sleep(Duration::from_millis(OVERVIEW_MS)).await;
        if tell.strong_count() == 0 {
            return;
        }
        let now = engine.read(Engine::pulse).await.ok();
        if now != pulse {
            pulse = now;
            version.fetch_add(1, Ordering::AcqRel);
        }
        let found = look(&engine, &version).await;
        let Some(tell) = tell.upgrade() else { return };
        tell.send_if_modified(|before| std::mem::replace(before, found) != found);
    }
}

async fn look(engine: &Engine, version: &AtomicU64) -> SessionsChanged {
    let questions = engine.pending_questions(None).await.unwrap_or_default();
    let filter = SessionFilter {
        states: vec![AgentState::Running],
        limit: Some(ROWS_MAX),
        ..SessionFilter::default()
    };
    let working = engine.session_page(filter).await.map_or(0, |page| page.sessions.len());
    SessionsChanged { waiting: questions.len(), working, version: version.load(Ordering::Acquire) }
}
