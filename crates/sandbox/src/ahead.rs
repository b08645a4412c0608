//! The process that waits for the next command: has one started ahead of the first, and leaves to it what takes the kernel
//! long to close.

#[cfg(unix)]
use std::os::fd::OwnedFd;

/// Starts the process that confines the next command, so that the command does not have to wait for it. Must be called in a
/// runtime; does nothing where one waits already.
pub fn prepare_ahead() {
    #[cfg(target_os = "linux")]
    crate::linux::ready::Ready::prepare_next();
}

/// Has the process that waits for the next command close a descriptor, and end with that. A process that closes a
/// descriptor has not ended before the kernel is done with it; this one can end meanwhile. Gives the descriptor back
/// where no process waits.
#[cfg(unix)]
pub fn close_elsewhere(descriptor: OwnedFd) -> Result<(), OwnedFd> {
    #[cfg(target_os = "linux")]
    return crate::linux::ready::Ready::close(descriptor);
    #[cfg(not(target_os = "linux"))]
    Err(descriptor)
}
