//! Folders of the workspace as a look sees them: opened from the top with no link on the way, and nothing in them followed.
//! A command that swaps a folder for a link in that moment makes nothing outside be read.

use std::io::Read as _;

use crate::Mode;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Entry(Mode),
    Folder,
    /// A pipe, a socket or a device.
    Other,
}

/// What a folder says of an entry before it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hint {
    Regular,
    Folder,
    Other,
    /// Some file systems do not say.
    Unknown,
}

/// An entry by what the system says of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryState {
    pub(crate) what: EntryKind,
    pub(crate) bytes: u64,
    /// In nanoseconds.
    pub(crate) modified: i64,
    pub(crate) changed: i64,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) links: u32,
}

impl EntryState {
    pub(crate) fn is_folder(&self) -> bool {
        self.what == EntryKind::Folder
    }

    pub(crate) fn is_file(&self) -> bool {
        matches!(self.what, EntryKind::Entry(Mode::File | Mode::Program))
    }

    /// Whether nothing about it has changed. A device may have another number after a restart.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.changed == other.changed && self.same_data(other)
    }

    /// Whether it holds the same, whatever became of its permissions and names.
    pub(crate) fn same_data(&self, other: &Self) -> bool {
        (self.what, self.bytes, self.modified, self.inode)
            == (other.what, other.bytes, other.modified, other.inode)
    }
}

#[cfg(unix)]
pub(crate) use unix::{Folder, Top};

