//! File access on Linux: every open is relative to the folder's descriptor, and the kernel refuses to leave it.

use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata},
    io::{self, Write},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{ffi::OsStringExt, fs::MetadataExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Uid},
    io::Errno,
};

use crate::{
    Expect, Kind, Stamp, WorkspaceError, WorkspacePath, Written,
    expect::{must_be_expected, must_be_file, temporary_name},
    guard::WriteGuard,
    last_device::LastDevice,
    limits,
};

/// The open folder.
#[derive(Debug)]
pub(crate) struct Beneath {
    pub(crate) root: OwnedFd,
    pub(crate) last_device: LastDevice,
}

/// Where a file is, or is to be: an open folder and a name in it that is not a link.
struct Slot {
    folder: OwnedFd,
    name: OsString,
    old: Option<Metadata>,
}

impl Beneath {
    /// Opens the folder; `None` where the kernel lacks what this needs.
    pub(crate) fn open(root: &Path) -> io::Result<Option<Self>> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, root, flags, Mode::empty())?;
        let beneath = Self { root, last_device: LastDevice::default() };
        let works = beneath.open_at(Path::new("."), OFlags::PATH).is_ok() && beneath.real_root().is_ok();
        Ok(works.then_some(beneath))
    }

    /// Opens a regular file for reading. What kind it is is looked at first: opening a device can do things.
    pub(crate) fn read(&self, path: &WorkspacePath) -> Result<File, WorkspaceError> {
        must_be_file(path, Kind::of(&self.metadata(path)?))?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        self.open_at(path.as_path(), flags).map(File::from).map_err(|error| failed(path, error))
    }

    /// Opens what a walk has just found to be a regular file, at once. Where a link has taken the place of any part of its
    /// path since, there is an error.
    pub(crate) fn read_found(&self, path: &WorkspacePath) -> Result<File, WorkspaceError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let opened = self.open_by(path.as_path(), flags, resolve);
        opened.map(File::from).map_err(|error| failed(path, error))
    }

    pub(crate) fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, WorkspaceError> {
        let entry = self.open_at(path.as_path(), OFlags::PATH).map_err(|error| failed(path, error))?;
        File::from(entry).metadata().map_err(|source| WorkspaceError::from_io(path.as_str(), source))
    }

    pub(crate) fn write(
        &self,
        path: &WorkspacePath,
        bytes: &[u8],
        expect: Expect,
        guard: &WriteGuard,
    ) -> Result<Written, WorkspaceError> {
        let slot = self.slot(path, guard)?;
        must_be_expected(path, expect, slot.old.as_ref().map(Stamp::of))?;
        let temporary = Temporary { folder: &slot.folder, name: temporary_name(), synced: true };
        let io_failed = |source| WorkspaceError::from_io(path.as_str(), source);
        let file = temporary.create(slot.old.as_ref(), bytes).map_err(io_failed)?;
        let now = entry(&slot.folder, &slot.name).map_err(|error| failed(path, error))?;
        must_be_expected(path, expect, now.as_ref().map(Stamp::of))?;
        temporary.rename_to(&slot.name, expect).map_err(|error| match error {
            Errno::EXIST => WorkspaceError::Exists { path: path.to_string() },
            error => failed(path, error),
        })?;
        let stamp = Stamp::of(&file.metadata().map_err(io_failed)?);
        Ok(Written { stamp, created: slot.old.is_none() })
    }

    fn open_at(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        self.open_by(path, flags, ResolveFlags::BENEATH)
    }

    fn open_by(&self, path: &Path, flags: OFlags, resolve: ResolveFlags) -> rustix::io::Result<OwnedFd> {
        let resolve = resolve | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..limits::OPEN_TRIES_MAX {
            match rustix::fs::openat2(&self.root, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
                // Something was renamed while the kernel looked: it cannot tell, so look again.
                Err(Errno::AGAIN | Errno::INTR) => {}
                done => return done,
            }
        }
        Err(Errno::AGAIN)
    }

    /// Finds the place to write to, following links within the folder by hand so that the last name is no link.
    fn slot(&self, path: &WorkspacePath, guard: &WriteGuard) -> Result<Slot, WorkspaceError> {
        let mut place = path.as_path().to_owned();
        for followed in 0..=limits::LINKS_MAX {
            let name = place.file_name().map(OsStr::to_owned);
            let name = name.ok_or(WorkspaceError::NotAFile { path: path.to_string(), kind: Kind::Folder })?;
            let parent = match place.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            let folder = match self.open_folder(path, parent, guard) {
                Err(WorkspaceError::Missing { path }) if followed > 0 => {
                    return Err(WorkspaceError::DanglingLink { path });
                }
                Err(WorkspaceError::Missing { .. }) => self.make_folders(path, parent, &name, guard)?,
                opened => opened?,
            };
            guard.must_be_writable(path, &self.inside(path, &folder)?.join(&name))?;
            let old = entry(&folder, &name).map_err(|error| failed(path, error))?;
            match &old {
                Some(old) if old.is_symlink() => {
                    let target = rustix::fs::readlinkat(&folder, &name, Vec::new());
                    let target = target.map_err(|error| failed(path, error))?.into_bytes();
                    place = parent.join(OsString::from_vec(target));
                    if place.is_absolute() {
                        return Err(WorkspaceError::LinkOutside { path: path.to_string() });
                    }
                }
                None if followed > 0 => return Err(WorkspaceError::DanglingLink { path: path.to_string() }),
                Some(old) if !old.is_file() => {
                    return Err(WorkspaceError::NotAFile { path: path.to_string(), kind: Kind::of(old) });
                }
                _ => return Ok(Slot { folder, name, old }),
            }
        }
        Err(WorkspaceError::LinkLoop { path: path.to_string() })
    }

    /// Opens a folder that may be written in.
    fn open_folder(
        &self,
        path: &WorkspacePath,
        folder: &Path,
        guard: &WriteGuard,
    ) -> Result<OwnedFd, WorkspaceError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let opened = self.open_at(folder, flags).map_err(|error| failed(path, error))?;
        guard.must_be_open(path, &self.inside(path, &opened)?)?;
        Ok(opened)
    }

    /// Where an open folder is, relative to the workspace.
    fn inside(&self, path: &WorkspacePath, open: &OwnedFd) -> Result<PathBuf, WorkspaceError> {
        let io_failed = |source| WorkspaceError::from_io(path.as_str(), source);
        let real = real_path(open).map_err(io_failed)?;
        let inside = real.strip_prefix(self.real_root().map_err(io_failed)?).map(Path::to_owned);
        inside.map_err(|_| WorkspaceError::LinkOutside { path: path.to_string() })
    }

    /// Makes what is missing of `folder`, one name at a time, never through a link that was not checked.
    fn make_folders(
        &self,
        path: &WorkspacePath,
        folder: &Path,
        name: &OsStr,
        guard: &WriteGuard,
    ) -> Result<OwnedFd, WorkspaceError> {
        let mut made = PathBuf::from(".");
        let mut current = self.open_folder(path, &made, guard)?;
        let mut parts = folder.components();
        while let Some(part) = parts.next() {
            made.push(part);
            current = match self.open_folder(path, &made, guard) {
                Err(WorkspaceError::Missing { .. }) => {
                    if entry(&current, part.as_os_str()).is_ok_and(|there| there.is_some()) {
                        return Err(WorkspaceError::DanglingLink { path: path.to_string() });
                    }
                    let place = self.inside(path, &current)?.join(part).join(parts.as_path()).join(name);
                    guard.must_be_writable(path, &place)?;
                    let mode = Mode::from_raw_mode(0o777);
                    match rustix::fs::mkdirat(&current, part.as_os_str(), mode) {
                        Ok(()) | Err(Errno::EXIST) => self.open_folder(path, &made, guard)?,
                        Err(error) => return Err(failed(path, error)),
                    }
                }
                opened => opened?,
            };
        }
        Ok(current)
    }

    /// Brings everything to the disk at once.
    pub(crate) fn sync(&self) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(root) = rustix::fs::openat(&self.root, ".", flags, Mode::empty()) {
            let _ = rustix::fs::syncfs(root);
        }
    }

    fn real_root(&self) -> io::Result<PathBuf> {
        real_path(&self.root)
    }
}

