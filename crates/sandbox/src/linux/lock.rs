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
pub(crate) fn folders() -> Vec<PathBuf> {
    let mut folders = usual_folders().to_vec();
    if !folders.iter().any(|folder| is_ours(folder)) {
        folders.extend(SHARED.iter().flat_map(|place| unusual_folders(Path::new(place))));
    }
    folders
}

const SHARED: [&str; 2] = ["/tmp", "/var/tmp"];

fn usual_folders() -> [PathBuf; 3] {
    let uid = rustix::process::geteuid().as_raw();
    let [first, second] = SHARED.map(|place| Path::new(place).join(format!(".posse-{uid}")));
    [first, second, PathBuf::from(format!("/run/user/{uid}/posse"))]
}

/// Folders of ours by names that nobody could guess before they were there, in an order that is the same for all.
fn unusual_folders(place: &Path) -> Vec<PathBuf> {
    let prefix = format!(".posse-{}-", rustix::process::geteuid().as_raw());
    let names = fs::read_dir(place).into_iter().flatten().flatten();
    let names = names.filter(|entry| entry.file_name().as_bytes().starts_with(prefix.as_bytes()));
    let mut found: Vec<PathBuf> = names.map(|entry| entry.path()).filter(|path| is_ours(path)).collect();
    found.sort();
    found
}

fn is_ours(folder: &Path) -> bool {
    let me = rustix::process::geteuid().as_raw();
    let found = folder.symlink_metadata();
    found.is_ok_and(|found| found.is_dir() && found.uid() == me && found.mode() & 0o077 == 0)
}

/// The first that is ours and nobody else's: others can make things of that name there too. Where they have, one by a name
/// that they could not know.
fn private_folder() -> Result<PathBuf, Failed> {
    let make = |folder: &PathBuf| {
        // What is wrong, if anything is, the look at it says.
        let _ = DirBuilder::new().mode(0o700).create(folder);
        is_ours(folder)
    };
    if let Some(folder) = usual_folders().into_iter().find(make) {
        return Ok(folder);
    }
    for place in SHARED.map(Path::new) {
        if unusual_folders(place).is_empty() {
            let mut chance = [0; 8];
            let step = "choosing a name for a folder of locks";
            File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut chance)).step(step)?;
            let uid = rustix::process::geteuid().as_raw();
            make(&place.join(format!(".posse-{uid}-{:016x}", u64::from_ne_bytes(chance))));
        }
        // Looked for again, because another process may have made one just now: all are to take the same.
        if let Some(folder) = unusual_folders(place).into_iter().next() {
            return Ok(folder);
        }
    }
    Err(Failed::new("finding a place for locks", "no folder can be made in /tmp or /var/tmp"))
}
