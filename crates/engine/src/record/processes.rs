//! Which processes run sessions of a record: each holds a lock on one file of its own, `processes/PROCESS`, as long as
//! it lives, and may listen on `processes/PROCESS.sock`. However a process ends, the kernel frees its lock.
//!
//! Only the owner of a file takes an exclusive lock on it. Everybody else asks with a shared lock, so that two processes
//! that ask at the same moment do not take each other for the owner. An id is never used again: who is gone stays gone.
//!
//! A record that is opened twice in one process counts as two processes here.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use posse_protocol::{ProcessId, SessionId};

use crate::limits::{LEFT_PROCESSES_MAX, LOCK_TRIES_MAX};

/// Where in the data directory processes have their files and sockets.
const PROCESSES: &str = "processes";
/// How the name of a socket ends.
const SOCKET_END: &str = ".sock";

/// The processes of one data directory, this one among them. Clones are the same.
#[derive(Clone)]
pub(crate) struct Processes {
    data_dir: PathBuf,
    /// This one, from the first session that it takes.
    own: Arc<Mutex<Option<Arc<OwnProcess>>>>,
}

impl Processes {
    pub(crate) fn new(data_dir: PathBuf) -> Self {
        Self { data_dir, own: Arc::default() }
    }

    pub(crate) fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// This process. Its file is made when it is first asked for.
    pub(crate) fn own(&self) -> io::Result<Arc<OwnProcess>> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = &*own {
            return Ok(Arc::clone(own));
        }
        let new = Arc::new(OwnProcess::enter(&self.folder())?);
        *own = Some(Arc::clone(&new));
        Ok(new)
    }

    /// This process, if it was asked for before.
    pub(crate) fn entered(&self) -> Option<Arc<OwnProcess>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a process lives. What cannot be found out counts as yes: nobody takes a session from it.
    pub(crate) fn lives(&self, id: ProcessId) -> bool {
        match File::open(self.folder().join(id.to_string())) {
            Ok(file) => file.try_lock_shared().is_err(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Where a process listens, if it does.
    pub(crate) fn socket(&self, id: ProcessId) -> PathBuf {
        socket(&self.folder(), id)
    }

    /// The processes that are gone and have left a file or a socket.
    pub(crate) fn gone(&self) -> HashSet<ProcessId> {
        let entries = std::fs::read_dir(self.folder()).into_iter().flatten().flatten();
        let ids = entries.take(LEFT_PROCESSES_MAX).filter_map(|entry| {
            let name = entry.file_name();
            let name = name.to_str()?;
            name.strip_suffix(SOCKET_END).unwrap_or(name).parse().ok()
        });
        ids.collect::<HashSet<ProcessId>>().into_iter().filter(|id| !self.lives(*id)).collect()
    }

    /// Removes what a process that is gone has left.
    pub(crate) fn clear(&self, id: ProcessId) {
        let path = self.folder().join(id.to_string());
        // Held until its file is removed: one that was about to lock it finds that out, and takes another name.
        let file = File::open(&path).ok();
        if file.as_ref().is_none_or(|file| file.try_lock_shared().is_ok()) {
            let _ = std::fs::remove_file(self.socket(id));
            let _ = std::fs::remove_file(&path);
        }
    }

    fn folder(&self) -> PathBuf {
        self.data_dir.join(PROCESSES)
    }
}

/// This process, and the sessions that it has taken. Its file is removed with it.
pub(crate) struct OwnProcess {
    pub(crate) id: ProcessId,
    folder: PathBuf,
    lock: File,
    sessions: Mutex<HashSet<SessionId>>,
}

impl OwnProcess {
    fn enter(folder: &Path) -> io::Result<Self> {
        private_folder(folder)?;
        for _ in 0..LOCK_TRIES_MAX {
            let id = ProcessId::from(uuid::Uuid::now_v7());
            let path = folder.join(id.to_string());
            let lock = private_file().create_new(true).open(&path)?;
            // Somebody may have taken it for a leftover before it was locked.
            if lock.try_lock().is_ok() && still_there(&lock, &path) {
                return Ok(Self { id, folder: folder.to_path_buf(), lock, sessions: Mutex::default() });
            }
        }
        Err(io::Error::other("others remove the file of this process again and again"))
    }

    /// Notes that a session is this process's. False if it was before.
    pub(crate) fn add(&self, session: SessionId) -> bool {
        self.lock().insert(session)
    }

    pub(crate) fn remove(&self, session: SessionId) {
        self.lock().remove(&session);
    }

    pub(crate) fn has(&self, session: SessionId) -> bool {
        self.lock().contains(&session)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<SessionId>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OwnProcess {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(socket(&self.folder, self.id));
        let _ = std::fs::remove_file(self.folder.join(self.id.to_string()));
        let _ = self.lock.unlock();
    }
}

fn socket(folder: &Path, id: ProcessId) -> PathBuf {
    folder.join(format!("{id}{SOCKET_END}"))
}

/// A folder that is the owner's alone.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// How a file is opened that is the owner's alone.
pub(crate) fn private_file() -> std::fs::OpenOptions {
    let mut options = File::options();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Whether the file that was opened is the one that others find.
#[cfg(unix)]
pub(crate) fn still_there(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let place = |found: std::fs::Metadata| (found.dev(), found.ino());
    match (file.metadata().map(place), std::fs::metadata(path).map(place)) {
        (Ok(opened), Ok(found)) => opened == found,
        _ => false,
    }
}

/// Elsewhere a file that is open stays where it is.
#[cfg(not(unix))]
pub(crate) fn still_there(_: &File, _: &Path) -> bool {
    true
}
