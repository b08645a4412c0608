//! Does for the caller what it asked for, so that what was looked at is what is done: the kernel would read the path once
//! more, and another thread could have changed it by then.
//!
//! Every call that makes a name, moves one or opens a file for writing is done here, wherever that is: a path that leads
//! elsewhere could become one that does not. One call is done after the other, and no link is followed on the way to what
//! was found. This process may do what the caller may but for `/proc`, in which it would be itself, and for the second layer,
//! which holds the caller alone; so both are asked for first.

use std::{
    ffi::CString,
    io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, fstat, major, minor, openat2, statat},
    io::Errno,
    process::umask,
};

use super::{
    aside::Aside,
    caller::{Caller, RealPath, path_of},
    calls::{Does, WatchedCall},
    guard::LinkTarget,
    names::{NamedPath, PathEnd, is_gone},
    notices::{Listener, Notice, Response},
};

/// The flags of an open that the kernel knows; it ignores all others, but not in the way of opening that is used here.
const KNOWN: libc::c_int = libc::O_ACCMODE
    | libc::O_CREAT
    | libc::O_EXCL
    | libc::O_TRUNC
    | libc::O_APPEND
    | libc::O_NONBLOCK
    | libc::O_SYNC
    | libc::O_ASYNC
    | libc::O_DIRECT
    | libc::O_DIRECTORY
    | libc::O_NOATIME
    | libc::O_CLOEXEC;

const EXACTLY: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);

/// Who does it.
pub(crate) struct Acts {
    /// Where the second layer lets the caller write.
    writable: Vec<PathBuf>,
    /// What every process began with. None once one of them has chosen another.
    mask: Option<Mode>,
    aside: Aside,
}

/// A call that may be done.
pub(crate) struct PermittedCall<'a> {
    pub(crate) listener: &'a Listener,
    pub(crate) notice: &'a Notice,
    pub(crate) caller: &'a Caller,
    pub(crate) call: &'a WatchedCall,
    pub(crate) named: &'a [NamedPath; 2],
    pub(crate) target: Option<&'a LinkTarget>,
}

/// A place where a name is or is to be.
struct Spot<'a> {
    folder: Held<'a>,
    name: CString,
}

/// A folder that was opened before, or just now.
enum Held<'a> {
    Before(&'a OwnedFd),
    Now(OwnedFd),
}

impl Acts {
    pub(crate) fn new(writable: &[PathBuf], aside: Aside) -> Self {
        let mask = umask(Mode::empty());
        umask(mask);
        Self { writable: writable.to_vec(), mask: Some(mask), aside }
    }

    /// A process chooses what is taken away from the mode of what it makes.
    pub(crate) fn mask_is_set(&mut self, mask: u64) {
        let same = self.mask.is_some_and(|known| u64::from(known.as_raw_mode()) == mask & 0o777);
        self.mask = self.mask.filter(|_| same);
    }

    /// Does a call. What only changes or removes what is there is left to the kernel.
    pub(crate) fn act(&self, asked: &PermittedCall<'_>) -> Response {
        // What was found under the caller's number is its own only then.
        if !asked.listener.waits(asked.notice.id) {
            return Response::Later;
        }
        let [first, second] = asked.named;
        let arguments = &asked.notice.arguments;
        let done = match asked.call.does {
            Does::Changes | Does::Marks => return Response::Continue,
            Does::Opens(at) => {
                return self.open(asked, arguments[at] as libc::c_int, arguments[at + 1]);
            }
            Does::Empties => {
                let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                return self.open(asked, flags, arguments[1]);
            }
            Does::Makes => self.new_spot(first).and_then(|spot| self.make(asked, &spot)),
            Does::Points(_) => {
                let text = asked.target.map(|target| c_string(target.text.as_os_str().as_bytes()));
                let text = text.unwrap_or(Err(libc::ENOENT));
                self.new_spot(first).and_then(|spot| {
                    let text = text?;
                    let (folder, name) = spot.both();
                    // SAFETY: both are terminated, and the folder is open.
                    done(unsafe { libc::symlinkat(text.as_ptr(), folder, name) })
                })
            }
            Does::Renames(flags) => {
                let flags = flags.map_or(0, |at| arguments[at] as libc::c_uint);
                self.both_spots(first, second).and_then(|[from, to]| {
                    let ((a, b), (c, d)) = (from.both(), to.both());
                    // SAFETY: both names are terminated, and the folders are open.
                    done(unsafe { libc::syscall(libc::SYS_renameat2, a, b, c, d, flags) })
                })
            }
            Does::Links => self.new_spot(second).and_then(|to| self.link(asked.caller, first, &to)),
        };
        done.map_or_else(Response::Error, |()| Response::Done)
    }

