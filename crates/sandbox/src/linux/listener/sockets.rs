//! Who may be talked to. A Unix socket can be connected to wherever its file is seen, even read-only, so connecting is done
//! here, for the caller, and only to sockets of its own confinement: those in folders that were made for it, and those that
//! were bound by way of here.
//!
//! Nothing that another thread could exchange meanwhile is looked at twice: the socket is a copy of the caller's descriptor,
//! its address is copied once, and the file is held by a descriptor from the look to the connection. That holds for
//! internet sockets as well: if they were let pass, a thread could put a Unix socket under the same number.
//!
//! Sending to a name without a connection (`sendto`, `sendmsg`) needs a datagram socket, and Unix sockets of that kind are
//! not made: see `seccomp.rs`. Looking at every `sendmsg` would slow down all who use sockets, could not be done for the
//! caller when it passes descriptors on, and if the kernel did it, the name could be exchanged after the look.

use std::{
    ffi::OsStr,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, OFlags, StatxFlags, fcntl_getfl, fstat, statx},
    io::Errno,
    net::{
        AddressFamily, SocketType,
        sockopt::{socket_domain, socket_type},
    },
    process::{fchdir, umask},
};

use super::{
    aside::Aside,
    caller::{Caller, Unknown, open_plainly, path_of},
    notices::{Listener, Notice, Response},
};
use crate::limits;

/// Refused to whoever asks for somebody else's.
const REFUSED: Response = Response::Error(libc::EACCES);

/// What is known of this confinement's own sockets.
pub(crate) struct Sockets {
    /// Mounts that were made for this confinement: nobody else can have put a socket there.
    own_mounts: Vec<u64>,
    /// Where files may be made.
    writable: Vec<PathBuf>,
    /// Whether the names without a file are its own.
    own_network: bool,
    /// Sockets that were bound elsewhere, held so that no other can get their number.
    bound: Vec<OwnedFd>,
    aside: Aside,
}

/// An address as it was read, once.
struct Address(Vec<u8>);

/// The kinds of names that a Unix socket can have.
enum UnixName<'a> {
    /// None, or of another family: the kernel says what is wrong with it.
    Odd,
    /// Without a file.
    Abstract,
    Path(&'a Path),
}

impl Address {
    /// Copied from the caller: the address is the second argument, its length the third.
    fn of(notice: &Notice, caller: &Caller) -> Result<Self, Response> {
        let length = notice.arguments[2] as u32;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > size_of::<libc::sockaddr_storage>() {
            return Err(Response::Error(libc::EINVAL));
        }
        caller.bytes(notice.arguments[1], length).map(Self).map_err(Response::Error)
    }

    fn unix_name(&self) -> UnixName<'_> {
        let family = self.0.first_chunk().map(|family| u16::from_ne_bytes(*family));
        if family != Some(libc::AF_UNIX as u16) || self.0.len() <= 2 {
            return UnixName::Odd;
        }
        let name = &self.0[2..];
        if name[0] == 0 {
            return UnixName::Abstract;
        }
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        UnixName::Path(Path::new(OsStr::from_bytes(&name[..end])))
    }

    fn of_path(path: &Path) -> Self {
        let family = (libc::AF_UNIX as u16).to_ne_bytes();
        Self([&family, path.as_os_str().as_bytes(), b"\0"].concat())
    }

    /// By way of its folder, if it would be too long.
    fn of_short_path(path: &Path, folder: &OwnedFd) -> Self {
        let whole = Self::of_path(path);
        match path.file_name() {
            Some(name) if whole.0.len() > size_of::<libc::sockaddr_un>() => {
                let folder = format!("/proc/self/fd/{}", folder.as_raw_fd());
                Self::of_path(&Path::new(&folder).join(name))
            }
            _ => whole,
        }
    }

    /// Of a file that this process has opened.
    fn of_opened(file: &OwnedFd) -> Self {
        Self::of_path(format!("/proc/self/fd/{}", file.as_raw_fd()).as_ref())
    }

    fn give(
        &self,
        to: unsafe extern "C" fn(RawFd, *const libc::sockaddr, u32) -> i32,
        socket: &OwnedFd,
    ) -> Response {
        // SAFETY: the address is given with its length; the kernel judges what is in it.
        match unsafe { to(socket.as_raw_fd(), self.0.as_ptr().cast(), self.0.len() as u32) } {
            -1 => Response::Error(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EACCES)),
            _ => Response::Done,
        }
    }
}

