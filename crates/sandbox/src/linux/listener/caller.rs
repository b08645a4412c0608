//! The one who made a call: what its memory, its folders and its descriptors say. Decides nothing.
//!
//! Everything here is found by the number of a thread, which may be somebody else's by then. So whoever acts on it asks
//! afterwards whether the caller still waits.

use std::{
    ffi::OsString,
    fs, io,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, openat2, readlink, statat},
    io::Errno,
};

use crate::limits;

/// One thread.
pub(crate) struct Caller {
    thread: u32,
}

/// Where a path of a caller leads.
#[derive(Debug, Default)]
pub(crate) struct RealPath {
    /// Its real path.
    pub(crate) path: PathBuf,
    /// The folder that it is in, if that was opened on the way.
    pub(crate) folder: Option<OwnedFd>,
    /// What is there, if that was looked at.
    pub(crate) found: Option<rustix::io::Result<Stat>>,
}

impl From<PathBuf> for RealPath {
    fn from(path: PathBuf) -> Self {
        Self { path, ..Self::default() }
    }
}

fn is_link(mode: u32) -> bool {
    FileType::from_raw_mode(mode) == FileType::Symlink
}

/// Why something of a caller could not be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// The call would fail with this number, or must.
    Fails(i32),
    /// It has no path: a pipe, a socket.
    Nameless,
    /// Its path cannot be told or looked at: it is too long, or in a folder that is closed to us. The number that says so.
    OutOfSight(i32),
}

/// Terminals of `/dev/pts` have this number and the next.
const FIRST_TERMINAL_MAJOR: u32 = 136;

const TOO_LONG: Unknown = Unknown::OutOfSight(libc::ENAMETOOLONG);

fn last_error() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EPERM)
}

impl Caller {
    pub(crate) fn new(thread: u32) -> Self {
        Self { thread }
    }

