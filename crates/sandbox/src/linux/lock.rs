//! The lock of a workspace, and the list of placeholders that those who hold it have made there.
//!
//! Both are one file in a private folder of this user that no command sees: a lock on something in the workspace itself
//! could be taken by any command that can read it, and so keep all others out.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    os::{
        fd::OwnedFd,
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{
        AtFlags, FileType, FlockOperation, Mode, OFlags, flock, fstat, mkdir, open, openat, statat, unlinkat,
    },
    io::Errno,
};

use super::{Failed, Step, folder::Folder};
use crate::limits;

/// A share of a workspace's lock. It ends with this value.
pub(crate) struct Lock {
    file: File,
    folder: OwnedFd,
    name: String,
}

impl Lock {
    /// Takes a share; waits for somebody who cleans up, but not for long.
    pub(crate) fn shared(workspace: &Folder) -> Result<Self, Failed> {
        let found = fstat(workspace.as_fd()).step("looking at the workspace")?;
        let folder = private_folder()?;
        let name = format!("{:x}-{:x}", found.st_dev, found.st_ino);
        let end = Instant::now() + Duration::from_millis(limits::WORKSPACE_LOCK_MS);
        loop {
            let file = open_in(&folder, &name).step("opening the workspace's lock")?;
            match flock(&file, FlockOperation::NonBlockingLockShared) {
                // Whoever was the last removes the file: then this is not the one that others lock.
                Ok(()) if is_at(&file, &folder, &name) => return Ok(Self { file, folder, name }),
                Ok(()) | Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if Instant::now() < end => thread::sleep(Duration::from_millis(2)),
                Err(error) => return Err(Failed::new("locking the workspace", error)),
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
        let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
    }
}

fn open_in(folder: &OwnedFd, name: &str) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::from_raw_mode(0o600))?.into())
}

fn is_at(file: &File, folder: &OwnedFd, name: &str) -> bool {
    let id = |found: rustix::fs::Stat| (found.st_dev, found.st_ino);
    let there = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map(id);
    there.is_ok() && fstat(file).map(id).ok() == there.ok()
}

/// Where it can be, in the order of trial: the first is this user's alone where the system has it. All of them are out of
/// a command's sight, unless they are in its workspace.
pub(crate) fn folders() -> [PathBuf; 3] {
    let uid = rustix::process::geteuid().as_raw();
    let own = PathBuf::from(format!("/run/user/{uid}/posse"));
    let [shared, kept] = ["/tmp", "/var/tmp"].map(|place| Path::new(place).join(format!(".posse-{uid}")));
    [own, shared, kept]
}

/// The first that is ours and nobody else's: others can make things of that name there too.
fn private_folder() -> Result<OwnedFd, Failed> {
    let me = rustix::process::geteuid().as_raw();
    for folder in folders() {
        // What is wrong, if anything is, the look at it says.
        let _ = mkdir(&folder, Mode::from_raw_mode(0o700));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(held) = open(&folder, flags, Mode::empty()) else { continue };
        let ours = fstat(&held).is_ok_and(|found| {
            let is_folder = FileType::from_raw_mode(found.st_mode).is_dir();
            is_folder && found.st_uid == me && found.st_mode & 0o077 == 0
        });
        if ours {
            return Ok(held);
        }
    }
    let [_, first, second] = folders();
    let reason = format!(
        "neither {} nor {} is a folder that only this user can enter; remove one of them",
        first.display(),
        second.display()
    );
    Err(Failed::new("finding a place for locks", reason))
}