impl Sockets {
    pub(crate) fn new(own_mounts: Vec<u64>, writable: Vec<PathBuf>, own_network: bool, aside: Aside) -> Self {
        Self { own_mounts, writable, own_network, bound: Vec::new(), aside }
    }

    /// Connects for a caller, if it may.
    pub(crate) fn connect(&self, listener: &Listener, notice: &Notice) -> Response {
        let caller = Caller::new(notice.thread);
        let found = || {
            let address = Address::of(notice, &caller)?;
            let socket = caller.descriptor(notice.arguments[0] as RawFd).map_err(Response::Error)?;
            let domain = socket_domain(&socket).map_err(refused_by)?;
            Ok((address, socket, domain == AddressFamily::UNIX))
        };
        let (address, socket, unix) = match found() {
            Ok(found) => found,
            Err(answer) => return answer,
        };
        // A file that is connected to is kept open until that is done.
        let mut file = None;
        if unix {
            match address.unix_name() {
                UnixName::Odd => {}
                UnixName::Abstract if self.own_network => {}
                UnixName::Abstract => return REFUSED,
                UnixName::Path(path) => match self.find(&caller, path) {
                    Ok(found) => file = Some(found),
                    Err(answer) => return answer,
                },
            }
        }
        if !listener.waits(notice.id) {
            return Response::Later;
        }
        let address = file.as_ref().map_or(address, Address::of_opened);
        let patient = fcntl_getfl(&socket).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK));
        let datagram = !unix && socket_type(&socket) == Ok(SocketType::DGRAM);
        if !patient || datagram {
            return address.give(libc::connect, &socket);
        }
        self.aside.answer(listener, notice.id, move || {
            let answer = address.give(libc::connect, &socket);
            drop(file);
            answer
        })
    }

    /// The socket at a path of the caller, held, if it is one of this confinement.
    fn find(&self, caller: &Caller, path: &Path) -> Result<OwnedFd, Response> {
        let start = caller.folder().map_err(refused_for)?;
        let opened = match open_plainly(&start.join(path), OFlags::empty()) {
            // Perhaps by way of a link that is each process's own.
            Err(Errno::LOOP | Errno::NOENT) => {
                let real = caller.real(&start, path, true).map_err(refused_for)?;
                open_plainly(&real, OFlags::NOFOLLOW)
            }
            other => other,
        };
        let opened = opened.map_err(refused_by)?;
        let found = fstat(&opened).map_err(refused_by)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Socket {
            return Err(Response::Error(libc::ECONNREFUSED));
        }
        let own = mount_of(&opened).is_some_and(|mount| self.own_mounts.contains(&mount));
        let same = |held: &OwnedFd| {
            fstat(held).is_ok_and(|held| (held.st_dev, held.st_ino) == (found.st_dev, found.st_ino))
        };
        if own || self.bound.iter().any(same) { Ok(opened) } else { Err(REFUSED) }
    }

    /// Binds for a caller, and remembers the socket if others could have made one in the same place. The path is returned
    /// if a file was made.
    pub(crate) fn bind(
        &mut self,
        listener: &Listener,
        notice: &Notice,
        may_make: impl FnOnce(&Path) -> bool,
    ) -> (Response, Option<PathBuf>) {
        let caller = Caller::new(notice.thread);
        let found = || {
            let address = Address::of(notice, &caller)?;
            let socket = caller.descriptor(notice.arguments[0] as RawFd).map_err(Response::Error)?;
            let domain = socket_domain(&socket).map_err(refused_by)?;
            Ok((address, socket, domain == AddressFamily::UNIX))
        };
        let (address, socket, unix) = match found() {
            Ok(found) => found,
            Err(answer) => return (answer, None),
        };
        if !listener.waits(notice.id) {
            return (Response::Later, None);
        }
        match address.unix_name() {
            UnixName::Path(path) if unix => {
                match self.bind_file(&caller, &socket, &address, path, may_make) {
                    Ok(made) => (Response::Done, Some(made)),
                    Err(answer) => (answer, None),
                }
            }
            _ => (address.give(libc::bind, &socket), None),
        }
    }

    fn bind_file(
        &mut self,
        caller: &Caller,
        socket: &OwnedFd,
        address: &Address,
        path: &Path,
        may_make: impl FnOnce(&Path) -> bool,
    ) -> Result<PathBuf, Response> {
        let start = caller.folder().map_err(refused_for)?;
        let real = caller.real(&start, path, false).map_err(refused_for)?;
        // Of the two layers that say where files are made, one holds the caller alone.
        if !self.writable.iter().any(|open| real.starts_with(open)) || !may_make(&real) {
            return Err(REFUSED);
        }
        let mask = caller.umask().ok_or(REFUSED)?;
        let at = open_plainly(&start, OFlags::DIRECTORY).map_err(refused_by)?;
        // The name stays as the caller wrote it, because others ask for it; so it is read from where the caller is. That
        // does not work for links that are each process's own.
        let folder = |path: &Path| path.parent().map(Path::to_owned);
        let same = folder(&start.join(path))
            .and_then(|folder| open_plainly(&folder, OFlags::DIRECTORY).ok())
            .is_some_and(|opened| path_of(&opened).ok() == folder(&real));
        let parent = folder(&real).map(|folder| open_plainly(&folder, OFlags::DIRECTORY));
        let parent = parent.ok_or(REFUSED)?.map_err(refused_by)?;
        let by_real = (!same).then(|| Address::of_short_path(&real, &parent));
        let before = now();
        let kept = umask(rustix::fs::Mode::from_raw_mode(mask));
        let answer = fchdir(&at).map(|()| by_real.as_ref().unwrap_or(address).give(libc::bind, socket));
        let back = std::env::set_current_dir("/");
        umask(kept);
        if back.is_err() {
            return Err(REFUSED);
        }
        match answer.map_err(refused_by)? {
            Response::Done => {
                self.remember(&real, before);
                Ok(real)
            }
            other => Err(other),
        }
    }

    /// Whoever is quick could put the socket of somebody else in the place of the one that was just made; but that one is
    /// older.
    fn remember(&mut self, path: &Path, before: (i64, i64)) {
        let Ok(made) = open_plainly(path, OFlags::NOFOLLOW) else { return };
        if mount_of(&made).is_some_and(|mount| self.own_mounts.contains(&mount)) {
            return;
        }
        let flags = StatxFlags::BTIME | StatxFlags::TYPE;
        let Ok(found) = statx(&made, "", AtFlags::EMPTY_PATH, flags) else { return };
        let socket = FileType::from_raw_mode(found.stx_mode.into()) == FileType::Socket;
        let born = (found.stx_btime.tv_sec, i64::from(found.stx_btime.tv_nsec));
        let told = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
        if !socket || !told || born < before {
            return;
        }
        self.bound.retain(|held| fstat(held).is_ok_and(|held| held.st_nlink > 0));
        if self.bound.len() < limits::BOUND_SOCKETS_MAX {
            self.bound.push(made);
        }
    }
}

/// By the clock from which file systems take their times.
fn now() -> (i64, i64) {
    let mut now = libc::timespec { tv_sec: i64::MAX, tv_nsec: 0 };
    // SAFETY: the clock is there since Linux 2.6; without it everything counts as older.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut now) };
    (now.tv_sec, now.tv_nsec)
}

/// The number of the mount that something is on.
pub(crate) fn mount_of(opened: &OwnedFd) -> Option<u64> {
    let found = statx(opened, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    let told = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID);
    told.then_some(found.stx_mnt_id)
}

fn refused_by(error: Errno) -> Response {
    Response::Error(error.raw_os_error())
}

fn refused_for(unknown: Unknown) -> Response {
    match unknown {
        Unknown::Fails(number) => Response::Error(number),
        Unknown::Nameless | Unknown::OutOfSight(_) => REFUSED,
    }
}