    /// Fills a part of the buffer that does not reach over the end of a page, and says how much that is.
    fn read_some(&self, address: u64, into: &mut [u8]) -> Result<usize, i32> {
        let left = limits::PAGE_BYTES - (address as usize % limits::PAGE_BYTES);
        let count = left.min(into.len());
        let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: count };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: count };
        // SAFETY: the local part lies in the buffer; the other is memory of another process, and only read.
        let got = unsafe {
            libc::process_vm_readv(self.thread.cast_signed(), &raw const local, 1, &raw const remote, 1, 0)
        };
        match usize::try_from(got) {
            Ok(0) => Err(libc::EFAULT),
            Ok(got) => Ok(got),
            Err(_) => Err(last_error()),
        }
    }

    /// So many bytes of its memory.
    pub(crate) fn bytes(&self, address: u64, count: usize) -> Result<Vec<u8>, i32> {
        let mut bytes = vec![0; count];
        let mut done = 0;
        while done < count {
            done += self.read_some(address + done as u64, &mut bytes[done..])?;
        }
        Ok(bytes)
    }

    /// A path in its memory.
    pub(crate) fn path(&self, address: u64) -> Result<PathBuf, i32> {
        let mut bytes = Vec::new();
        let mut chunk = [0; 256];
        while bytes.len() < libc::PATH_MAX as usize {
            let got = self.read_some(address + bytes.len() as u64, &mut chunk)?;
            if let Some(end) = chunk[..got].iter().position(|byte| *byte == 0) {
                bytes.extend_from_slice(&chunk[..end]);
                return Ok(OsString::from_vec(bytes).into());
            }
            bytes.extend_from_slice(&chunk[..got]);
        }
        Err(libc::ENAMETOOLONG)
    }

    /// Whether the system lets us look into it at all.
    pub(crate) fn can_be_looked_into(&self) -> bool {
        !matches!(self.descriptor(0), Err(libc::EPERM | libc::EACCES))
    }

    /// Where its relative paths begin.
    pub(crate) fn folder(&self) -> Result<PathBuf, Unknown> {
        named(readlink(format!("/proc/{}/cwd", self.thread), Vec::with_capacity(256)))
    }

    /// The path of what it has open.
    pub(crate) fn open_path(&self, descriptor: RawFd) -> Result<PathBuf, Unknown> {
        if descriptor == libc::AT_FDCWD {
            return self.folder();
        }
        if descriptor < 0 {
            return Err(Unknown::Fails(libc::EBADF));
        }
        let direct = readlink(format!("/proc/{}/fd/{descriptor}", self.thread), Vec::with_capacity(256));
        match named(direct) {
            // A process that hides its memory hides this folder as well, but not from the other way.
            Err(Unknown::Fails(libc::EACCES | libc::EPERM)) => {
                let copy = self.descriptor(descriptor).map_err(Unknown::Fails)?;
                path_of(&copy)
            }
            Err(Unknown::Fails(libc::ENOENT)) => Err(Unknown::Fails(libc::EBADF)),
            other => other,
        }
    }

    /// A copy of what it has open: the same socket, the same place.
    pub(crate) fn descriptor(&self, number: RawFd) -> Result<OwnedFd, i32> {
        match self.open_process(self.thread, libc::O_EXCL) {
            Ok(process) => copy_from(&process, number),
            // Before Linux 6.9 only whole processes can be opened. Its threads may have other descriptors than it has.
            Err(libc::EINVAL) => {
                let process = self.process().ok_or(libc::EACCES)?;
                let copy = copy_from(&self.open_process(process, 0)?, number)?;
                // Asked afterwards: what was parted once is never one again.
                if self.shares_descriptors(process) { Ok(copy) } else { Err(libc::EACCES) }
            }
            Err(error) => Err(error),
        }
    }

    fn open_process(&self, process: u32, flags: libc::c_int) -> Result<OwnedFd, i32> {
        // SAFETY: takes numbers only; what it gives is owned by nobody else.
        unsafe {
            match libc::syscall(libc::SYS_pidfd_open, process, flags) {
                -1 => Err(last_error()),
                opened => Ok(OwnedFd::from_raw_fd(opened as RawFd)),
            }
        }
    }

    fn shares_descriptors(&self, process: u32) -> bool {
        const KCMP_FILES: libc::c_int = 2;
        process == self.thread
            // SAFETY: compares by numbers and changes nothing.
            || unsafe { libc::syscall(libc::SYS_kcmp, self.thread, process, KCMP_FILES, 0, 0) } == 0
    }

    /// A line of what the kernel says of it.
    fn status(&self, name: &str) -> Option<String> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.thread)).ok()?;
        let mut lines = status.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        lines.next().map(|value| value.trim().to_owned())
    }

    fn process(&self) -> Option<u32> {
        self.status("Tgid")?.parse().ok()
    }

    /// What is taken away from the mode of what it makes.
    pub(crate) fn umask(&self) -> Option<u32> {
        u32::from_str_radix(&self.status("Umask")?, 8).ok()
    }

    /// The real path of what a path of the caller leads to: links in the folders above are resolved, and one at its end if
    /// it is to be followed.
    pub(crate) fn real(&self, start: &Path, path: &Path, follow: bool) -> Result<PathBuf, Unknown> {
        self.place(start, path, follow).map(|place| place.path)
    }

    /// The same, with what was held on the way.
    pub(crate) fn place(&self, start: &Path, path: &Path, follow: bool) -> Result<RealPath, Unknown> {
        let place = self.resolved(start, path, follow)?;
        // By a longer one nothing could be looked at.
        if place.path.as_os_str().len() < libc::PATH_MAX as usize { Ok(place) } else { Err(TOO_LONG) }
    }

    fn resolved(&self, start: &Path, path: &Path, follow: bool) -> Result<RealPath, Unknown> {
        let bytes = path.as_os_str().as_bytes();
        let plain = !bytes.is_empty() && !bytes.contains(&b'/') && bytes != b"." && bytes != b"..";
        let whole = start.join(path);
        if plain && !follow {
            return Ok(whole.into());
        }
        // By the folder: a file that somebody replaces in this moment would have no name any more.
        let (Some(folder), Some(name)) = (whole.parent(), last_part(&whole)) else {
            return self.walk(&whole, true).map(RealPath::from);
        };
        let Ok(held) = open_plainly(folder, OFlags::DIRECTORY) else {
            return self.walk(&whole, follow).map(RealPath::from);
        };
        let found = if follow { Some(statat(&held, name, AtFlags::SYMLINK_NOFOLLOW)) } else { None };
        if found.is_some_and(|found| found.is_ok_and(|found| is_link(found.st_mode))) {
            return self.walk(&whole, follow).map(RealPath::from);
        }
        match path_of(&held)? {
            // What has just been found there is our own.
            folder if folder.starts_with("/proc") => self.walk(&whole, follow).map(RealPath::from),
            folder => Ok(RealPath { path: folder.join(name), folder: Some(held), found }),
        }
    }

    /// The same step by step, for what the kernel would resolve otherwise for us than for the caller: the links of `/proc`
    /// that are each process's own.
    fn walk(&self, whole: &Path, follow: bool) -> Result<PathBuf, Unknown> {
        self.walk_past(whole, follow, |_| {})
    }

    /// The descriptor of the caller that a path leads to, if it ends in one of its own links: what it has open need not
    /// have a name.
    pub(crate) fn own_descriptor(&self, start: &Path, path: &Path) -> Option<RawFd> {
        let mut last = None;
        let _ = self.walk_past(&start.join(path), true, |link| last = Some(link.to_owned()));
        let last = last?;
        let number = last.file_name()?.to_str()?.parse().ok()?;
        let folder = last.parent()?;
        let process = self.process()?;
        let own = [format!("/proc/{process}/fd"), format!("/proc/{process}/task/{}/fd", self.thread)];
        own.iter().any(|own| folder == Path::new(own)).then_some(number)
    }

    /// The number of the terminal that its session is controlled from, if it has one.
    pub(crate) fn terminal(&self) -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.thread)).ok()?;
        // After the name, which may hold anything: the state, the parent, the group, the session.
        let device: u32 = stat.rsplit(") ").next()?.split(' ').nth(4)?.parse().ok()?;
        let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xfff00);
        major.checked_sub(FIRST_TERMINAL_MAJOR).map(|above| above * 256 + minor)
    }

    /// Walks, and tells of each link of a process that is the end of what was left of the path.
    fn walk_past(
        &self,
        whole: &Path,
        follow: bool,
        mut at_end: impl FnMut(&Path),
    ) -> Result<PathBuf, Unknown> {
        let mut real = PathBuf::from("/");
        let mut rest: Vec<OsString> = parts_of(whole);
        let mut links = 0;
        while let Some(part) = rest.pop() {
            if part == ".." {
                real.pop();
                continue;
            }
            let part = if real == Path::new("/proc") { self.own(part) } else { part };
            let next = real.join(part);
            if rest.is_empty() && !follow {
                return Ok(next);
            }
            let to = match readlink(&next, Vec::new()) {
                Ok(to) => to,
                // No link, or nothing at all.
                Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR) => {
                    real = next;
                    continue;
                }
                // It may be a link: whoever has a folder open that we cannot enter could be led anywhere by it.
                Err(error) => return Err(Unknown::OutOfSight(error.raw_os_error())),
            };
            links += 1;
            if links > limits::PATH_LINKS_MAX {
                return Err(Unknown::Fails(libc::ELOOP));
            }
            let to = PathBuf::from(OsString::from_vec(to.into_bytes()));
            if rest.is_empty() && is_of_processes(&next) {
                at_end(&next);
            }
            if to.is_absolute() {
                real = PathBuf::from("/");
            } else if is_of_processes(&next) {
                // A pipe, a socket: nothing that has a path.
                return Err(Unknown::Nameless);
            }
            rest.extend(parts_of(&to));
        }
        Ok(real)
    }

    /// `self` of `/proc` is somebody else for the one who asks.
    fn own(&self, part: OsString) -> OsString {
        match (part.as_bytes(), self.process()) {
            (b"self", Some(process)) => process.to_string().into(),
            (b"thread-self", Some(process)) => format!("{process}/task/{}", self.thread).into(),
            _ => part,
        }
    }
}

