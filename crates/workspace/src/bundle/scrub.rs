//! Takes everything out of a checkout that a former agent left: what git wrote and nobody touched stays, the rest goes, and
//! git writes it again. All of it through open folders, so that no link leads anywhere else.

use std::{io, path::Path};

#[cfg(unix)]
pub(super) use unix::{open_up, scrub};

#[cfg(not(unix))]
pub(super) fn scrub(
    _top: &Path,
    _tracked: &super::index_file::TrackedFiles,
    _like: &Path,
) -> io::Result<bool> {
    // Without open folders it cannot be told for certain.
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
pub(super) fn open_up(_top: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
mod unix {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::fs::{Mode, OFlags};

    use super::super::index_file::{FileStamp, TrackedFiles};
    use super::{Path, io};
    use crate::checkpoint::folder::{EntryState, Folder, Hint, Top};

    /// Leaves only what `tracked` knows and what is as it was. Folders get the permissions of `like`, a folder of ours. Says
    /// whether all of it is there.
    pub(in super::super) fn scrub(top: &Path, tracked: &TrackedFiles, like: &Path) -> io::Result<bool> {
        let mode = like.symlink_metadata()?.permissions().mode() & 0o7777;
        let scrubbing = Scrubbing { tracked, mode };
        let opened = Top::open(top)?.folder(b"")?;
        if has_attributes(&opened) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let left = scrubbing.clear(&opened, b"")?;
        Ok(left == tracked.files.len() + tracked.folders.len())
    }

    struct Scrubbing<'a> {
        tracked: &'a TrackedFiles,
        mode: u32,
    }

    impl Scrubbing<'_> {
        /// Says how much of what is tracked is left.
        fn clear(&self, folder: &Folder, inside: &[u8]) -> io::Result<usize> {
            let mut left = 0;
            if rustix::fs::fstat(&folder.fd)?.st_mode & 0o7777 != self.mode {
                rustix::fs::fchmod(&folder.fd, Mode::from_raw_mode(self.mode))?;
            }
            for (name, _) in folder.names()? {
                let path = if inside.is_empty() { name.to_vec() } else { [inside, b"/", &name].concat() };
                if path == b".git" {
                    // Whoever calls looks at it.
                    continue;
                }
                let Some(seen) = folder.look(&name)? else { continue };
                if self.tracked.files.get(path.as_slice()).is_some_and(|stamp| *stamp == stamp_of(&seen)) {
                    left += 1;
                    continue;
                }
                if seen.is_folder() && self.tracked.folders.contains(path.as_slice()) {
                    let below = open(folder, &name)?;
                    if !has_attributes(&below) {
                        left += 1 + self.clear(&below, &path)?;
                        continue;
                    }
                }
                remove(folder, &name, &seen)?;
            }
            Ok(left)
        }
    }

    fn stamp_of(seen: &EntryState) -> FileStamp {
        FileStamp::new(seen.changed, seen.modified, seen.inode, seen.bytes)
    }

    /// Whether somebody gave a folder attributes or access rules of their own.
    fn has_attributes(folder: &Folder) -> bool {
        let mut names = vec![0_u8; 64 * 1024];
        match rustix::fs::flistxattr(&folder.fd, &mut names[..]) {
            Ok(bytes) => names[..bytes]
                .split(|byte| *byte == 0)
                .any(|name| name.starts_with(b"user.") || name.starts_with(b"system.posix_acl")),
            Err(error) => error != rustix::io::Errno::NOTSUP,
        }
    }

    /// A folder in another, made accessible if somebody closed it.
    fn open(folder: &Folder, name: &[u8]) -> io::Result<Folder> {
        match folder.folder(name) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                unlock(folder, name)?;
                folder.folder(name)
            }
            opened => opened,
        }
    }

    fn remove(folder: &Folder, name: &[u8], seen: &EntryState) -> io::Result<()> {
        if !seen.is_folder() {
            return folder.remove(name);
        }
        match folder.remove_all(name) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                unlock_all(folder, name)?;
                folder.remove_all(name)
            }
            removed => removed,
        }
    }

    /// Makes every folder of a checkout accessible to us again, so that it can be removed.
    pub(in super::super) fn open_up(top: &Path) -> io::Result<()> {
        let (Some(above), Some(name)) = (top.parent(), top.file_name()) else { return Ok(()) };
        unlock_all(&Top::open(above)?.folder(b"")?, name.as_encoded_bytes())
    }

    fn unlock_all(folder: &Folder, name: &[u8]) -> io::Result<()> {
        unlock(folder, name)?;
        let below = folder.folder(name)?;
        for (name, hint) in below.names()? {
            let is_folder = match hint {
                Hint::Unknown => below.look(&name)?.is_some_and(|seen| seen.is_folder()),
                hint => hint == Hint::Folder,
            };
            if is_folder {
                unlock_all(&below, &name)?;
            }
        }
        Ok(())
    }

    /// Gives us all rights in a folder. It is held meanwhile, so that no other one gets them.
    fn unlock(folder: &Folder, name: &[u8]) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = rustix::fs::openat(&folder.fd, name, flags, Mode::empty())?;
        let path = format!("/proc/self/fd/{}", held.as_raw_fd());
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
    }
}
