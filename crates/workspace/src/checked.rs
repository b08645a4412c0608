//! File access where the kernel cannot keep an open within a folder: every path is resolved and checked first.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{
    Entry, Expect, Kind, Mode, Stamp, WorkspaceError, WorkspacePath, Written,
    expect::{must_be_expected, must_be_file, temporary_name},
    guard::WriteGuard,
    limits,
};

/// The folder by its real name.
#[derive(Debug)]
pub(crate) struct CheckedFolder {
    root: PathBuf,
}

impl CheckedFolder {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn read(&self, path: &WorkspacePath) -> Result<File, WorkspaceError> {
        let real = self.real(path)?;
        let failed = |source| WorkspaceError::from_io(path.as_str(), source);
        must_be_file(path, Kind::of(&fs::metadata(&real).map_err(failed)?))?;
        File::open(real).map_err(failed)
    }

    pub(crate) fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, WorkspaceError> {
        fs::metadata(self.real(path)?).map_err(|source| WorkspaceError::from_io(path.as_str(), source))
    }

    pub(crate) fn write(
        &self,
        path: &WorkspacePath,
        bytes: &[u8],
        expect: Expect,
        guard: &WriteGuard,
    ) -> Result<Written, WorkspaceError> {
        let failed = |source| WorkspaceError::from_io(path.as_str(), source);
        let target = self.target(path, guard)?;
        let there = |target: &Path| match fs::symlink_metadata(target) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        };
        let old = there(&target)?;
        if let Some(old) = &old {
            must_be_file(path, Kind::of(old))?;
        }
        let folder = target.parent().unwrap_or(&self.root);
        let temporary = folder.join(temporary_name());
        let replaced = replace(&temporary, old.as_ref(), bytes).map_err(failed).and_then(|file| {
            must_be_expected(path, expect, there(&target)?.as_ref().map(Stamp::of))?;
            fs::rename(&temporary, &target).map_err(failed)?;
            Ok(Stamp::of(&file.metadata().map_err(failed)?))
        });
        if replaced.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        Ok(Written { stamp: replaced?, created: old.is_none() })
    }

    pub(crate) fn entry(
        &self,
        path: &WorkspacePath,
        bytes_max: u64,
    ) -> Result<Option<(Entry, Stamp)>, WorkspaceError> {
        let failed = |source| WorkspaceError::from_io(path.as_str(), source);
        let at = self.exact(path)?;
        let metadata = match fs::symlink_metadata(&at) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let stamp = Stamp::of(&metadata);
        let mode = Mode::of(&metadata)
            .ok_or_else(|| WorkspaceError::NotAFile { path: path.to_string(), kind: Kind::of(&metadata) })?;
        let bytes = if mode == Mode::Link {
            let target = fs::read_link(&at).map_err(failed)?;
            target.into_os_string().into_encoded_bytes()
        } else if metadata.len() > bytes_max {
            return Err(WorkspaceError::TooLarge {
                path: path.to_string(),
                bytes: metadata.len(),
                bytes_max,
            });
        } else {
            fs::read(&at).map_err(failed)?
        };
        Ok(Some((Entry { mode, bytes }, stamp)))
    }

    pub(crate) fn put(
        &self,
        path: &WorkspacePath,
        entry: &Entry,
        expect: Expect,
    ) -> Result<(), WorkspaceError> {
        let failed = |source| WorkspaceError::from_io(path.as_str(), source);
        let at = self.exact(path)?;
        let folder = at.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(failed)?;
        self.exact(path)?;
        let old = fs::symlink_metadata(&at).ok();
        must_be_expected(path, expect, old.as_ref().map(Stamp::of))?;
        let temporary = folder.join(temporary_name());
        let file = old.as_ref().filter(|old| old.is_file());
        let made = match entry.mode {
            Mode::Link => make_link(&entry.bytes, &temporary),
            mode => replace(&temporary, file, &entry.bytes).and_then(|file| set_mode(&file, mode)),
        };
        made.and_then(|()| fs::rename(&temporary, &at)).map_err(|error| {
            let _ = fs::remove_file(&temporary);
            failed(error)
        })
    }

    pub(crate) fn remove(&self, path: &WorkspacePath, expect: Expect) -> Result<(), WorkspaceError> {
        let at = self.exact(path)?;
        must_be_expected(path, expect, fs::symlink_metadata(&at).ok().as_ref().map(Stamp::of))?;
        fs::remove_file(&at).map_err(|source| WorkspaceError::from_io(path.as_str(), source))?;
        for folder in at.ancestors().skip(1).take_while(|folder| *folder != self.root) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// The place of a path whose folders are no links.
    fn exact(&self, path: &WorkspacePath) -> Result<PathBuf, WorkspaceError> {
        let mut folder = self.root.clone();
        for part in path.parent().parts() {
            folder.push(part);
            if fs::symlink_metadata(&folder).is_ok_and(|found| found.is_symlink()) {
                return Err(WorkspaceError::ThroughLink { path: path.to_string() });
            }
        }
        Ok(folder.join(path.name()))
    }

    /// The real place of what is there, if it is inside.
    fn real(&self, path: &WorkspacePath) -> Result<PathBuf, WorkspaceError> {
        let real = self.root.join(path.as_path()).canonicalize();
        let real = real.map_err(|source| WorkspaceError::from_io(path.as_str(), source))?;
        self.inside(path, real)
    }

    /// The real place of what is to be written, its folder made.
    fn target(&self, path: &WorkspacePath, guard: &WriteGuard) -> Result<PathBuf, WorkspaceError> {
        let failed = |source| WorkspaceError::from_io(path.as_str(), source);
        let mut folder = self.root.clone();
        for part in path.parent().parts() {
            folder.push(part);
            guard.must_be_open(path, folder.strip_prefix(&self.root).unwrap_or(&folder))?;
            match fs::symlink_metadata(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // What is missing has no links in it, so the path itself says where it would be.
                    guard.must_be_writable(path, path.as_path())?;
                    fs::create_dir(&folder).map_err(failed)?;
                }
                Err(error) => return Err(failed(error)),
                Ok(_) => {}
            }
            folder = self.inside(path, folder.canonicalize().map_err(failed)?)?;
            guard.must_be_open(path, folder.strip_prefix(&self.root).unwrap_or(&folder))?;
        }
        let mut target = folder.join(path.name());
        for _ in 0..limits::LINKS_MAX {
            if !fs::symlink_metadata(&target).is_ok_and(|found| found.is_symlink()) {
                guard.must_be_writable(path, target.strip_prefix(&self.root).unwrap_or(&target))?;
                return Ok(target);
            }
            let real = target.canonicalize();
            target = real.map_err(|_| WorkspaceError::DanglingLink { path: path.to_string() })?;
            target = self.inside(path, target)?;
        }
        Err(WorkspaceError::LinkLoop { path: path.to_string() })
    }

    fn inside(&self, path: &WorkspacePath, real: PathBuf) -> Result<PathBuf, WorkspaceError> {
        if real.starts_with(&self.root) {
            Ok(real)
        } else {
            Err(WorkspaceError::LinkOutside { path: path.to_string() })
        }
    }
}

