//! Watches, from outside, the names that a confinement has covered.
//!
//! A cover holds only as long as the name under it stays what it is. In its own confinement a command cannot change that,
//! but whoever is outside can: when an editor or `git config` puts a new file in the place of a covered one, the kernel
//! takes the cover away, and the command could write the new one. So everything is ended then. Between the one and the
//! other lie microseconds, on a busy machine milliseconds, in which a command that waits for that could write.

use std::{
    fs, io,
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    event::Timespec,
    fs::{Mode, OFlags, inotify, open},
};

use super::Failed;
use crate::limits;

/// What tells one thing from another that has taken its name.
pub(crate) type Identity = (u64, u64);

/// The identity of what is at a path, itself.
pub(crate) fn identity(path: &Path) -> io::Result<Identity> {
    path.symlink_metadata().map(|found| of(&found))
}

/// The identity of what was found.
pub(crate) fn of(found: &fs::Metadata) -> Identity {
    (found.dev(), found.ino())
}

/// A name that is covered.
struct Name {
    path: PathBuf,
    identity: Identity,
    /// The number of its folder's watch.
    watch: Option<i32>,
    /// Keeps its number from being given to another as long as we compare by it.
    _held: OwnedFd,
}

/// What the system tells of changes through, made ready by the process that has a command confined. It holds it until after
/// the end, because whoever is the last to let go of it waits there, for longer than most commands take.
pub(crate) struct Watches(Option<OwnedFd>);

impl Watches {
    /// Where the system has none, there are none.
    pub(crate) fn new() -> Self {
        Self(inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).ok())
    }

    /// For where nothing is covered.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// The descriptor.
    pub(crate) fn get(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(OwnedFd::as_fd)
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        if let Some(watches) = self.0.take() {
            // Where there is no thread to be had, it is done here.
            let _ = std::thread::Builder::new().name("posse-watches".into()).spawn(move || drop(watches));
        }
    }
}

/// All that are covered.
pub(crate) struct Names {
    names: Vec<Name>,
    /// None where the system has no more of them for us: then we look from time to time.
    watches: Option<OwnedFd>,
}

impl Names {
    /// Begins to watch. Fails if one is not any more what it was when it was found.
    pub(crate) fn watch(found: &[(PathBuf, Identity)], watches: Option<OwnedFd>) -> Result<Self, Failed> {
        let mut all = Self { names: Vec::new(), watches };
        let mut folders: Vec<(&Path, Option<i32>)> = Vec::new();
        for (path, identity) in found {
            let folder = path.parent().unwrap_or(path);
            let known = folders.iter().find(|(known, _)| *known == folder).map(|(_, watch)| *watch);
            let watch = known.unwrap_or_else(|| {
                let watch = all.watches.as_ref().and_then(|watches| add(watches, folder));
                folders.push((folder, watch));
                watch
            });
            let held = open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
            let held = held.map_err(|error| Failed::new(format!("watching {}", path.display()), error))?;
            all.names.push(Name { path: path.clone(), identity: *identity, watch, _held: held });
        }
        if all.names.iter().any(|name| name.watch.is_none()) {
            all.watches = None;
        }
        match all.changed() {
            Some(path) => {
                let step = format!("protecting {}", path.display());
                Err(Failed::new(step, "it was replaced from outside just now; run it again"))
            }
            None => Ok(all),
        }
    }

    /// Readable when there may be something to see.
    pub(crate) fn watches(&self) -> Option<BorrowedFd<'_>> {
        self.watches.as_ref().map(OwnedFd::as_fd)
    }

    /// When to look even so.
    pub(crate) fn look_again_after(&self) -> Option<Timespec> {
        let unwatched = self.watches.is_none() && !self.names.is_empty();
        let nanoseconds = limits::LOOK_AGAIN_MS.cast_signed() * 1_000_000;
        unwatched.then_some(Timespec { tv_sec: 0, tv_nsec: nanoseconds })
    }

    /// The first name that has been replaced, moved or removed since.
    pub(crate) fn replaced(&self) -> Option<&Path> {
        let Some(watches) = &self.watches else { return self.changed() };
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(watches, &mut buffer);
        let mut look = false;
        while let Ok(event) = events.next() {
            match event.file_name() {
                Some(file) => {
                    let hit = |name: &&Name| {
                        let known = name.path.file_name().map(OsStrExt::as_bytes);
                        name.watch == Some(event.wd()) && known == Some(file.to_bytes())
                    };
                    // Even if it has the same thing again: its cover is gone.
                    if let Some(name) = self.names.iter().find(hit) {
                        return Some(&name.path);
                    }
                }
                // The folder itself, or more has happened than the system keeps.
                None => look = true,
            }
        }
        if look { self.changed() } else { None }
    }

    fn changed(&self) -> Option<&Path> {
        let mut changed = self.names.iter().filter(|name| identity(&name.path).ok() != Some(name.identity));
        changed.next().map(|name| name.path.as_path())
    }
}

fn add(watches: &OwnedFd, folder: &Path) -> Option<i32> {
    use inotify::WatchFlags as On;
    let on = On::MOVED_TO | On::MOVED_FROM | On::DELETE | On::CREATE | On::DELETE_SELF | On::MOVE_SELF;
    inotify::add_watch(watches, folder, on | On::ONLYDIR | On::DONT_FOLLOW).ok()
}
