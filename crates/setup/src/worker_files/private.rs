//! Files that are their owner's alone: opened without following a link, looked at once they are open, read up to a limit, and written
//! whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use super::error::WorkerFileError;
use crate::paths::create_new_private;
use crate::surroundings::ShownPath;

/// What becomes of a file that is there already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum IfThere {
    /// It stays as it is, and nothing is written.
    Keep,
    /// It is replaced.
    Replace,
}

/// The text of a private file; none if there is no file.
pub(super) fn read(path: &ShownPath, bytes_max: u64) -> Result<Option<String>, WorkerFileError> {
    let unreadable = |source| WorkerFileError::Unreadable { path: path.clone(), source };
    let file = match open(path.path()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(_) if path.path().is_symlink() => return Err(WorkerFileError::NotAFile { path: path.clone() }),
        Err(error) => return Err(unreadable(error)),
    };
    check(&file.metadata().map_err(unreadable)?, path)?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > bytes_max {
        return Err(WorkerFileError::TooLarge { path: path.clone(), bytes_max });
    }
    let no_text = |_| WorkerFileError::Faulty { path: path.clone(), fault: "it is no text".to_owned() };
    String::from_utf8(bytes).map(Some).map_err(no_text)
}

/// The turn of one that changes files of a folder. It ends with this value.
pub(super) struct FolderTurn {
    _locked: File,
}

/// Writes a private file. False if there is one that stays.
pub(super) fn write(path: &ShownPath, text: &str, if_there: IfThere) -> Result<bool, WorkerFileError> {
    write_in_turn(path, text, if_there, &turn(path)?)
}

/// The same where it is one's turn already.
pub(super) fn write_in_turn(
    path: &ShownPath,
    text: &str,
    if_there: IfThere,
    _turn: &FolderTurn,
) -> Result<bool, WorkerFileError> {
    let unwritable = |source| WorkerFileError::Unwritable { path: path.clone(), source };
    let path = path.path();
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    let temporary = path.with_file_name(name);
    // What a crash left behind is in the way.
    let _ = std::fs::remove_file(&temporary);
    let put = || {
        let mut file = create_new_private(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        match if_there {
            IfThere::Replace => std::fs::rename(&temporary, path)?,
            // Also where locks mean nothing, as between machines that share a folder, one of two gets an error.
            IfThere::Keep => std::fs::hard_link(&temporary, path)?,
        }
        sync_folder(folder)
    };
    let done = put();
    let _ = std::fs::remove_file(&temporary);
    match done {
        Ok(()) => Ok(true),
        Err(error) if if_there == IfThere::Keep && error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(unwritable(error)),
    }
}

/// Waits for others that change files beside this one. The folder is made if it is not there.
pub(super) fn turn(path: &ShownPath) -> Result<FolderTurn, WorkerFileError> {
    let folder = path.path().parent().unwrap_or(Path::new("."));
    let locked = || {
        make_folder(folder)?;
        let folder = lockable(folder)?;
        folder.lock()?;
        Ok(FolderTurn { _locked: folder })
    };
    locked().map_err(|source| WorkerFileError::Unwritable { path: path.clone(), source })
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    if folder.is_dir() {
        return Ok(());
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(unix)]
fn lockable(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// No link at the end, and no waiting for the other end of a pipe.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(unix)]
fn check(found: &std::fs::Metadata, path: &ShownPath) -> Result<(), WorkerFileError> {
    use std::os::unix::fs::MetadataExt as _;
    let path = || path.clone();
    if !found.is_file() {
        return Err(WorkerFileError::NotAFile { path: path() });
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(WorkerFileError::NotOwned { path: path() });
    }
    if found.mode() & 0o077 != 0 {
        return Err(WorkerFileError::NotPrivate { path: path() });
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

#[cfg(not(unix))]
fn lockable(folder: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(".lock"))
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

#[cfg(not(unix))]
fn check(found: &std::fs::Metadata, path: &ShownPath) -> Result<(), WorkerFileError> {
    if found.is_file() { Ok(()) } else { Err(WorkerFileError::NotAFile { path: path.clone() }) }
}
