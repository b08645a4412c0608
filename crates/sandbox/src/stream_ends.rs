//! The ends of its streams that a command gets, and what else it must not get.

use std::os::fd::OwnedFd;

/// A command's own ends of its streams.
pub(crate) struct StreamEnds {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Has everything but the three standard streams closed by exec.
pub(crate) fn close_on_exec() {
    // SAFETY: marks descriptors to be closed by exec. None is closed here, so no owner is surprised. Kernels
    // before 5.11 refuse the flag, and then only what Rust opened itself is closed.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
}