impl Folder {
    /// What a small regular file holds; none of what is anything else, or longer.
    pub(crate) fn small(&self, name: &[u8], bytes_max: u64) -> Option<Vec<u8>> {
        let (file, seen) = self.open(name).ok()?;
        if !seen.is_file() || seen.bytes > bytes_max {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(bytes_max).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

#[cfg(unix)]
mod unix {
    use std::{
        ffi::OsStr,
        fs::File,
        io::{self, Write as _},
        os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
        path::{Path, PathBuf},
    };

    use rustix::{
        fs::{AtFlags, CWD, Dir, FileType, Mode as Bits, OFlags, Stat},
        io::Errno,
    };

    use super::{EntryKind, EntryState, Hint};
    use crate::Mode;

    /// The workspace itself, held open.
    #[derive(Debug)]
    pub(crate) struct Top {
        fd: OwnedFd,
        pub(crate) path: PathBuf,
    }

    /// One folder, open.
    #[derive(Debug)]
    pub(crate) struct Folder {
        pub(crate) fd: OwnedFd,
    }

    const FOLDER: OFlags =
        OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

    impl Top {
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            Ok(Self { fd: rustix::fs::openat(CWD, path, FOLDER, Bits::empty())?, path: path.to_owned() })
        }

        /// A folder by its path in the workspace; empty for the workspace itself.
        pub(crate) fn folder(&self, inside: &[u8]) -> io::Result<Folder> {
            let inside = if inside.is_empty() { b".".as_slice() } else { inside };
            #[cfg(target_os = "linux")]
            {
                use rustix::fs::ResolveFlags;
                let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
                for _ in 0..crate::limits::OPEN_TRIES_MAX {
                    match rustix::fs::openat2(&self.fd, inside, FOLDER, Bits::empty(), resolve) {
                        Ok(fd) => return Ok(Folder { fd }),
                        Err(Errno::AGAIN | Errno::INTR) => {}
                        Err(Errno::NOSYS | Errno::PERM) => break,
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            let mut fd = rustix::fs::openat(&self.fd, ".", FOLDER, Bits::empty())?;
            for part in inside.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
                fd = rustix::fs::openat(&fd, part, FOLDER, Bits::empty())?;
            }
            Ok(Folder { fd })
        }
    }

    impl Top {
        /// The same, made where it is missing.
        pub(crate) fn make_folder(&self, inside: &[u8]) -> io::Result<Folder> {
            match self.folder(inside) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !inside.is_empty() => {}
                done => return done,
            }
            let (above, name) = super::super::manifest::split(inside);
            match rustix::fs::mkdirat(&self.make_folder(above)?.fd, name, Bits::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => self.folder(inside),
                Err(error) => Err(error.into()),
            }
        }
    }

    impl Folder {
        /// Puts a file at a name, whole or not at all, with these permissions as far as the person's own let it.
        pub(crate) fn put(&self, name: &[u8], bytes: &[u8], mode: u16) -> io::Result<()> {
            let temporary = crate::expect::temporary_name();
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = rustix::fs::openat(&self.fd, &*temporary, flags, Bits::from_raw_mode(mode.into()))?;
            let written = File::from(fd)
                .write_all(bytes)
                .and_then(|()| Ok(rustix::fs::renameat(&self.fd, &*temporary, &self.fd, name)?));
            if written.is_err() {
                let _ = rustix::fs::unlinkat(&self.fd, &*temporary, AtFlags::empty());
            }
            written
        }

        /// A folder in it that is no link.
        pub(crate) fn folder(&self, name: &[u8]) -> io::Result<Self> {
            Ok(Self { fd: rustix::fs::openat(&self.fd, name, FOLDER, Bits::empty())? })
        }

        /// Removes a file, or the link itself.
        pub(crate) fn remove(&self, name: &[u8]) -> io::Result<()> {
            Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
        }

        /// Removes a folder in it with all below it, and follows no link.
        #[cfg(target_os = "linux")]
        pub(crate) fn remove_all(&self, name: &[u8]) -> io::Result<()> {
            use std::os::fd::AsRawFd as _;
            // By a name that leads through the open folder: what its path leads to may be something else by now.
            let held = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
            std::fs::remove_dir_all(Path::new(&held).join(path_of(name)))
        }

        /// Elsewhere there is no such name, so the folder stays unless it is empty.
        #[cfg(not(target_os = "linux"))]
        pub(crate) fn remove_all(&self, name: &[u8]) -> io::Result<()> {
            Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
        }

        /// The names in it, in order.
        pub(crate) fn names(&self) -> io::Result<Vec<(Box<[u8]>, Hint)>> {
            self.names_up_to(usize::MAX)
        }

        /// At most so many of the names in it, in order.
        pub(crate) fn names_up_to(&self, names_max: usize) -> io::Result<Vec<(Box<[u8]>, Hint)>> {
            let mut names = Vec::new();
            for entry in Dir::read_from(&self.fd)? {
                if names.len() == names_max {
                    break;
                }
                let entry = entry?;
                let name = entry.file_name().to_bytes();
                if name != b"." && name != b".." {
                    let hint = match entry.file_type() {
                        FileType::RegularFile => Hint::Regular,
                        FileType::Directory => Hint::Folder,
                        FileType::Unknown => Hint::Unknown,
                        _ => Hint::Other,
                    };
                    names.push((name.into(), hint));
                }
            }
            names.sort_unstable();
            Ok(names)
        }

        /// What the folder itself is.
        pub(crate) fn itself(&self) -> io::Result<EntryState> {
            Ok(seen(&rustix::fs::fstat(&self.fd)?))
        }

        /// What an entry is; none if it is not there.
        pub(crate) fn look(&self, name: &[u8]) -> io::Result<Option<EntryState>> {
            match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => Ok(Some(seen(&found))),
                Err(Errno::NOENT) => Ok(None),
                Err(error) => Err(error.into()),
            }
        }

        /// Opens a file to read it. What it is is said by the open file itself.
        pub(crate) fn open(&self, name: &[u8]) -> io::Result<(File, EntryState)> {
            let flags =
                OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            let fd = rustix::fs::openat(&self.fd, name, flags, Bits::empty())?;
            let found = seen(&rustix::fs::fstat(&fd)?);
            Ok((File::from(fd), found))
        }

        /// Where a link leads.
        pub(crate) fn link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
            Ok(rustix::fs::readlinkat(&self.fd, name, Vec::new())?.into_bytes())
        }
    }

    #[allow(clippy::unnecessary_cast)] // the fields have other types on other systems
    fn seen(found: &Stat) -> EntryState {
        let what = match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile if found.st_mode & 0o100 != 0 => EntryKind::Entry(Mode::Program),
            FileType::RegularFile => EntryKind::Entry(Mode::File),
            FileType::Symlink => EntryKind::Entry(Mode::Link),
            FileType::Directory => EntryKind::Folder,
            _ => EntryKind::Other,
        };
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        EntryState {
            what,
            bytes: found.st_size as u64,
            modified: nanoseconds(found.st_mtime as i64, found.st_mtime_nsec as i64),
            changed: nanoseconds(found.st_ctime as i64, found.st_ctime_nsec as i64),
            device: found.st_dev as u64,
            inode: found.st_ino as u64,
            links: u32::try_from(found.st_nlink as u64).unwrap_or(u32::MAX),
        }
    }

