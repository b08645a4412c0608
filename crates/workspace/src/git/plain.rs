//! Small files in a repository, looked at by us and not by git. No link is followed to one, and none keeps us waiting.

use std::{fs::File, io::Read, path::Path};

use crate::limits;

/// The text of a small regular file, without white space around it.
pub(crate) fn text(path: &Path) -> Option<String> {
    let bytes = bytes(path, limits::GIT_POINTER_BYTES_MAX)?;
    Some(String::from_utf8(bytes).ok()?.trim().to_owned())
}

/// A regular file, open for reading.
pub(crate) fn open_file(path: &Path) -> Option<File> {
    open(path).filter(|file| file.metadata().is_ok_and(|found| found.is_file()))
}

/// What a regular file holds; none of one that is longer.
pub(crate) fn bytes(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let file = open_file(path)?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= bytes_max).then_some(bytes)
}

/// Whether something is there that is a folder itself, and not a link to one.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

#[cfg(unix)]
fn open(path: &Path) -> Option<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).ok().map(File::from)
}

#[cfg(not(unix))]
fn open(path: &Path) -> Option<File> {
    path.symlink_metadata().ok().filter(|found| found.is_file()).and_then(|_| File::open(path).ok())
}

/// Removes the lock of a reference that a git which was killed has left: a file of that name in the folder of references
/// and nowhere else, whatever links say.
#[cfg(target_os = "linux")]
pub(crate) fn remove_lock(common: &Path, reference: &str) {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat, openat2, unlinkat};
    let Some((folder, name)) = reference.rsplit_once('/') else { return };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let exactly = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = openat(CWD, common, flags | OFlags::NOFOLLOW, Mode::empty())
        .and_then(|common| openat2(common, folder, flags, Mode::empty(), exactly));
    if let Ok(folder) = opened {
        let _ = unlinkat(folder, format!("{name}.lock"), AtFlags::empty());
    }
}

/// Elsewhere there is no way to name it without following links, so it stays.
#[cfg(not(target_os = "linux"))]
pub(crate) fn remove_lock(_common: &Path, _reference: &str) {}
