//! The workspace as a descriptor, and what is made, looked at and removed below it.
//!
//! A command that runs can put a link wherever it can write, at any moment. So nothing here is opened by a path: the kernel
//! goes down from the descriptor, refuses every link, and what is made must not have been there.

use std::{
    ffi::OsStr,
    fs::File,
    hash::{BuildHasher, Hasher},
    io::{self, Read, Write},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, chmod, fstat, linkat, mkdirat,
        mknodat, open, openat, openat2, readlinkat, statat, unlinkat,
    },
    io::Errno,
};

const FOLDER_MODE: u32 = 0o1755;
const FILE_MODE: u32 = 0o1644;
const SOCKET_MODE: u32 = 0o1444;

/// A workspace, held.
pub(crate) struct Folder {
    path: PathBuf,
    root: OwnedFd,
}

/// A name in an open folder.
pub(crate) struct Slot<'a> {
    folder: OwnedFd,
    name: &'a OsStr,
}

impl Folder {
    /// Opens a folder by its path without links.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let top = open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let relative = path.strip_prefix("/").unwrap_or(path);
        let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let root = again(|| openat2(&top, relative, flags, Mode::empty(), resolve))?;
        Ok(Self { path: path.to_owned(), root })
    }

    /// The descriptor.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Whether a path lies in the folder, by its text.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.path) && path != self.path
    }

    /// The place of a path in the folder: no link on the way.
    pub(crate) fn slot<'a>(&self, path: &'a Path) -> io::Result<Slot<'a>> {
        let inside = path.strip_prefix(&self.path).map_err(|_| Errno::XDEV)?;
        let name = inside.file_name().ok_or(Errno::INVAL)?;
        let above = inside.parent().filter(|above| !above.as_os_str().is_empty());
        Ok(Slot { folder: self.below(above.unwrap_or(Path::new(".")))?, name })
    }

    fn below(&self, inside: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Ok(again(|| openat2(&self.root, inside, flags, Mode::empty(), resolve))?)
    }
}

