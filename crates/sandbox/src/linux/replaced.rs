//! Watches, from outside, the names that a confinement has covered.
//!
//! A cover holds only as long as the name under it stays what it is. In its own confinement a command cannot change that,
//! but whoever is outside can: when an editor or `git config` puts a new file in the place of a covered one, the kernel
//! takes the cover away. Whoever watches covers the new one at once: see `recover`. Anything that happens to the name in
//! between may have been the command's doing, so it is told apart here.

use std::{
    collections::BTreeSet,
    io::{self, Read},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    event::Timespec,
    fs::{Stat, inotify},
};

use super::{FailedStep, folder::Folder};
use crate::{git_settings::differ_harmlessly, limits};

/// What tells one thing from another that has taken its name.
pub(crate) type FileId = (u64, u64);

/// The identity of what was found.
pub(crate) fn of(found: &Stat) -> FileId {
    (found.st_dev, found.st_ino)
}

/// A name that is covered.
struct Name {
    path: PathBuf,
    identity: FileId,
    /// The number of its folder's watch.
    watch: Option<i32>,
    /// Keeps its number from being given to another as long as we compare by it.
    _held: OwnedFd,
    /// What a file of git's settings said when it was covered.
    said: Option<String>,
}

/// All that are covered.
pub(crate) struct CoveredNames {
    names: Vec<Name>,
    /// None where the system has no more of them for us: then we look from time to time.
    watches: Option<OwnedFd>,
    /// Whether the command is refused these names at each call. Then only who is outside puts another file in their place.
    guarded: bool,
}

/// What has happened to covered names since somebody looked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Happened {
    /// Names that were replaced, moved or removed: their covers are gone.
    pub(crate) replaced: BTreeSet<PathBuf>,
    /// Names that something else happened to after that, or of which nobody can tell.
    pub(crate) doubtful: BTreeSet<PathBuf>,
}

impl Happened {
    pub(crate) fn is_nothing(&self) -> bool {
        self.replaced.is_empty() && self.doubtful.is_empty()
    }
}

impl CoveredNames {
    /// Begins to watch. Fails if one is not any more what it was when it was found.
    pub(crate) fn watch(
        folder: &Folder,
        found: &[(PathBuf, FileId)],
        guarded: bool,
    ) -> Result<Self, FailedStep> {
        let make = || inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).ok();
        let watches = if found.is_empty() { None } else { make() };
        let mut all = Self { names: Vec::new(), watches, guarded };
        let mut folders: Vec<(&Path, Option<i32>)> = Vec::new();
        for (path, identity) in found {
            let above = path.parent().unwrap_or(path);
            let failed = |error: io::Error| FailedStep::new(format!("watching {}", path.display()), error);
            let slot = folder.slot(path).map_err(failed)?;
            let known = folders.iter().find(|(known, _)| *known == above).map(|(_, watch)| *watch);
            let watch = known.unwrap_or_else(|| {
                let watch = all.watches.as_ref().and_then(|watches| add(watches, slot.folder()));
                folders.push((above, watch));
                watch
            });
            let held = slot.hold().map_err(failed)?;
            let said = settings_at(folder, path);
            all.names.push(Name { path: path.clone(), identity: *identity, watch, _held: held, said });
        }
        if all.names.iter().any(|name| name.watch.is_none()) {
            all.watches = None;
        }
        match all.changed(folder).into_iter().next() {
            Some(path) => {
                let step = format!("protecting {}", path.display());
                Err(FailedStep::new(step, "it was replaced from outside just now; run it again"))
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

    /// What has happened since the last look, with these names without covers. Where the system does not tell, all of it
    /// is doubtful.
    pub(crate) fn happened(&self, folder: &Folder, uncovered: &BTreeSet<PathBuf>) -> Happened {
        let mut happened = Happened::default();
        let Some(watches) = &self.watches else {
            happened.doubtful = self.changed(folder);
            return happened;
        };
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(watches, &mut buffer);
        while let Ok(event) = events.next() {
            let Some(file) = event.file_name() else {
                // The folder itself, or more has happened than the system keeps.
                happened.doubtful.extend(self.changed(folder));
                continue;
            };
            let hit = |name: &&Name| {
                let known = name.path.file_name().map(OsStrExt::as_bytes);
                name.watch == Some(event.wd()) && known == Some(file.to_bytes())
            };
            let Some(Name { path, .. }) = self.names.iter().find(hit) else { continue };
            let written = event.events() == inotify::ReadFlags::CLOSE_WRITE;
            let again = uncovered.contains(path) || happened.replaced.contains(path);
            if again && (written || !self.guarded) {
                happened.doubtful.insert(path.clone());
            } else if !written {
                // Even if it has the same thing again: its cover is gone. What is only written while it is covered, somebody
                // outside has written.
                happened.replaced.insert(path.clone());
            }
        }
        happened
    }

    /// Takes what is at these names now for what is covered.
    pub(crate) fn renew(&mut self, folder: &Folder, paths: &BTreeSet<PathBuf>) -> io::Result<()> {
        for name in self.names.iter_mut().filter(|name| paths.contains(&name.path)) {
            let slot = folder.slot(&name.path)?;
            name._held = slot.hold()?;
            name.identity = of(&rustix::fs::fstat(&name._held)?);
        }
        Ok(())
    }

    /// Takes what these say now for what they say.
    pub(crate) fn read_again(&mut self, folder: &Folder, paths: &BTreeSet<PathBuf>) {
        for name in self.names.iter_mut().filter(|name| paths.contains(&name.path)) {
            name.said = settings_at(folder, &name.path);
        }
    }

    /// Whether a file of git's settings says what it said when it was covered last, but for what cannot run anything.
    pub(crate) fn says_the_same(&self, folder: &Folder, path: &Path) -> bool {
        let known = self.names.iter().find(|name| name.path == path).and_then(|name| name.said.as_deref());
        let now = settings_at(folder, path);
        known.zip(now.as_deref()).is_some_and(|(known, now)| differ_harmlessly(known, now))
    }

    fn changed(&self, folder: &Folder) -> BTreeSet<PathBuf> {
        let is_same = |name: &&Name| {
            let now = folder.slot(&name.path).and_then(|slot| slot.look());
            now.is_ok_and(|now| of(&now) == name.identity)
        };
        self.names.iter().filter(|name| !is_same(name)).map(|name| name.path.clone()).collect()
    }
}

fn settings_at(folder: &Folder, path: &Path) -> Option<String> {
    if !path.ends_with(".git/config") {
        return None;
    }
    let mut said = String::new();
    let file = folder.slot(path).and_then(|slot| slot.read()).ok()?;
    let read = file.take(limits::SETTINGS_BYTES_MAX + 1).read_to_string(&mut said).ok()?;
    (read as u64 <= limits::SETTINGS_BYTES_MAX).then_some(said)
}

fn add(watches: &OwnedFd, folder: BorrowedFd<'_>) -> Option<i32> {
    use inotify::WatchFlags as On;
    let on = On::MOVED_TO | On::MOVED_FROM | On::DELETE | On::CREATE | On::CLOSE_WRITE;
    let held = format!("/proc/self/fd/{}", folder.as_raw_fd());
    inotify::add_watch(watches, held, on | On::DELETE_SELF | On::MOVE_SELF | On::ONLYDIR).ok()
}
