//! A started child and its process group, which ends with it.

use std::io;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

#[cfg(target_os = "linux")]
use crate::{descendants::Descendants, limits};

/// A started child that leads a group. Dropping it kills the group and what is below the leader; the runtime then
/// reaps the leader.
pub(crate) struct Running {
    group: Pid,
    #[cfg(target_os = "linux")]
    below: Descendants,
    pub(crate) child: Child,
}

impl Drop for Running {
    fn drop(&mut self) {
        // A reaped leader has no id any more: its group was killed before, and the number may be somebody else's.
        if self.child.id().is_some() {
            self.kill();
        }
    }
}

impl Running {
    pub(crate) fn new(child: Child) -> io::Result<Self> {
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let group = group.ok_or_else(|| io::Error::other("a started child has no id"))?;
        Ok(Self {
            group,
            #[cfg(target_os = "linux")]
            below: Descendants::default(),
            child,
        })
    }

    /// Asks every process to end.
    pub(crate) fn terminate(&mut self) {
        // Now, because a leader that ends leaves its children without a trace back to it.
        #[cfg(target_os = "linux")]
        self.below.look(self.group);
        self.signal(Signal::TERM);
    }

    /// Ends every process. Must come before the leader is reaped.
    pub(crate) fn kill(&mut self) {
        // Stopped first, so that none of them starts another while the rest are looked for.
        #[cfg(target_os = "linux")]
        for _ in 0..limits::DESCENDANTS_LOOKS_MAX {
            if !self.below.look(self.group) {
                break;
            }
            self.below.signal(Signal::STOP);
        }
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.group, signal);
        #[cfg(target_os = "linux")]
        self.below.signal(signal);
    }

    /// Waits until the leader has ended, without reaping it.
    #[cfg(target_os = "linux")]
    pub(crate) fn ended(&self) -> impl Future<Output = io::Result<()>> + use<> {
        use rustix::process::{PidfdFlags, pidfd_open};
        use tokio::io::{Interest, unix::AsyncFd};
        let group = self.group;
        async move {
            let leader = pidfd_open(group, PidfdFlags::NONBLOCK)?;
            // SAFETY: the descriptor is owned by the `AsyncFd` and stays open and the same as long as that lives.
            let leader = unsafe { AsyncFd::register_with_interest(leader, Interest::READABLE) }?;
            leader.readable().await.map(|_| ())
        }
    }

    /// Waits until the leader has ended.
    #[cfg(not(target_os = "linux"))]
    pub(crate) async fn ended(&mut self) -> io::Result<()> {
        self.child.wait().await.map(|_| ())
    }
}
