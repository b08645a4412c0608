//! Which files commands changed: the workspace before and after, since a command does not say.

use std::sync::{Arc, Mutex, PoisonError};

use posse_protocol::{Effect, FileChange};
use posse_workspace::{Baseline, Changed, Workspace};

/// Shared by all agents of a session. Nothing is read before the first command.
#[derive(Clone)]
pub(crate) struct Measure {
    baseline: Arc<Mutex<Baseline>>,
}

impl Measure {
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self { baseline: Arc::new(Mutex::new(Baseline::new(workspace))) }
    }

    /// Takes the present state as the one to compare with.
    pub(crate) async fn before(&self) {
        self.refresh().await;
    }

    /// What has changed since. Commands of several agents that run at the same time in one folder cannot be told apart:
    /// the first to end is said to have made the changes.
    pub(crate) async fn after(&self) -> Vec<FileChange> {
        self.refresh().await
    }

    async fn refresh(&self) -> Vec<FileChange> {
        let baseline = Arc::clone(&self.baseline);
        let walked = tokio::task::spawn_blocking(move || {
            let mut baseline = baseline.lock().unwrap_or_else(PoisonError::into_inner);
            baseline.refresh().into_iter().map(change).collect()
        });
        walked.await.unwrap_or_default()
    }

    /// What file tools changed they have measured themselves.
    pub(crate) fn note(&self, effects: &[Effect]) {
        let mut baseline = None;
        for effect in effects {
            if let Effect::File(change) = effect {
                let baseline = baseline
                    .get_or_insert_with(|| self.baseline.lock().unwrap_or_else(PoisonError::into_inner));
                baseline.note(&change.path);
            }
        }
    }
}

fn change(changed: Changed) -> FileChange {
    let Changed { path, created, lines_added, lines_removed, .. } = changed;
    FileChange { path, created, lines_added, lines_removed }
}
