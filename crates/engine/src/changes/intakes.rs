//! The turns of workers whose work is taken in. It must not know what is taken in.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::INTAKES_MAX;

/// Taking work in can take long, so each worker has a few turns at a time: however much one sends, others get theirs.
#[derive(Default)]
pub(super) struct Intakes(Mutex<HashMap<String, Arc<Semaphore>>>);

impl Intakes {
    pub(super) async fn turn(&self, worker: &str) -> Option<OwnedSemaphorePermit> {
        let turns = {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let turns = known.entry(worker.to_string());
            Arc::clone(turns.or_insert_with(|| Arc::new(Semaphore::new(INTAKES_MAX))))
        };
        // It is never closed.
        turns.acquire_owned().await.ok()
    }
}
