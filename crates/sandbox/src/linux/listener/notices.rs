//! What the kernel asks through a listener, and how it is answered. Knows nothing of what the calls mean.

use std::{
    io,
    mem::MaybeUninit,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The kernel does what was asked for.
    Continue,
    /// It was done for the caller.
    Done,
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
    pub(crate) fn answer(&self, id: u64, answer: Answer) {
        let (error, flags) = match answer {
            Answer::Continue => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
            Answer::Done => (0, 0),
            Answer::Error(number) => (-number, 0),
            Answer::Later => return,
        };
        let response = libc::seccomp_notif_resp { id, val: 0, error, flags };
        // SAFETY: points to a whole response.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND as _, &raw const response) };
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn c_long(number: libc::c_int) -> libc::c_long {
    number.into()
}