/// A file that is being written beside the one it will replace; removed again if that does not come to pass.
pub(crate) struct Temporary<'a> {
    pub(crate) folder: &'a OwnedFd,
    pub(crate) name: String,
    /// Whether it is on the disk before it takes its place.
    pub(crate) synced: bool,
}

impl Temporary<'_> {
    pub(crate) fn create(&self, old: Option<&Metadata>, bytes: &[u8]) -> io::Result<File> {
        // A new file gets what the person's umask says; a replacement is private until it has the old one's mode.
        let mode = Mode::from_raw_mode(if old.is_some() { 0o600 } else { 0o666 });
        // It has a name only once it is whole, so that nothing is left of it when Posse is killed.
        let nameless =
            rustix::fs::openat(self.folder, ".", OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC, mode);
        let named = nameless.is_err();
        let file = nameless.or_else(|_| {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(self.folder, &self.name, flags, mode)
        });
        let mut file = File::from(file?);
        file.write_all(bytes)?;
        if let Some(old) = old {
            // Only root may give files away; a file of somebody else's then becomes ours, as with any editor.
            let (uid, gid) = (Uid::from_raw(old.uid()), Gid::from_raw(old.gid()));
            let _ = rustix::fs::fchown(&file, Some(uid), Some(gid));
            rustix::fs::fchmod(&file, Mode::from_raw_mode(old.mode() & 0o7777))?;
        }
        if self.synced {
            file.sync_all()?;
        }
        if !named {
            let held = format!("/proc/self/fd/{}", file.as_raw_fd());
            rustix::fs::linkat(CWD, held, self.folder, &self.name, AtFlags::SYMLINK_FOLLOW)?;
        }
        Ok(file)
    }

    pub(crate) fn rename_to(&self, name: &OsStr, expect: Expect) -> rustix::io::Result<()> {
        if expect == Expect::Absent {
            let kept = RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(self.folder, &self.name, self.folder, name, kept) {
                // Some file systems cannot do this; the check just before has to do then.
                Err(Errno::INVAL | Errno::NOSYS) => {}
                done => return done.inspect(|()| self.sync_folder()),
            }
        }
        rustix::fs::renameat(self.folder, &self.name, self.folder, name).inspect(|()| self.sync_folder())
    }

    fn sync_folder(&self) {
        if !self.synced {
            return;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(folder) = rustix::fs::openat(self.folder, ".", flags, Mode::empty()) {
            let _ = rustix::fs::fsync(folder);
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // After a rename there is nothing of this name left.
        let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
    }
}

/// What `name` in `folder` is, links not followed.
pub(crate) fn entry(folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<Option<Metadata>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(found) => {
            let metadata = File::from(found).metadata();
            metadata.map(Some).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn real_path(open: &impl AsFd) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", open.as_fd().as_raw_fd()))
}

pub(crate) fn failed(path: &WorkspacePath, error: Errno) -> WorkspaceError {
    WorkspaceError::from_io(path.as_str(), error.into())
}
