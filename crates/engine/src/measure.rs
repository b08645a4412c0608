//! Which files commands changed: the workspace before and after, since a command does not say.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_protocol::{Effect, FileChange};
use posse_workspace::{Baseline, Changed, Workspace};

/// Shared by all agents of a session. Nothing is read before the first command.
#[derive(Clone)]
pub(crate) struct Measure {
    baseline: Arc<Mutex<Baseline>>,
    ledger: Arc<Mutex<Ledger>>,
}

#[derive(Default)]
struct Ledger {
    /// Commands under way.
    running: usize,
    /// Whether there is a state to compare with.
    seen: bool,
    /// What file tools changed, and measured themselves.
    noted: BTreeSet<String>,
    /// Changes that were found while a command ran and are in nobody's receipt yet.
    unclaimed: Vec<FileChange>,
}

/// A command under way; one that is dropped has been stopped.
pub(crate) struct Running(Measure);

impl Drop for Running {
    fn drop(&mut self) {
        let mut ledger = self.0.ledger();
        ledger.running = ledger.running.saturating_sub(1);
    }
}

impl Measure {
    pub(crate) fn new(workspace: Workspace) -> Self {
        let baseline = Arc::new(Mutex::new(Baseline::new(workspace)));
        Self { baseline, ledger: Arc::default() }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the present state as the one to compare with. What other commands changed so far is kept for them.
    pub(crate) async fn before(&self) -> Running {
        let found = self.refresh().await;
        let mut ledger = self.ledger();
        if ledger.running > 0 {
            ledger.unclaimed.extend(found);
        }
        ledger.running += 1;
        drop(ledger);
        Running(self.clone())
    }

    /// What has changed since. Commands of several agents that run at the same time in one folder cannot be told apart:
    /// the first to end is said to have made the changes.
    pub(crate) async fn after(&self) -> Vec<FileChange> {
        let found = self.refresh().await;
        let mut changes = std::mem::take(&mut self.ledger().unclaimed);
        changes.extend(found);
        changes
    }

    async fn refresh(&self) -> Vec<FileChange> {
        let measure = self.clone();
        let walked = tokio::task::spawn_blocking(move || {
            let mut baseline = measure.baseline.lock().unwrap_or_else(PoisonError::into_inner);
            let noted = {
                let mut ledger = measure.ledger();
                ledger.seen = true;
                std::mem::take(&mut ledger.noted)
            };
            noted.iter().for_each(|path| baseline.note(path));
            baseline.refresh().into_iter().map(change).collect()
        });
        walked.await.unwrap_or_default()
    }

    /// What file tools changed they have measured themselves. Never waits for a walk.
    pub(crate) fn note(&self, effects: &[Effect]) {
        for effect in effects {
            if let Effect::File(change) = effect {
                let mut ledger = self.ledger();
                if ledger.seen {
                    ledger.noted.insert(change.path.clone());
                }
            }
        }
    }
}

fn change(changed: Changed) -> FileChange {
    let Changed { path, created, lines_added, lines_removed, .. } = changed;
    FileChange { path, created, lines_added, lines_removed }
}
