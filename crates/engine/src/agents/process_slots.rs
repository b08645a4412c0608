//! How many sub-agents run at the same time in this process, whatever their sessions allow.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::PROCESS_RUNNING_MAX;

/// Clones are the same. A sub-agent takes a slot after its session has given it one, and gives it back whenever it waits
/// for sub-agents or a person; so nobody who holds a slot waits for one who needs it.
#[derive(Clone)]
pub(crate) struct ProcessSlots(Arc<Semaphore>);

/// Given back when dropped.
pub(crate) type ProcessSlot = OwnedSemaphorePermit;

impl ProcessSlots {
    /// At least one agent may always run.
    pub(crate) fn new(running_max: usize) -> Self {
        Self(Arc::new(Semaphore::new(running_max.clamp(1, Semaphore::MAX_PERMITS))))
    }

    /// A slot, if one is free and nobody waits for it.
    pub(crate) fn try_take(&self) -> Option<ProcessSlot> {
        Arc::clone(&self.0).try_acquire_owned().ok()
    }

    /// Waits for a slot, first come, first served.
    pub(crate) async fn take(&self) -> ProcessSlot {
        match Arc::clone(&self.0).acquire_owned().await {
            Ok(slot) => slot,
            // Nobody closes it.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Default for ProcessSlots {
    fn default() -> Self {
        Self::new(PROCESS_RUNNING_MAX)
    }
}