    fn is_writable(&self, path: &Path) -> bool {
        self.writable.iter().any(|open| path.starts_with(open))
    }

    /// A place for something new.
    fn new_spot<'a>(&self, named: &'a NamedPath) -> Result<Spot<'a>, i32> {
        let place = named.place.as_ref().ok_or(libc::ENOENT)?;
        let there = || place.path.symlink_metadata().is_ok();
        match (named.ends, self.is_writable(&place.path)) {
            (PathEnd::Dots, _) => Err(if there() { libc::EEXIST } else { libc::ENOENT }),
            (_, false) => Err(if there() { libc::EEXIST } else { made_where_nothing_is(&place.path) }),
            (ends, true) => Spot::of(place, ends),
        }
    }

    /// The places of what is moved, and where to.
    fn both_spots<'a>(&self, from: &'a NamedPath, to: &'a NamedPath) -> Result<[Spot<'a>; 2], i32> {
        let (Some(first), Some(second)) = (&from.place, &to.place) else { return Err(libc::ENOENT) };
        if [from.ends, to.ends].contains(&PathEnd::Dots) {
            return Err(libc::EBUSY);
        }
        match [first, second].map(|place| self.is_writable(&place.path)) {
            [true, true] => Ok([Spot::of(first, from.ends)?, Spot::of(second, to.ends)?]),
            [false, false] => Err(libc::EROFS),
            _ => Err(libc::EXDEV),
        }
    }

    /// Gives something another name: what is at a path, itself, or what the caller has open without one.
    fn link(&self, caller: &Caller, from: &NamedPath, to: &Spot<'_>) -> Result<(), i32> {
        let (folder, name) = to.both();
        match (&from.place, from.by) {
            (Some(place), _) if !self.is_writable(&place.path) => Err(libc::EXDEV),
            (Some(place), _) => {
                let from = Spot::of(place, from.ends)?;
                let (a, b) = from.both();
                // SAFETY: both names are terminated, and the folders are open.
                done(unsafe { libc::linkat(a, b, folder, name, 0) })
            }
            (None, Some(by)) => {
                let held = nameless(caller, by)?;
                let place = c_string(format!("/proc/self/fd/{}", held.as_raw_fd()).as_bytes())?;
                // SAFETY: as above.
                done(unsafe {
                    libc::linkat(libc::AT_FDCWD, place.as_ptr(), folder, name, libc::AT_SYMLINK_FOLLOW)
                })
            }
            (None, None) => Err(libc::ENOENT),
        }
    }

    /// Does something with the mask of a caller.
    fn masked<T>(&self, caller: &Caller, work: impl FnOnce() -> T) -> Result<T, i32> {
        if self.mask.is_some() {
            return Ok(work());
        }
        let kept = umask(Mode::from_raw_mode(caller.umask().ok_or(libc::EACCES)?));
        let done = work();
        umask(kept);
        Ok(done)
    }

    fn make(&self, asked: &PermittedCall<'_>, spot: &Spot<'_>) -> Result<(), i32> {
        let arguments = &asked.notice.arguments;
        let (folder, name) = spot.both();
        let of_folder = |mode: u64| {
            // SAFETY: the name is terminated, and the folder is open.
            unsafe { libc::mkdirat(folder, name, mode as libc::mode_t & 0o7777) }
        };
        let of_node = |mode: u64, device: u64| {
            // SAFETY: as above; the kernel judges what may be made.
            unsafe { libc::mknodat(folder, name, mode as libc::mode_t, device) }
        };
        let made = self.masked(asked.caller, || match asked.notice.number {
            libc::SYS_mkdirat => of_folder(arguments[2]),
            libc::SYS_mknodat => of_node(arguments[2], arguments[3]),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mkdir => of_folder(arguments[1]),
            _ => of_node(arguments[1], arguments[2]),
        });
        done(made?)
    }

    fn open(&self, asked: &PermittedCall<'_>, flags: libc::c_int, mode: u64) -> Response {
        let close_on_exec = flags & libc::O_CLOEXEC != 0;
        let [named, _] = asked.named;
        let opened = match &named.place {
            Some(_) if flags & libc::O_CREAT != 0 && named.ends != PathEnd::Plain => Err(libc::EISDIR),
            Some(place) => match self.open_place(asked, place, flags, mode) {
                Ok(opened) => opened,
                Err(answer) => return answer,
            },
            None => return self.open_again(asked, named.by, flags),
        };
        opened.map_or_else(Response::Error, |opened| Response::Opened(opened, close_on_exec))
    }

    /// Opens what is at a real path, or makes it. The outer error is an answer of its own.
    fn open_place(
        &self,
        asked: &PermittedCall<'_>,
        place: &RealPath,
        flags: libc::c_int,
        mode: u64,
    ) -> Result<Result<OwnedFd, i32>, Response> {
        let (flags, path) = (flags & KNOWN, place.path.as_path());
        let found = place.found.unwrap_or_else(|| statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW));
        let kind = found.map(|found| FileType::from_raw_mode(found.st_mode));
        if !self.is_writable(path) {
            let reads = flags & libc::O_ACCMODE == libc::O_RDONLY && flags & libc::O_TRUNC == 0;
            let number = match kind {
                // In there this process is somebody else, who may look into itself.
                Ok(_) if path.starts_with("/proc") => Some(if reads { libc::EACCES } else { libc::EROFS }),
                Err(error) if path.starts_with("/proc") => Some(error.raw_os_error()),
                Ok(FileType::Directory) => None,
                Ok(_) => (!reads).then_some(libc::EROFS),
                Err(Errno::NOENT) if flags & libc::O_CREAT != 0 => Some(made_where_nothing_is(path)),
                Err(error) => Some(error.raw_os_error()),
            };
            if let Some(number) = number {
                return Ok(Err(number));
            }
        }
        match kind {
            Ok(FileType::CharacterDevice) => {
                let device = found.map_or(0, |found| found.st_rdev);
                return self.open_device(asked, path, flags, device);
            }
            Ok(FileType::Fifo) if flags & libc::O_NONBLOCK == 0 => {
                let held = exactly(path, libc::O_PATH, 0).map_err(Response::Error)?;
                return Err(self.open_held(asked, held, flags));
            }
            _ => {}
        }
        let named = place.folder.as_ref().zip(path.file_name());
        let open = || match named {
            Some((folder, name)) => exactly_in(folder, name.as_ref(), flags, mode),
            None => exactly(path, flags, mode),
        };
        Ok(self.masked(asked.caller, open).flatten())
    }

    /// Which terminal somebody gets may depend on who asks, and it can become the one that its session is controlled from:
    /// that is left to the kernel, unless the call could make a file if it named something else.
    fn open_device(
        &self,
        asked: &PermittedCall<'_>,
        path: &Path,
        flags: libc::c_int,
        device: u64,
    ) -> Result<Result<OwnedFd, i32>, Response> {
        let terminal = matches!(major(device), 4 | 5 | 136..=143);
        if terminal && flags & libc::O_CREAT == 0 {
            return Err(Response::Continue);
        }
        if (major(device), minor(device)) == (5, 0) {
            let number = asked.caller.terminal().ok_or(Response::Error(libc::ENXIO))?;
            return Ok(exactly(format!("/dev/pts/{number}").as_ref(), flags, 0));
        }
        Ok(exactly(path, flags & !libc::O_CREAT, 0))
    }

    /// Opens once more what the caller has open and has no name: a pipe, or a file that was removed.
    fn open_again(&self, asked: &PermittedCall<'_>, by: Option<RawFd>, flags: libc::c_int) -> Response {
        let Some(by) = by else { return Response::Error(libc::ENOENT) };
        match nameless(asked.caller, by) {
            Ok(held) => self.open_held(asked, held, flags),
            Err(number) => Response::Error(number),
        }
    }

    /// Opens what is held by a descriptor of this process. Pipes may have to wait for their other end.
    fn open_held(&self, asked: &PermittedCall<'_>, held: OwnedFd, flags: libc::c_int) -> Response {
        let close_on_exec = flags & libc::O_CLOEXEC != 0;
        let waits = fstat(&held).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Fifo);
        let open = move || {
            let flags = flags & KNOWN & !(libc::O_CREAT | libc::O_EXCL);
            let flags = OFlags::from_bits_retain(flags.cast_unsigned()) | OFlags::CLOEXEC | OFlags::NOCTTY;
            let held = format!("/proc/self/fd/{}", held.as_raw_fd());
            match rustix::fs::open(held, flags, Mode::empty()) {
                Ok(opened) => Response::Opened(opened, close_on_exec),
                Err(error) => Response::Error(error.raw_os_error()),
            }
        };
        if waits { self.aside.answer(asked.listener, asked.notice.id, open) } else { open() }
    }
}

