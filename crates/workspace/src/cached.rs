//! Reading a file that is in memory, without waiting for anything: no thread is needed for that, and for small files the
//! way to a thread and back costs ten times what the reading does.
//!
//! The kernel is asked to give up where it would have to wait. It answers that only for its own caches, so file systems of
//! other machines or programs, which may wait in other places, are left out.

use std::{
    fs::{File, Metadata},
    io::IoSliceMut,
    os::{fd::AsFd, unix::fs::MetadataExt as _},
    path::PathBuf,
};

use rustix::{
    fs::{CWD, OFlags, ResolveFlags},
    io::ReadWriteFlags,
};

use crate::{Kind, WorkspacePath, beneath::Beneath};

/// A file that was read at once.
pub(crate) struct ReadCached {
    pub(crate) bytes: Vec<u8>,
    pub(crate) metadata: Metadata,
    /// Where the kernel says that it is.
    pub(crate) real: Option<PathBuf>,
}

impl Beneath {
    /// Reads a regular file of at most `bytes_max`. `None` if that would have to wait, or if anything at all is in the way.
    /// Its real path is looked up if it is wanted.
    pub(crate) fn read_cached(
        &self,
        path: &WorkspacePath,
        bytes_max: usize,
        wants_real: bool,
    ) -> Option<ReadCached> {
        // What kind it is is looked at first: opening a device can do things.
        let named = File::from(self.open_cached(path, OFlags::PATH)?);
        let seen = named.metadata().ok()?;
        let small = usize::try_from(seen.len()).is_ok_and(|bytes| bytes <= bytes_max);
        if Kind::of(&seen) != Kind::File || !small || !self.last_device.is_of_this_machine(&named, seen.dev())
        {
            return None;
        }
        let file = File::from(self.open_cached(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?);
        let metadata = file.metadata().ok()?;
        if (metadata.dev(), metadata.ino(), metadata.len()) != (seen.dev(), seen.ino(), seen.len()) {
            return None;
        }
        let bytes = read_now(&file, usize::try_from(metadata.len()).ok()?)?;
        let real = if wants_real { Some(place_of(&file)?) } else { None };
        Some(ReadCached { bytes, metadata, real })
    }

    fn open_cached(&self, path: &WorkspacePath, flags: OFlags) -> Option<rustix::fd::OwnedFd> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::CACHED;
        let mode = rustix::fs::Mode::empty();
        rustix::fs::openat2(&self.root, path.as_path(), flags | OFlags::CLOEXEC, mode, resolve).ok()
    }
}

/// Exactly so many bytes from the start of a file, as far as they are in memory.
fn read_now(file: &File, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut have = 0;
    while have < length {
        let mut rest = [IoSliceMut::new(&mut bytes[have..])];
        match rustix::io::preadv2(file.as_fd(), &mut rest, have as u64, ReadWriteFlags::NOWAIT) {
            Ok(0) | Err(_) => return None,
            Ok(more) => have += more,
        }
    }
    Some(bytes)
}

/// Where an open file is. `None` if its name is gone, or looks as if it were.
fn place_of(file: &File) -> Option<PathBuf> {
    use std::os::{fd::AsRawFd as _, unix::ffi::OsStringExt as _};
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let place = rustix::fs::readlinkat(CWD, link, Vec::new()).ok()?.into_bytes();
    let there = place.starts_with(b"/") && !place.ends_with(b" (deleted)");
    there.then(|| std::ffi::OsString::from_vec(place).into())
}
