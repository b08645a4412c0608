//! The processes below a command's leader, found through /proc and held so that a signal cannot hit a stranger.
//!
//! A group signal misses a child that made a group or session of its own, as `timeout` and `setsid` do. As long as its
//! parents live it is found here. A child that was orphaned before anybody looked is out of reach.

use std::{fs, os::fd::OwnedFd};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::limits;

/// Processes that were seen below a leader.
#[derive(Default)]
pub(crate) struct Descendants(Vec<(Pid, OwnedFd)>);

impl Descendants {
    /// Adds those that are there now; says whether there was a new one.
    pub(crate) fn look(&mut self, leader: Pid) -> bool {
        let before = self.0.len();
        let mut to_visit = vec![leader];
        let mut visited = 0;
        while let Some(parent) = to_visit.pop() {
            visited += 1;
            if visited > limits::DESCENDANTS_MAX {
                break;
            }
            for child in children(parent) {
                to_visit.push(child);
                let known = self.0.iter().any(|(pid, _)| *pid == child);
                if let (false, Ok(held)) = (known, pidfd_open(child, PidfdFlags::empty())) {
                    self.0.push((child, held));
                }
            }
        }
        self.0.len() > before
    }

    /// Signals each of them; those that are gone are none.
    pub(crate) fn signal(&self, signal: Signal) {
        for (_, held) in &self.0 {
            let _ = pidfd_send_signal(held, signal);
        }
    }
}

/// The children of all threads of a process; none where the kernel does not tell.
fn children(parent: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero())).into_iter().flatten();
    let lists =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers = lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    numbers.filter_map(|number| Pid::from_raw(number.parse().ok()?)).collect()
}
