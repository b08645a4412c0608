//! The lock of a workspace, and the list of placeholders that those who hold it have made there.
//!
//! Both are one file in a private folder of this user that no command sees: a lock on something in the workspace itself
//! could be taken by any command that can read it, and so keep all others out.

use std::{
    fs::{self, File},
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

use super::{FailedStep, NamedStep, folder::Folder};
use crate::limits;

/// A share of a workspace's lock. It ends with this value.
pub(crate) struct Lock {
    file: File,
    folder: OwnedFd,
    name: String,
}

impl Lock {
    /// Takes a share; waits for somebody who cleans up, but not for long.
    pub(crate) fn shared(workspace: &Folder) -> Result<Self, FailedStep> {
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
                Err(error) => return Err(FailedStep::new("locking the workspace", error)),
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

const SHARED: [&str; 2] = ["/tmp", "/var/tmp"];

/// Where it can be. All of them are out of a command's sight, unless they are in its workspace.
pub(crate) fn folders() -> Vec<PathBuf> {
    let mut folders = usual_folders().to_vec();
    if !folders.iter().any(|folder| held(folder).is_some()) {
        folders.extend(SHARED.iter().flat_map(|place| unusual_folders(Path::new(place))));
    }
    folders
}

/// In the order of trial: the first is this user's alone where the system has it.
fn usual_folders() -> [PathBuf; 3] {
    let uid = rustix::process::geteuid().as_raw();
    let [first, second] = SHARED.map(|place| Path::new(place).join(format!(".posse-{uid}")));
    [PathBuf::from(format!("/run/user/{uid}/posse")), first, second]
}

/// Folders of ours by names that nobody could guess before they were there, in an order that is the same for all.
fn unusual_folders(place: &Path) -> Vec<PathBuf> {
    let prefix = format!(".posse-{}-", rustix::process::geteuid().as_raw());
    let names = fs::read_dir(place).into_iter().flatten().flatten();
    let names = names.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes()));
    let mut found: Vec<PathBuf> =
        names.map(|entry| entry.path()).filter(|path| held(path).is_some()).collect();
    found.sort();
    found
}

/// A folder, if it is ours and nobody else's.
fn held(folder: &Path) -> Option<OwnedFd> {
    let me = rustix::process::geteuid().as_raw();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = open(folder, flags, Mode::empty()).ok()?;
    let found = fstat(&held).ok()?;
    let is_folder = FileType::from_raw_mode(found.st_mode).is_dir();
    (is_folder && found.st_uid == me && found.st_mode & 0o077 == 0).then_some(held)
}

/// The first that is ours and nobody else's: others can make things of that name there too. Where they have, one by a name
/// that they could not know.
fn private_folder() -> Result<OwnedFd, FailedStep> {
    let make = |folder: &Path| {
        // What is wrong, if anything is, the look at it says.
        let _ = mkdir(folder, Mode::from_raw_mode(0o700));
        held(folder)
    };
    if let Some(folder) = usual_folders().iter().find_map(|folder| make(folder)) {
        return Ok(folder);
    }
    for place in SHARED.map(Path::new) {
        if unusual_folders(place).is_empty() {
            let uid = rustix::process::geteuid().as_raw();
            make(&place.join(format!(".posse-{uid}-{:016x}", super::folder::random())));
        }
        // Looked for again, because another process may have made one just now: all are to take the same.
        if let Some(folder) = unusual_folders(place).iter().find_map(|folder| held(folder)) {
            return Ok(folder);
        }
    }
    Err(FailedStep::new("finding a place for locks", "no folder can be made in /tmp or /var/tmp"))
}
