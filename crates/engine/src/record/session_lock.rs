//! Which sessions are at work, and in which process. `alive/SESSION` names the process that has taken a session; who
//! that is, and whether it lives, is told by [`Processes`]. No file stays open for a session, so a process can have
//! more sessions than open files.
//!
//! A session is taken under a lock on its file, which is held only for that moment: so of two processes that want a
//! session whose process is gone, one gets it. A file without a whole name in it is one whose taker died in that
//! moment, and counts as free unless somebody holds its lock: processes that cannot write the name (a full disk) hold
//! it as long as they work, and so did Posse before it wrote names.
//!
//! What is on record as running and is at work nowhere was interrupted, and is recorded as that.

mod tests;

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use posse_protocol::{EventKind, ProcessId, SessionId};
use posse_store::Store;
use tokio_util::sync::CancellationToken;

use crate::error::EngineError;
use crate::limits::{LEFT_SESSIONS_MAX, LOCK_PAUSE_MS, LOCK_TRIES_MAX};
use crate::record::journal::Journal;
use crate::record::processes::{OwnProcess, Processes, private_file, private_folder, still_there};

/// Where in the data directory it is told which process has taken a session.
const ALIVE: &str = "alive";
/// How long the name of a process is.
const NAME_BYTES: u64 = 36;

/// Held while a session is at work in this process.
pub(crate) struct SessionLock {
    session: SessionId,
    path: PathBuf,
    process: Arc<OwnProcess>,
    /// The locked file, where the name of the process could not be written.
    unnamed: Option<File>,
    /// Cancelled once the lock is free again.
    free: CancellationToken,
}

impl SessionLock {
    /// Takes the lock of a session; none if another process has it, or this one already.
    pub(crate) fn take(processes: &Processes, session: SessionId) -> io::Result<Option<Self>> {
        let process = processes.own()?;
        if !process.add(session) {
            return Ok(None);
        }
        let taken = place(processes, session).and_then(|path| {
            let claimed = claim(processes, &process, &path)?;
            Ok(claimed.map(|claim| (path, claim)))
        });
        match taken {
            Ok(Some((path, claim))) => {
                let unnamed = match claim {
                    Claim::Named => None,
                    Claim::Unnamed(file) => Some(file),
                };
                Ok(Some(Self { session, path, process, unnamed, free: CancellationToken::new() }))
            }
            other => {
                process.remove(session);
                other.map(|_| None)
            }
        }
    }

    /// Tells when the lock is free again.
    pub(crate) fn free(&self) -> CancellationToken {
        self.free.clone()
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // First the file: as long as the session is this process's, nobody else here makes a new one.
        let _ = std::fs::remove_file(&self.path);
        if let Some(file) = &self.unnamed {
            let _ = file.unlock();
        }
        self.process.remove(self.session);
        self.free.cancel();
    }
}

/// How a session was taken.
enum Claim {
    /// Its file names this process.
    Named,
    /// Its file stays locked.
    Unnamed(File),
}

/// The file of a session, in a folder that is made if it is missing.
fn place(processes: &Processes, session: SessionId) -> io::Result<PathBuf> {
    let folder = processes.data_dir().join(ALIVE);
    private_folder(&folder)?;
    Ok(folder.join(session.to_string()))
}

/// Writes the name of this process into the file of a session that nobody has.
fn claim(processes: &Processes, own: &OwnProcess, path: &Path) -> io::Result<Option<Claim>> {
    let taken = |owner: Option<ProcessId>| owner.is_some_and(|id| id != own.id && processes.lives(id));
    for _ in 0..LOCK_TRIES_MAX {
        let mut file = private_file().create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
            Err(std::fs::TryLockError::WouldBlock) => {
                if taken(owner(&mut file)) {
                    return Ok(None);
                }
                // Somebody asks or takes, which is soon over, or holds the lock as long as it works.
                std::thread::sleep(Duration::from_millis(LOCK_PAUSE_MS));
                continue;
            }
        }
        if taken(owner(&mut file)) {
            return Ok(None);
        }
        let named = name(&mut file, own.id);
        // Whoever had it may have removed the file and ended meanwhile: then others find another file.
        if !still_there(&file, path) {
            continue;
        }
        return match named {
            Ok(()) => Ok(Some(Claim::Named)),
            Err(error) => {
                tracing::warn!(%error, "the process of a session could not be written down");
                file.set_len(0)?;
                Ok(Some(Claim::Unnamed(file)))
            }
        };
    }
    Ok(None)
}

fn name(file: &mut File, id: ProcessId) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(id.to_string().as_bytes())
}

/// The process that a file names; none if it was not written to its end.
fn owner(file: &mut File) -> Option<ProcessId> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(NAME_BYTES + 1).read_to_string(&mut text).ok()?;
    if text.len() as u64 == NAME_BYTES { text.parse().ok() } else { None }
}

/// Whether some process is at work on a session. Changes nothing, so it can be told even where nothing can be written.
pub(crate) fn is_at_work(processes: &Processes, session: SessionId) -> bool {
    let path = processes.data_dir().join(ALIVE).join(session.to_string());
    match File::open(path) {
        Ok(mut file) => match owner(&mut file) {
            Some(owner) => has(processes, owner, session),
            // Its lock is free: whoever had it is gone. This one ends with the file.
            None => file.try_lock_shared().is_err(),
        },
        // Without a file nobody is. If it cannot be looked at, the record's word has to do.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// The process that is at work on a session.
pub(crate) fn process_of(processes: &Processes, session: SessionId) -> Option<ProcessId> {
    let path = processes.data_dir().join(ALIVE).join(session.to_string());
    let owner = owner(&mut File::open(path).ok()?)?;
    has(processes, owner, session).then_some(owner)
}

fn has(processes: &Processes, owner: ProcessId, session: SessionId) -> bool {
    match processes.entered() {
        Some(own) if own.id == owner => own.has(session),
        _ => processes.lives(owner),
    }
}

/// Removes what processes that are gone have left: their files, their sockets, and their names on sessions.
pub(crate) fn clear_left(processes: &Processes) {
    let gone = processes.gone();
    if gone.is_empty() {
        return;
    }
    let entries = std::fs::read_dir(processes.data_dir().join(ALIVE)).into_iter().flatten().flatten();
    for entry in entries.take(LEFT_SESSIONS_MAX) {
        let session = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let named = File::open(entry.path()).ok().and_then(|mut file| owner(&mut file));
        if let Some(session) = session
            && named.is_some_and(|owner| gone.contains(&owner))
        {
            // Whoever takes a session removes its file afterwards.
            drop(SessionLock::take(processes, session));
        }
    }
    gone.into_iter().for_each(|id| processes.clear(id));
}

/// Puts on record that sessions were interrupted whose process is gone. Gives back how many.
pub(crate) fn find_interrupted(processes: &Processes, store: &Store) -> Result<usize, EngineError> {
    let mut found = 0;
    for session in store.unfinished()? {
        // Held until it is on record: nobody resumes it meanwhile.
        let Ok(Some(_alive)) = SessionLock::take(processes, session.id) else { continue };
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