impl Slot<'_> {
    /// The folder that the name is in.
    pub(crate) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// What is there, itself.
    pub(crate) fn look(&self) -> io::Result<Stat> {
        Ok(statat(&self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Where a link leads.
    pub(crate) fn link(&self) -> io::Result<PathBuf> {
        use std::os::unix::ffi::OsStringExt;
        let target = readlinkat(&self.folder, self.name, Vec::new())?;
        Ok(std::ffi::OsString::from_vec(target.into_bytes()).into())
    }

    /// What is there, itself, held.
    pub(crate) fn hold(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.folder, self.name, flags, Mode::empty())?)
    }

    /// Opens a regular file for reading, without waiting for anything.
    pub(crate) fn read(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if FileType::from_raw_mode(self.look()?.st_mode) != FileType::RegularFile {
            return Err(Errno::INVAL.into());
        }
        Ok(openat(&self.folder, self.name, flags, Mode::empty())?.into())
    }

    /// Whether it is a folder with nothing in it.
    pub(crate) fn is_empty_folder(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(folder) = openat(&self.folder, self.name, flags, Mode::empty()) else { return false };
        let Ok(mut entries) = Dir::read_from(&folder) else { return false };
        entries.all(|entry| entry.is_ok_and(|entry| matches!(entry.file_name().to_bytes(), b"." | b"..")))
    }

    pub(crate) fn make_folder(&self) -> io::Result<()> {
        unmasked(|| mkdirat(&self.folder, self.name, Mode::from_raw_mode(FOLDER_MODE)))
    }

    /// Makes a socket that nobody listens on; held, so that others can be links to it.
    pub(crate) fn make_socket(&self) -> io::Result<OwnedFd> {
        let mode = Mode::from_raw_mode(SOCKET_MODE);
        unmasked(|| mknodat(&self.folder, self.name, FileType::Socket, mode, 0))?;
        let held = self.hold()?;
        let found = fstat(&held)?;
        let ours = FileType::from_raw_mode(found.st_mode) == FileType::Socket
            && found.st_mode & 0o7777 == SOCKET_MODE
            && found.st_uid == rustix::process::geteuid().as_raw();
        // Somebody has put another thing there in between.
        if ours { Ok(held) } else { Err(Errno::EXIST.into()) }
    }

    /// Makes a file with this content, whole from its first moment, because git may be looking.
    pub(crate) fn make_file(&self, content: &[u8]) -> io::Result<()> {
        let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(FILE_MODE);
        if content.is_empty() {
            return unmasked(|| openat(&self.folder, self.name, new, mode)).map(drop);
        }
        let nameless = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        if let Ok(file) = unmasked(|| openat(&self.folder, ".", nameless, mode)) {
            File::from(file.try_clone()?).write_all(content)?;
            return self.link_to(&file);
        }
        // Not every file system has files without a name.
        let aside = format!(".posse-{:016x}{:016x}.tmp", random(), random());
        let file = unmasked(|| openat(&self.folder, &aside, new, mode))?;
        let placed = File::from(file.try_clone()?).write_all(content).and_then(|()| self.link_to(&file));
        unlinkat(&self.folder, &aside, AtFlags::empty())?;
        placed
    }

    /// Gives a held thing this name, too.
    pub(crate) fn link_to(&self, held: &OwnedFd) -> io::Result<()> {
        let held = format!("/proc/self/fd/{}", held.as_raw_fd());
        Ok(linkat(CWD, held, &self.folder, self.name, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// Whether what is there was made here: known by its owner, by its mode, which nobody else uses for such a thing, and
    /// by being as empty as it was made.
    pub(crate) fn is_placeholder(&self, content: &[u8]) -> bool {
        let Ok(found) = self.look() else { return false };
        let mode = found.st_mode & 0o7777;
        if found.st_uid != rustix::process::geteuid().as_raw() {
            return false;
        }
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Socket => mode == SOCKET_MODE,
            FileType::Directory => mode == FOLDER_MODE && self.is_empty_folder(),
            FileType::RegularFile if mode == FILE_MODE && found.st_size == content.len() as i64 => {
                let mut bytes = Vec::new();
                let most = content.len() as u64 + 1;
                self.read().and_then(|file| file.take(most).read_to_end(&mut bytes)).is_ok()
                    && bytes == content
            }
            _ => false,
        }
    }

    /// Removes a placeholder. A folder only if it is still empty; the kernel sees to that.
    pub(crate) fn remove_placeholder(&self, content: &[u8]) {
        if self.is_placeholder(content) {
            let folder = self.look().is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_dir());
            let flags = if folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            let _ = self.although_forbidden(|slot| Ok(unlinkat(&slot.folder, slot.name, flags)?));
        }
    }

    /// Changes what is in the folder. Where the mode of a folder of our own forbids that, it gives way for the moment: a
    /// command may have set it, and it could set it back.
    pub(crate) fn although_forbidden<T>(
        &self,
        mut change: impl FnMut(&Self) -> io::Result<T>,
    ) -> io::Result<T> {
        let first = change(self);
        if !matches!(&first, Err(error) if error.kind() == io::ErrorKind::PermissionDenied) {
            return first;
        }
        let usual = fstat(&self.folder)?;
        if usual.st_uid != rustix::process::geteuid().as_raw() {
            return first;
        }
        let held = format!("/proc/self/fd/{}", self.folder.as_raw_fd());
        chmod(&held, Mode::from_raw_mode(usual.st_mode & 0o7777 | 0o700))?;
        let changed = change(self);
        chmod(&held, Mode::from_raw_mode(usual.st_mode & 0o7777))?;
        changed
    }
}

/// Something was renamed while the kernel looked: it cannot tell, so it is asked again.
fn again<T>(mut open: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    for _ in 0..crate::limits::OPEN_TRIES_MAX {
        match open() {
            Err(Errno::AGAIN | Errno::INTR) => {}
            done => return done,
        }
    }
    Err(Errno::AGAIN)
}

/// Runs without a mask for modes, so that a placeholder has its own, by which others know it, from its first moment.
fn unmasked<T>(make: impl FnOnce() -> rustix::io::Result<T>) -> io::Result<T> {
    let usual = rustix::process::umask(Mode::empty());
    let made = make();
    rustix::process::umask(usual);
    Ok(made?)
}

/// A number that nobody can foresee.
pub(crate) fn random() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}
