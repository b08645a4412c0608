//! Which sessions are at work: each holds a lock on a file of its own, which the kernel lets go of however the process
//! ends. What is on record as running and holds no lock was interrupted, and goes on record as that.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use posse_protocol::{EventKind, SessionId};
use posse_store::Store;
use tokio_util::sync::CancellationToken;

use crate::error::EngineError;
use crate::limits::LOCK_TRIES_MAX;
use crate::record::journal::Journal;

/// Where in the data directory the locks are.
const ALIVE: &str = "alive";

/// Held while a session is at work in this process.
pub(crate) struct SessionLock {
    path: PathBuf,
    lock: File,
    /// Cancelled once the lock is free again.
    free: CancellationToken,
}

impl SessionLock {
    /// Takes the lock of a session; none if another process has it, or this one already.
    pub(crate) fn take(data_dir: &Path, session: SessionId) -> io::Result<Option<Self>> {
        let folder = data_dir.join(ALIVE);
        private_folder(&folder)?;
        let path = folder.join(session.to_string());
        for _ in 0..LOCK_TRIES_MAX {
            let file = File::options().create(true).truncate(false).write(true).open(&path)?;
            match file.try_lock() {
                Ok(()) if still_there(&file, &path) => {
                    return Ok(Some(Self { path, lock: file, free: CancellationToken::new() }));
                }
                // Whoever had it has just removed it: a lock on that is none.
                Ok(()) => {}
                Err(std::fs::TryLockError::WouldBlock) => return Ok(None),
                Err(std::fs::TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Tells when the lock is free again.
    pub(crate) fn free(&self) -> CancellationToken {
        self.free.clone()
    }
}

/// A folder that is the owner's alone.
fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Whether the file that was opened is the one that others find.
#[cfg(unix)]
fn still_there(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let place = |found: std::fs::Metadata| (found.dev(), found.ino());
    match (file.metadata().map(place), std::fs::metadata(path).map(place)) {
        (Ok(opened), Ok(found)) => opened == found,
        _ => false,
    }
}

/// Elsewhere a file that is open stays where it is.
#[cfg(not(unix))]
fn still_there(_: &File, _: &Path) -> bool {
    true
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        let _ = self.lock.unlock();
        self.free.cancel();
    }
}

/// Whether some process is at work on a session. Changes nothing, so it can be told even where nothing can be written.
pub(crate) fn is_at_work(data_dir: &Path, session: SessionId) -> bool {
    let path = data_dir.join(ALIVE).join(session.to_string());
    match File::open(path) {
        // Its lock is free: whoever had it is gone. This one ends with the file.
        Ok(file) => file.try_lock().is_err(),
        // Without a lock nobody is. If it cannot be looked at, the record's word has to do.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Puts on record that sessions were interrupted whose process is gone. Gives back how many.
pub(crate) fn find_interrupted(data_dir: &Path, store: &Store) -> Result<usize, EngineError> {
    let mut found = 0;
    for session in store.unfinished()? {
        // Held until it is on record: nobody resumes it meanwhile.
        let Ok(Some(_alive)) = SessionLock::take(data_dir, session.id) else { continue };
        // It may have come to its end, or gone, before the lock was free.
        if !store.unfinished()?.iter().any(|row| row.id == session.id) {
            continue;
        }
        let agents = store.agents(session.id)?;
        let Some(main) = agents.iter().find(|agent| agent.parent.is_none()) else { continue };
        let open = agents.iter().filter(|agent| agent.ended_at_ms.is_none()).map(|agent| agent.id);
        let mut journal = Journal::new(store.clone(), session.id, main.id, None);
        journal.note(EventKind::SessionInterrupted { agents: open.collect(), detached: false });
        journal.send();
        store.flush()?;
        found += 1;
    }
    Ok(found)
}