impl<'a> Spot<'a> {
    fn of(place: &'a RealPath, ends: PathEnd) -> Result<Self, i32> {
        let path = &place.path;
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(libc::EBUSY) };
        if path.starts_with("/proc") {
            return Err(libc::EACCES);
        }
        let folder = match &place.folder {
            Some(folder) => Held::Before(folder),
            None => Held::Now(exactly(folder, libc::O_PATH | libc::O_DIRECTORY, 0)?),
        };
        let slash: &[u8] = if ends == PathEnd::Slash { b"/" } else { b"" };
        Ok(Self { folder, name: c_string(&[name.as_bytes(), slash].concat())? })
    }

    fn both(&self) -> (RawFd, *const libc::c_char) {
        let folder = match &self.folder {
            Held::Before(folder) => folder.as_raw_fd(),
            Held::Now(folder) => folder.as_raw_fd(),
        };
        (folder, self.name.as_ptr())
    }
}

/// A copy of what the caller has open, if that has no name: by then it may have something else open under the number.
fn nameless(caller: &Caller, number: RawFd) -> Result<OwnedFd, i32> {
    let held = caller.descriptor(number)?;
    match path_of(&held) {
        Ok(path) if !is_gone(&path) => Err(libc::EACCES),
        _ => Ok(held),
    }
}

