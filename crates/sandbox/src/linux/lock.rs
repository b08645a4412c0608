//! The lock of a workspace, and the list of placeholders that those who hold it have made there.
//!
//! Both are one file in a private folder of this user that no command sees: a lock on something in the workspace itself
//! could be taken by any command that can read it, and so keep all others out.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read, Seek, Write},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use super::{Failed, Step};
use crate::limits;

/// A share of a workspace's lock. It ends with this value.
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes a share; waits for somebody who cleans up, but not for long.
    pub(crate) fn shared(workspace: &Path) -> Result<Self, Failed> {
        let found = workspace.metadata().step_at("looking at", workspace)?;
        let path = private_folder()?.join(format!("{:x}-{:x}", found.dev(), found.ino()));
        let end = Instant::now() + Duration::from_millis(limits::WORKSPACE_LOCK_MS);
        loop {
            let file = open(&path).step_at("opening", &path)?;
            match flock(&file, FlockOperation::NonBlockingLockShared) {
                // Whoever was the last removes the file: then this is not the one that others lock.
                Ok(()) if is_at(&file, &path) => return Ok(Self { file, path }),
                Ok(()) | Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if Instant::now() < end => thread::sleep(Duration::from_millis(2)),
                Err(error) => return Err(Failed::new(format!("locking {}", workspace.display()), error)),
            }
        }
    }

    /// Notes placeholders down for whoever will be the last.
    pub(crate) fn note(&mut self, made: &[PathBuf]) -> io::Result<()> {
        let known = self.noted();
        let new = made.iter().filter(|path| !known.contains(path));
        let lines: Vec<u8> = new.flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
        if lines.is_empty() { Ok(()) } else { self.file.write_all(&lines) }
    }

    /// Whether nobody else has a share any more; then nobody gets one until this ends.
    pub(crate) fn alone(&self) -> bool {
        flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    /// All that was noted down.
    pub(crate) fn noted(&mut self) -> Vec<PathBuf> {
        let mut bytes = Vec::new();
        let most = limits::PLACEHOLDER_LIST_BYTES_MAX;
        // A list that cannot be read leaves placeholders behind, which the next command removes.
        let _ = self.file.rewind().and_then(|()| (&self.file).take(most).read_to_end(&mut bytes));
        let names = bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        names.map(|name| std::ffi::OsString::from_vec(name.to_vec()).into()).collect()
    }

    /// Removes the file. Only for who is alone.
    pub(crate) fn remove(self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}

fn is_at(file: &File, path: &Path) -> bool {
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    file.metadata().map(id).ok() == path.symlink_metadata().map(id).ok()
}

/// Where it can be. All of them are out of a command's sight, unless they are in its workspace.
pub(crate) fn folders() -> [PathBuf; 2] {
    let uid = rustix::process::geteuid().as_raw();
    ["/tmp", "/var/tmp"].map(|place| Path::new(place).join(format!(".posse-{uid}")))
}

/// The first that is ours and nobody else's: others can make things of that name there too.
fn private_folder() -> Result<PathBuf, Failed> {
    let me = rustix::process::geteuid().as_raw();
    for folder in folders() {
        // What is wrong, if anything is, the look at it says.
        let _ = DirBuilder::new().mode(0o700).create(&folder);
        let found = folder.symlink_metadata();
        if found.is_ok_and(|found| found.is_dir() && found.uid() == me && found.mode() & 0o077 == 0) {
            return Ok(folder);
        }
    }
    let [first, second] = folders();
    let reason = format!(
        "neither {} nor {} is a folder that only this user can enter; remove one of them",
        first.display(),
        second.display()
    );
    Err(Failed::new("finding a place for locks", reason))
}
