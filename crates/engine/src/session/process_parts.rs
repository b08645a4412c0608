//! What all sessions of a process share.

use std::path::PathBuf;

use posse_model::Governors;
use posse_store::Store;

use crate::agents::process_slots::ProcessSlots;
use crate::record::bus::Bus;
use crate::record::processes::Processes;
use crate::session::running::RunningSessions;

/// Owned by the engine; clones are the same.
#[derive(Clone)]
pub(crate) struct ProcessParts {
    pub(crate) data_dir: PathBuf,
    /// This process among those that run sessions of the same record.
    pub(crate) processes: Processes,
    pub(crate) store: Store,
    pub(crate) bus: Bus,
    /// One for each endpoint that models of any session are called at.
    pub(crate) governors: Governors,
    pub(crate) slots: ProcessSlots,
    /// The sessions that run here.
    pub(crate) running: RunningSessions,
}
