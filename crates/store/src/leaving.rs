//! How a process lets go of the record when it is about to end: the log reaches the disk, and nobody waits for more.
//!
//! Closing the record moves its log into the database, which waits for the disk several times. The log is part of the
//! record, so it can stay: the next process that opens the record reads it, and moves it when it closes the record. A long
//! log would take that process a while to read, so a long one is moved now.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread;

use crate::files::side_file;
use crate::limits::LOG_LEFT_BYTES_MAX;
use crate::{Store, StoreError};

impl Store {
    /// Writes what was appended so far and lets go of the record without closing it. Everything that was written outlives a
    /// power cut when this returns. The process must be about to end: the writer's thread never does.
    ///
    /// If the log is long, or cannot be brought to the disk, the record is closed as usual when the last clone goes.
    pub fn leave(self) -> Result<(), StoreError> {
        self.flush()?;
        match sync_log(self.path()) {
            // Not closed on purpose. The kernel closes the files.
            Ok(true) => std::mem::forget(self),
            Ok(false) => {}
            Err(error) => tracing::debug!(%error, "the record is closed instead of being left"),
        }
        Ok(())
    }
}

/// Brings the log to the disk. False if it has to be moved into the database instead.
///
/// SQLite holds locks on the database and on `-shm`, which a process loses when it closes the same file elsewhere; on the
/// log it holds none.
fn sync_log(database: &Path) -> io::Result<bool> {
    let log = File::open(side_file(database, "-wal"))?;
    if log.metadata()?.len() > LOG_LEFT_BYTES_MAX {
        return Ok(false);
    }
    let folder = File::open(database.parent().unwrap_or(Path::new(".")))?;
    // Its name as well, which may be new; both at once, so that there is one wait for the disk.
    thread::scope(|both| {
        let name = thread::Builder::new().spawn_scoped(both, || folder.sync_all())?;
        log.sync_data()?;
        name.join().unwrap_or_else(|_| Err(io::Error::other("syncing the folder panicked")))
    })?;
    Ok(true)
}
