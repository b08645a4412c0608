//! A started child and all that is below it, which ends with it.

use std::{io, os::unix::net::UnixStream};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

#[cfg(target_os = "linux")]
use crate::descendants::Descendants;
use crate::limits;

/// A started child. Dropping it ends the child and what is below it; the runtime then reaps the child.
pub(crate) struct RunningChild {
    hold: Hold,
    pub(crate) child: Child,
}

/// What we hold a child by.
enum Hold {
    /// It leads a process group.
    Group {
        group: Pid,
        #[cfg(target_os = "linux")]
        below: Descendants,
    },
    /// It watches over a confinement, ends it as soon as this line is cut, and then cleans up and ends itself.
    Leash(UnixStream),
}

impl Drop for RunningChild {
    fn drop(&mut self) {
        // A reaped leader has no id any more: its group was killed before, and the number may be somebody else's.
        if self.child.id().is_some() {
            self.kill();
        }
    }
}

impl RunningChild {
    /// Takes over a child that leads a group or, with a leash, watches over a confinement.
    pub(crate) fn new(child: Child, leash: Option<UnixStream>) -> io::Result<Self> {
        let hold = match leash {
            Some(leash) => Hold::Leash(leash),
            None => Hold::Group {
                group: id_of(&child)?,
                #[cfg(target_os = "linux")]
                below: Descendants::default(),
            },
        };
        Ok(Self { hold, child })
    }

    /// Asks every process to end.
    pub(crate) fn terminate(&mut self) {
        match &mut self.hold {
            Hold::Leash(leash) => {
                // A line that is full or cut is one on which the end has been asked for.
                let _ = rustix::io::write(leash, &[TERMINATE]);
            }
            Hold::Group {
                group,
                #[cfg(target_os = "linux")]
                below,
            } => {
                // Looked for now, because a leader that ends leaves its children without a trace back to it.
                #[cfg(target_os = "linux")]
                below.look(*group);
                let _ = kill_process_group(*group, Signal::TERM);
                #[cfg(target_os = "linux")]
                below.signal(Signal::TERM);
            }
        }
    }

    /// Ends every process. Must come before the leader is reaped.
    pub(crate) fn kill(&mut self) {
        match &mut self.hold {
            Hold::Leash(leash) => {
                let _ = leash.shutdown(std::net::Shutdown::Write);
            }
            Hold::Group {
                group,
                #[cfg(target_os = "linux")]
                below,
            } => {
                // Stopped first, so that none of them starts another while the rest are looked for.
                #[cfg(target_os = "linux")]
                for _ in 0..limits::DESCENDANTS_LOOKS_MAX {
                    if !below.look(*group) {
                        break;
                    }
                    below.signal(Signal::STOP);
                }
                let _ = kill_process_group(*group, Signal::KILL);
                #[cfg(target_os = "linux")]
                below.signal(Signal::KILL);
            }
        }
    }

    /// Lets a child that is about to end do so by itself.
    pub(crate) fn reap_later(mut self) {
        if self.child.id().is_some() {
            tokio::spawn(async move { self.child.wait().await });
        }
    }

    /// How long it may take to be gone once it was told to end.
    pub(crate) fn patience_ms(&self) -> u64 {
        match self.hold {
            Hold::Group { .. } => limits::REAP_MS,
            Hold::Leash(_) => limits::UNCONFINE_MS,
        }
    }

    /// Waits until the child has ended, without reaping it.
    #[cfg(target_os = "linux")]
    pub(crate) fn ended(&self) -> impl Future<Output = io::Result<()>> + use<> {
        use rustix::process::{PidfdFlags, pidfd_open};
        use tokio::io::{Interest, unix::AsyncFd};
        let child = id_of(&self.child);
        async move {
            let child = pidfd_open(child?, PidfdFlags::NONBLOCK)?;
            // SAFETY: the descriptor is owned by the `AsyncFd` and stays open and the same as long as that lives.
            let child = unsafe { AsyncFd::register_with_interest(child, Interest::READABLE) }?;
            child.readable().await.map(|_| ())
        }
    }

    /// Waits until the leader has ended.
    #[cfg(not(target_os = "linux"))]
    pub(crate) async fn ended(&mut self) -> io::Result<()> {
        self.child.wait().await.map(|_| ())
    }
}

/// What asks a confinement to end politely.
pub(crate) const TERMINATE: u8 = b'T';

fn id_of(child: &Child) -> io::Result<Pid> {
    let id = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    id.ok_or_else(|| io::Error::other("a started child has no id"))
}
