//! The workspace: one folder, and the only way to the files in it.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

#[cfg(target_os = "linux")]
use crate::beneath::Beneath;
use crate::{Kind, Stamp, WorkspaceError, WorkspacePath, checked::Checked};

/// One folder. Cheap to clone; all clones are the same folder, even if it is renamed meanwhile.
#[derive(Clone, Debug)]
pub struct Workspace(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// As it was given, made absolute: models may repeat it.
    given: PathBuf,
    /// Without links.
    real: PathBuf,
    access: Access,
}

/// How files are reached.
#[derive(Debug)]
enum Access {
    /// The kernel itself refuses to leave the folder.
    #[cfg(target_os = "linux")]
    Beneath(Beneath),
    /// Links are resolved and checked first. A link swapped in that very moment could be missed.
    Checked(Checked),
}

/// A regular file, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    /// The file.
    pub file: File,
    /// What it is now.
    pub stamp: Stamp,
}

/// What must be true for a write to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Nothing.
    Anything,
    /// No file is there yet.
    Absent,
    /// The file is still the one with this stamp.
    Unchanged(Stamp),
}

/// What a write came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file as it is now.
    pub stamp: Stamp,
    /// Whether it was not there before.
    pub created: bool,
}

impl Workspace {
    /// Opens a folder as a workspace.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let failed = |source| WorkspaceError::from_io(&shown, source);
        let given = std::path::absolute(path).map_err(failed)?;
        let real = path.canonicalize().map_err(failed)?;
        if !real.is_dir() {
            return Err(WorkspaceError::NotAFolder { path: shown });
        }
        #[cfg(target_os = "linux")]
        if let Some(beneath) = Beneath::open(&real).map_err(failed)? {
            return Ok(Self(Arc::new(Inner { given, real, access: Access::Beneath(beneath) })));
        }
        let access = Access::Checked(Checked::new(real.clone()));
        Ok(Self(Arc::new(Inner { given, real, access })))
    }

    /// The folder, without links.
    pub fn root(&self) -> &Path {
        &self.0.real
    }

    /// Reads a path as a model writes it: relative, or absolute within the folder.
    pub fn resolve(&self, written: &str) -> Result<WorkspacePath, WorkspaceError> {
        WorkspacePath::parse(written, &[&self.0.given, &self.0.real])
    }

    /// Opens a regular file. Anything else is refused without waiting for it.
    pub fn open_file(&self, path: &WorkspacePath) -> Result<OpenFile, WorkspaceError> {
        let file = match &self.0.access {
            #[cfg(target_os = "linux")]
            Access::Beneath(beneath) => beneath.read(path),
            Access::Checked(checked) => checked.read(path),
        }?;
        let metadata = file.metadata().map_err(|source| WorkspaceError::from_io(path.as_str(), source))?;
        must_be_file(path, Kind::of(&metadata))?;
        Ok(OpenFile { file, stamp: Stamp::of(&metadata) })
    }

    /// Reads a whole file of at most `bytes_max`.
    pub fn read(&self, path: &WorkspacePath, bytes_max: u64) -> Result<(Vec<u8>, Stamp), WorkspaceError> {
        let OpenFile { file, stamp } = self.open_file(path)?;
        let too_large = |bytes| WorkspaceError::TooLarge { path: path.to_string(), bytes, bytes_max };
        if stamp.bytes() > bytes_max {
            return Err(too_large(stamp.bytes()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.bytes()).unwrap_or(0));
        // Files of /proc and growing files are longer than they say.
        let read = file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|source| WorkspaceError::from_io(path.as_str(), source))?;
        if bytes.len() as u64 > bytes_max {
            return Err(too_large(bytes.len() as u64));
        }
        Ok((bytes, stamp))
    }

    /// What a path leads to, links followed; `None` if nothing is there.
    pub fn look(&self, path: &WorkspacePath) -> Result<Option<(Kind, Stamp)>, WorkspaceError> {
        let metadata = match &self.0.access {
            #[cfg(target_os = "linux")]
            Access::Beneath(beneath) => beneath.metadata(path),
            Access::Checked(checked) => checked.metadata(path),
        };
        match metadata {
            Ok(metadata) => Ok(Some((Kind::of(&metadata), Stamp::of(&metadata)))),
            Err(WorkspaceError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a whole file so that a reader sees the old or the new one, never a part. Keeps mode and owner, makes
    /// missing folders, writes the target of a link within the workspace.
    pub fn write_atomic(
        &self,
        path: &WorkspacePath,
        bytes: &[u8],
        expect: Expect,
    ) -> Result<Written, WorkspaceError> {
        if path.is_root() {
            return Err(WorkspaceError::NotAFile { path: path.to_string(), kind: Kind::Folder });
        }
        must_not_be_protected(path, path.as_path())?;
        match &self.0.access {
            #[cfg(target_os = "linux")]
            Access::Beneath(beneath) => beneath.write(path, bytes, expect),
            Access::Checked(checked) => checked.write(path, bytes, expect),
        }
    }

    /// A folder's real place relative to the workspace, for walks.
    pub(crate) fn folder(&self, path: &WorkspacePath) -> Result<PathBuf, WorkspaceError> {
        match self.look(path)? {
            None => return Err(WorkspaceError::Missing { path: path.to_string() }),
            Some((Kind::Folder, _)) => {}
            Some(_) => return Err(WorkspaceError::NotAFolder { path: path.to_string() }),
        }
        let real = self.root().join(path.as_path()).canonicalize();
        let real = real.map_err(|source| WorkspaceError::from_io(path.as_str(), source))?;
        let inside = real.strip_prefix(self.root()).map(Path::to_owned);
        inside.map_err(|_| WorkspaceError::LinkOutside { path: path.to_string() })
    }
}

/// Refuses everything that is not a regular file.
pub(crate) fn must_be_file(path: &WorkspacePath, kind: Kind) -> Result<(), WorkspaceError> {
    if kind == Kind::File { Ok(()) } else { Err(WorkspaceError::NotAFile { path: path.to_string(), kind }) }
}

/// Refuses paths in a `.git`: what is written there can run as code.
pub(crate) fn must_not_be_protected(path: &WorkspacePath, real: &Path) -> Result<(), WorkspaceError> {
    let protected = real.components().any(|part| {
        let part = part.as_os_str().to_string_lossy();
        // Some file systems take these for the same name.
        part.trim_end_matches(['.', ' ']).eq_ignore_ascii_case(".git") || part.eq_ignore_ascii_case("git~1")
    });
    if protected { Err(WorkspaceError::Protected { path: path.to_string() }) } else { Ok(()) }
}

/// Checks an expectation against what is there.
pub(crate) fn must_be_expected(
    path: &WorkspacePath,
    expect: Expect,
    there: Option<Stamp>,
) -> Result<(), WorkspaceError> {
    match (expect, there) {
        (Expect::Anything, _) | (Expect::Absent, None) => Ok(()),
        (Expect::Absent, Some(_)) => Err(WorkspaceError::Exists { path: path.to_string() }),
        (Expect::Unchanged(stamp), Some(there)) if stamp == there => Ok(()),
        (Expect::Unchanged(_), _) => Err(WorkspaceError::Changed { path: path.to_string() }),
    }
}

/// A name for a file that is about to take another's place.
pub(crate) fn temporary_name() -> String {
    format!(".posse-{:016x}.tmp", fastrand::u64(..))
}
