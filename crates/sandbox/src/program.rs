//! A program that Posse starts on its own account: where it is, found once and then never looked up again.
//!
//! A name means whatever a search path says at that moment, and agents can write folders that are on one. So nothing here
//! can be started by name: a command of ours takes a [`Program`], and a program is a place.

#[cfg(unix)]
use std::ffi::OsStr;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// An absolute path without links to an executable file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
    /// What it was called where it was found: some programs are several, and look at that.
    name: OsString,
}

/// Why a path is no program to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum Unfit {
    #[error("it is not an absolute path")]
    Relative,
    #[error("it is not there")]
    Missing,
    #[error("it is not an executable file")]
    NotExecutable,
    #[error("it is in a folder that agents may write")]
    Within,
    #[error("it, or a folder above it, can be written by everybody")]
    Writable,
}

impl Program {
    /// The program at a path. It may not be in one of `never_in`, neither as it is written nor where its links lead.
    pub fn at(path: &Path, never_in: &[PathBuf]) -> Result<Self, Unfit> {
        if !path.is_absolute() {
            return Err(Unfit::Relative);
        }
        let real = path.canonicalize().map_err(|_| Unfit::Missing)?;
        let real_places = never_in.iter().filter_map(|folder| folder.canonicalize().ok());
        let places: Vec<PathBuf> = never_in.iter().cloned().chain(real_places).collect();
        // The folder it is named in may itself be a link into such a place.
        let named_in = path.parent().and_then(|folder| folder.canonicalize().ok());
        let ways = [Some(path), Some(real.as_path()), named_in.as_deref()];
        if ways.into_iter().flatten().any(|way| places.iter().any(|place| way.starts_with(place))) {
            return Err(Unfit::Within);
        }
        must_be_executable(&real)?;
        let name = path.file_name().unwrap_or(real.as_os_str()).to_owned();
        Ok(Self { path: real, name })
    }

    /// The first program of a name in a list of folders, as a search path has them. Entries that are empty or relative, and
    /// whatever is not fit, are passed over.
    pub fn find(
        name: &str,
        folders: impl IntoIterator<Item = PathBuf>,
        never_in: &[PathBuf],
    ) -> Option<Self> {
        folders.into_iter().find_map(|folder| Self::at(&folder.join(name), never_in).ok())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it was called where it was found.
    #[cfg(unix)]
    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }
}

/// Folders that only the system's own user writes, on every system that has them.
pub const SYSTEM_FOLDERS: &[&str] =
    &["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];

#[cfg(unix)]
fn must_be_executable(real: &Path) -> Result<(), Unfit> {
    use std::os::unix::fs::MetadataExt;
    let found = real.symlink_metadata().map_err(|_| Unfit::Missing)?;
    if !found.is_file() || found.mode() & 0o111 == 0 {
        return Err(Unfit::NotExecutable);
    }
    // In a folder that everybody writes but where nobody removes what is others', it cannot be replaced.
    let open = |at: &Path| at.symlink_metadata().is_ok_and(|found| found.mode() & 0o1002 == 0o002);
    if found.mode() & 0o002 != 0 || real.ancestors().skip(1).any(open) {
        return Err(Unfit::Writable);
    }
    Ok(())
}

#[cfg(not(unix))]
fn must_be_executable(real: &Path) -> Result<(), Unfit> {
    if real.is_file() { Ok(()) } else { Err(Unfit::NotExecutable) }
}