fn replace(temporary: &Path, old: Option<&Metadata>, bytes: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(temporary)?;
    file.write_all(bytes)?;
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()?;
    Ok(file)
}

#[cfg(unix)]
fn make_link(target: &[u8], at: &Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(target), at)
}

#[cfg(not(unix))]
fn make_link(_target: &[u8], _at: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn set_mode(file: &File, mode: Mode) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let bits = file.metadata()?.permissions().mode();
    file.set_permissions(fs::Permissions::from_mode(mode.applied_to(bits)))
}

#[cfg(not(unix))]
fn set_mode(_file: &File, _mode: Mode) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_that_leave_are_refused_and_links_that_stay_are_followed() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(outer.path().join("secret"), "secret").unwrap();
        fs::write(root.join("src/a"), "old").unwrap();
        for (target, link) in [("../secret", "out"), ("..", "up"), ("src/a", "in"), ("gone", "dangling")] {
            symlink(target, root.join(link)).unwrap();
        }
        let checked = CheckedFolder::new(root.clone());
        let path = |text: &str| WorkspacePath::parse(text, &[]).unwrap();
        for refused in ["out", "up/secret", "dangling", ".git/hooks/x"] {
            assert!(checked.read(&path(refused)).is_err(), "read {refused}");
            assert!(
                checked.write(&path(refused), b"new", Expect::Anything, &WriteGuard::default()).is_err(),
                "write {refused}"
            );
        }
        assert!(checked.write(&path("up/new"), b"new", Expect::Anything, &WriteGuard::default()).is_err());
        let created = [("in", false), ("new/deep/b", true)].map(|(name, expected)| {
            let written =
                checked.write(&path(name), b"new", Expect::Anything, &WriteGuard::default()).unwrap();
            written.created == expected
        });
        assert_eq!(created, [true, true]);
        assert_eq!(fs::read_to_string(root.join("src/a")).unwrap(), "new");
        assert_eq!(fs::read_to_string(outer.path().join("secret")).unwrap(), "secret");
        assert!(root.join("in").is_symlink());
        assert_eq!(fs::read_dir(&root).unwrap().count(), 6);
    }
}
