//! What the kernel asks through a listener, and how it is answered. Knows nothing of what the calls mean.

use std::{
    io,
    mem::MaybeUninit,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
    sync::Arc,
};

/// Has the one who asks run on the processor of the one who answers, which spares a wake-up elsewhere. Since Linux 6.6.
const SYNC_WAKE_UP: u64 = 1;

/// The descriptor on which calls wait for an answer. Copies stand for the same.
#[derive(Clone)]
pub(crate) struct Listener(Arc<OwnedFd>);

/// A call that waits.
pub(crate) struct Notice {
    pub(crate) id: u64,
    /// The thread that made it.
    pub(crate) thread: u32,
    pub(crate) number: libc::c_long,
    pub(crate) arguments: [u64; 6],
}

/// How it goes on.
#[derive(Debug)]
pub(crate) enum Response {
    /// The kernel does what was asked for.
    Continue,
    /// It was done for the caller.
    Done,
    /// This was opened for the caller, who gets it; and whether it is closed by exec.
    Opened(OwnedFd, bool),
    /// It fails with this number.
    Error(i32),
    /// Somebody else answers.
    Later,
}

impl Listener {
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        // SAFETY: takes a number. Kernels that do not have it refuse it, and nothing is lost.
        unsafe {
            libc::ioctl(descriptor.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS as _, SYNC_WAKE_UP)
        };
        Self(Arc::new(descriptor))
    }

    /// The next call that waits; none if its caller has gone meanwhile.
    pub(crate) fn next(&self) -> io::Result<Notice> {
        // SAFETY: all zeros is what the kernel wants to be given, and what it fills in is plain data.
        let mut notice: libc::seccomp_notif = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: points to a whole notice.
        let got =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV as _, &raw mut notice) };
        if got == -1 {
            return Err(io::Error::last_os_error());
        }
        let libc::seccomp_notif { id, pid, data, .. } = notice;
        Ok(Notice { id, thread: pid, number: c_long(data.nr), arguments: data.args })
    }

    /// Whether the caller still waits: only then is what was found under its number its own.
    pub(crate) fn waits(&self, id: u64) -> bool {
        // SAFETY: points to the id.
        unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID as _, &raw const id) == 0
        }
    }

    /// Answers. A caller that has been killed meanwhile is no error.
    pub(crate) fn answer(&self, id: u64, answer: Response) {
        let (val, error, flags) = match answer {
            Response::Continue => (0, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
            Response::Done => (0, 0, 0),
            Response::Opened(opened, close_on_exec) => match self.give(id, opened, close_on_exec) {
                Ok(number) => (number.into(), 0, 0),
                Err(number) => (0, -number, 0),
            },
            Response::Error(number) => (0, -number, 0),
            Response::Later => return,
        };
        let response = libc::seccomp_notif_resp { id, val, error, flags };
        // SAFETY: points to a whole response.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND as _, &raw const response) };
    }

    /// Puts what this process has opened among the caller's descriptors, and lets go of it before the caller goes on: a file
    /// that somebody else has open for writing cannot be run.
    fn give(&self, id: u64, opened: OwnedFd, close_on_exec: bool) -> Result<RawFd, i32> {
        let given = libc::seccomp_notif_addfd {
            id,
            flags: 0,
            srcfd: opened.as_raw_fd().cast_unsigned(),
            newfd: 0,
            newfd_flags: if close_on_exec { libc::O_CLOEXEC.cast_unsigned() } else { 0 },
        };
        // SAFETY: points to a whole request.
        let number = unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD as _, &raw const given)
        };
        match number {
            -1 => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EMFILE)),
            number => Ok(number),
        }
    }
}

/// Whether a caller that is being answered is interrupted by nothing but its end: else it may ask a second time for what was
/// done already. Since Linux 5.19.
pub(crate) fn callers_are_patient() -> bool {
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let nothing = std::ptr::null::<libc::sock_fprog>();
    // SAFETY: without a filter the kernel refuses it, and says by the error whether it knows the flags.
    let refused = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, nothing) };
    refused == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn c_long(number: libc::c_int) -> libc::c_long {
    number.into()
}