/// Opens what is at a real path. A link is nowhere followed.
fn exactly(path: &Path, flags: libc::c_int, mode: u64) -> Result<OwnedFd, i32> {
    exactly_in(CWD, path, flags, mode)
}

/// The same with a path from a folder on.
fn exactly_in(folder: impl AsFd, path: &Path, flags: libc::c_int, mode: u64) -> Result<OwnedFd, i32> {
    let makes = flags & libc::O_CREAT != 0;
    let mode = if makes { mode as libc::mode_t & 0o7777 } else { 0 };
    let path_only = flags & libc::O_PATH != 0;
    let more = if path_only { OFlags::CLOEXEC } else { OFlags::CLOEXEC | OFlags::NOCTTY };
    let flags = OFlags::from_bits_retain(flags.cast_unsigned()) | more;
    openat2(folder, path, flags, Mode::from_raw_mode(mode), EXACTLY).map_err(|error| error.raw_os_error())
}

/// Why nothing can be made at a path where the command may not write.
fn made_where_nothing_is(path: &Path) -> i32 {
    let folder = path.parent().is_some_and(Path::is_dir) && !path.starts_with("/proc");
    if folder { libc::EROFS } else { libc::ENOENT }
}

fn c_string(bytes: &[u8]) -> Result<CString, i32> {
    CString::new(bytes).map_err(|_| libc::EINVAL)
}

fn done(result: impl Into<i64>) -> Result<(), i32> {
    if result.into() == -1 {
        Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EPERM))
    } else {
        Ok(())
    }
}