/// Links such as `/proc/5/fd/3`, whose text is no path if it does not begin with `/`.
fn is_of_processes(path: &Path) -> bool {
    path.starts_with("/proc") && path.components().count() > 3
}

/// In reverse, so that the next is the last.
fn parts_of(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    parts.map(|part| part.as_os_str().to_owned()).rev().collect()
}

/// The last part, if it is a name. A path that ends in `/.` has none.
fn last_part(path: &Path) -> Option<&std::ffi::OsStr> {
    let bytes = path.as_os_str().as_bytes();
    let trimmed = bytes.iter().rposition(|byte| *byte != b'/').map_or(&bytes[..0], |end| &bytes[..=end]);
    if trimmed.ends_with(b"/.") { None } else { path.file_name() }
}

fn copy_from(process: &OwnedFd, number: RawFd) -> Result<OwnedFd, i32> {
    // SAFETY: takes numbers only; what it gives is owned by nobody else.
    unsafe {
        match libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0) {
            -1 => Err(last_error()),
            copy => Ok(OwnedFd::from_raw_fd(copy as RawFd)),
        }
    }
}

/// Opens a place, not what is in it. Refuses links that are each process's own.
pub(crate) fn open_plainly(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC | flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
}

/// Where something that this process has opened is.
pub(crate) fn path_of(opened: &OwnedFd) -> Result<PathBuf, Unknown> {
    named(readlink(format!("/proc/self/fd/{}", opened.as_raw_fd()), Vec::with_capacity(256)))
}

fn named(link: rustix::io::Result<std::ffi::CString>) -> Result<PathBuf, Unknown> {
    match link {
        Ok(path) => {
            let path = PathBuf::from(OsString::from_vec(path.into_bytes()));
            // So the kernel shows a place that cannot be reached from here.
            if path.as_os_str().as_bytes().starts_with(b"(unreachable)") {
                return Err(Unknown::OutOfSight(libc::EACCES));
            }
            if path.is_absolute() { Ok(path) } else { Err(Unknown::Nameless) }
        }
        Err(Errno::NAMETOOLONG) => Err(TOO_LONG),
        Err(error) => Err(Unknown::Fails(error.raw_os_error())),
    }
}
