//! What all sessions of a process share.

use std::path::PathBuf;

use posse_store::Store;

use crate::record::bus::Bus;

/// Owned by the engine; clones are the same.
#[derive(Clone)]
pub(crate) struct ProcessParts {
    pub(crate) data_dir: PathBuf,
    pub(crate) store: Store,
    pub(crate) bus: Bus,
}
