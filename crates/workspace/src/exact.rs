//! Files and links exactly where a path says, on Linux: the kernel refuses every link on the way. For taking back and
//! merging, where a path is a name in a tree and must not lead anywhere else.

use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata},
    io::Read,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStringExt, fs::MetadataExt},
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, Mode as Bits, OFlags, ResolveFlags},
    io::Errno,
};

use crate::{
    Entry, Expect, Kind, Mode, Stamp, WorkspaceError, WorkspacePath,
    beneath::{Beneath, Temporary, entry, failed},
    expect::{must_be_expected, temporary_name},
    limits,
};

impl Beneath {
    pub(crate) fn entry(
        &self,
        path: &WorkspacePath,
        bytes_max: u64,
    ) -> Result<Option<(Entry, Stamp)>, WorkspaceError> {
        let (folder, name) = match self.exact_folder(&path.parent()) {
            Ok(folder) => (folder, OsString::from(path.name())),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(error) => return Err(stopped(path, error)),
        };
        let Some(found) = entry(&folder, &name).map_err(|error| failed(path, error))? else {
            return Ok(None);
        };
        let mode = mode_of(path, &found)?;
        let bytes = if mode == Mode::Link {
            let target = rustix::fs::readlinkat(&folder, &name, Vec::new());
            target.map_err(|error| failed(path, error))?.into_bytes()
        } else {
            read(path, &folder, &name, bytes_max)?
        };
        Ok(Some((Entry { mode, bytes }, Stamp::of(&found))))
    }

    pub(crate) fn put(
        &self,
        path: &WorkspacePath,
        new: &Entry,
        expect: Expect,
        synced: bool,
    ) -> Result<(), WorkspaceError> {
        let folder = self.make_exact_folder(&path.parent()).map_err(|error| stopped(path, error))?;
        let name = OsStr::new(path.name());
        let old = entry(&folder, name).map_err(|error| failed(path, error))?;
        if let Some(old) = &old {
            mode_of(path, old)?;
        }
        let temporary = Temporary { folder: &folder, name: temporary_name(), synced };
        let io_failed = |source| WorkspaceError::from_io(path.as_str(), source);
        if new.mode == Mode::Link {
            let target = OsString::from_vec(new.bytes.clone());
            rustix::fs::symlinkat(target, &folder, &temporary.name).map_err(|error| failed(path, error))?;
        } else {
            let file = old.as_ref().filter(|old| old.is_file());
            let file = temporary.create(file, &new.bytes).map_err(io_failed)?;
            let bits = new.mode.applied_to(file.metadata().map_err(io_failed)?.mode() & 0o7777);
            rustix::fs::fchmod(&file, Bits::from_raw_mode(bits)).map_err(|error| failed(path, error))?;
        }
        let now = entry(&folder, name).map_err(|error| failed(path, error))?;
        must_be_expected(path, expect, now.as_ref().map(Stamp::of))?;
        temporary.rename_to(name, expect).map_err(|error| failed(path, error))
    }

    /// Removes a file or link, and the folders that are empty then.
    pub(crate) fn remove(&self, path: &WorkspacePath, expect: Expect) -> Result<(), WorkspaceError> {
        let folder = self.exact_folder(&path.parent()).map_err(|error| stopped(path, error))?;
        let name = OsStr::new(path.name());
        let now = entry(&folder, name).map_err(|error| failed(path, error))?;
        must_be_expected(path, expect, now.as_ref().map(Stamp::of))?;
        rustix::fs::unlinkat(&folder, name, AtFlags::empty()).map_err(|error| failed(path, error))?;
        let mut emptied = path.parent();
        while !emptied.is_root() {
            let Ok(above) = self.exact_folder(&emptied.parent()) else { break };
            if rustix::fs::unlinkat(&above, emptied.name(), AtFlags::REMOVEDIR).is_err() {
                break;
            }
            emptied = emptied.parent();
        }
        Ok(())
    }

    /// Opens a folder with no link on the way.
    fn exact_folder(&self, folder: &WorkspacePath) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..limits::OPEN_TRIES_MAX {
            match rustix::fs::openat2(&self.root, folder.as_path(), flags, Bits::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                done => return done,
            }
        }
        Err(Errno::AGAIN)
    }

    fn make_exact_folder(&self, folder: &WorkspacePath) -> rustix::io::Result<OwnedFd> {
        match self.exact_folder(folder) {
            Err(Errno::NOENT) if !folder.is_root() => {}
            done => return done,
        }
        let above = self.make_exact_folder(&folder.parent())?;
        match rustix::fs::mkdirat(&above, folder.name(), Bits::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.exact_folder(folder),
            Err(error) => Err(error),
        }
    }
}

fn read(
    path: &WorkspacePath,
    folder: &OwnedFd,
    name: &OsStr,
    bytes_max: u64,
) -> Result<Vec<u8>, WorkspaceError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, Path::new(name), flags, Bits::empty());
    let file = File::from(file.map_err(|error| failed(path, error))?);
    let io_failed = |source| WorkspaceError::from_io(path.as_str(), source);
    let length = file.metadata().map_err(io_failed)?.len();
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(io_failed)?;
    if bytes.len() as u64 > bytes_max {
        return Err(WorkspaceError::TooLarge { path: path.to_string(), bytes: length, bytes_max });
    }
    Ok(bytes)
}

fn mode_of(path: &WorkspacePath, metadata: &Metadata) -> Result<Mode, WorkspaceError> {
    Mode::of(metadata)
        .ok_or_else(|| WorkspaceError::NotAFile { path: path.to_string(), kind: Kind::of(metadata) })
}

fn stopped(path: &WorkspacePath, error: Errno) -> WorkspaceError {
    match error {
        Errno::LOOP => WorkspaceError::ThroughLink { path: path.to_string() },
        error => failed(path, error),
    }
}