    /// A path in the workspace as the system takes it.
    pub(crate) fn path_of(inside: &[u8]) -> &Path {
        Path::new(OsStr::from_bytes(inside))
    }
}

#[cfg(unix)]
pub(crate) use unix::path_of;

#[cfg(not(unix))]
pub(crate) use elsewhere::{Folder, Top, path_of};

#[cfg(not(unix))]
mod elsewhere {
    use std::{
        fs::{self, File, Metadata},
        io,
        path::{Path, PathBuf},
        time::UNIX_EPOCH,
    };

    use super::{EntryKind, EntryState, Hint};
    use crate::Mode;

    #[derive(Debug)]
    pub(crate) struct Top {
        pub(crate) path: PathBuf,
    }

    #[derive(Debug)]
    pub(crate) struct Folder {
        path: PathBuf,
    }

    impl Top {
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            Ok(Self { path: path.to_owned() })
        }

        pub(crate) fn folder(&self, inside: &[u8]) -> io::Result<Folder> {
            let mut path = self.path.clone();
            for part in path_of(inside).components() {
                path.push(part);
                if !path.symlink_metadata()?.is_dir() {
                    return Err(io::ErrorKind::NotADirectory.into());
                }
            }
            Ok(Folder { path })
        }
    }

    impl Top {
        pub(crate) fn make_folder(&self, inside: &[u8]) -> io::Result<Folder> {
            fs::create_dir_all(self.path.join(path_of(inside)))?;
            self.folder(inside)
        }
    }

    impl Folder {
        pub(crate) fn folder(&self, name: &[u8]) -> io::Result<Self> {
            let path = self.path.join(path_of(name));
            match path.symlink_metadata()?.is_dir() {
                true => Ok(Self { path }),
                false => Err(io::ErrorKind::NotADirectory.into()),
            }
        }

        pub(crate) fn remove(&self, name: &[u8]) -> io::Result<()> {
            fs::remove_file(self.path.join(path_of(name)))
        }

        pub(crate) fn remove_all(&self, name: &[u8]) -> io::Result<()> {
            fs::remove_dir_all(self.path.join(path_of(name)))
        }

        pub(crate) fn put(&self, name: &[u8], bytes: &[u8], _mode: u16) -> io::Result<()> {
            let temporary = self.path.join(crate::expect::temporary_name());
            fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, self.path.join(path_of(name))))
        }

        pub(crate) fn names(&self) -> io::Result<Vec<(Box<[u8]>, Hint)>> {
            self.names_up_to(usize::MAX)
        }

        pub(crate) fn names_up_to(&self, names_max: usize) -> io::Result<Vec<(Box<[u8]>, Hint)>> {
            let mut names = Vec::new();
            for entry in fs::read_dir(&self.path)?.take(names_max) {
                let entry = entry?;
                names.push((entry.file_name().into_encoded_bytes().into(), Hint::Unknown));
            }
            names.sort_unstable();
            Ok(names)
        }

        pub(crate) fn itself(&self) -> io::Result<EntryState> {
            self.path.symlink_metadata().map(|found| seen(&found))
        }

        pub(crate) fn look(&self, name: &[u8]) -> io::Result<Option<EntryState>> {
            match self.path.join(path_of(name)).symlink_metadata() {
                Ok(found) => Ok(Some(seen(&found))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        }

        pub(crate) fn open(&self, name: &[u8]) -> io::Result<(File, EntryState)> {
            let file = File::open(self.path.join(path_of(name)))?;
            let found = seen(&file.metadata()?);
            Ok((file, found))
        }

        pub(crate) fn link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
            Ok(fs::read_link(self.path.join(path_of(name)))?.into_os_string().into_encoded_bytes())
        }
    }

    fn seen(found: &Metadata) -> EntryState {
        let what = match Mode::of(found) {
            Some(mode) => EntryKind::Entry(mode),
            None if found.is_dir() => EntryKind::Folder,
            None => EntryKind::Other,
        };
        let past = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = past.map_or(0, |past| i64::try_from(past.as_nanos()).unwrap_or(0));
        EntryState { what, bytes: found.len(), modified, changed: modified, device: 0, inode: 0, links: 1 }
    }

    pub(crate) fn path_of(inside: &[u8]) -> PathBuf {
        String::from_utf8_lossy(inside).into_owned().into()
    }
}
