//! Processes that confine, started ahead of the command that they are for: starting one takes longer than what it does.
//!
//! ```text
//! start ─► waits for streams and a plan ─► confines (supervisor.rs)
//!             ├─► is given one descriptor alone: closes it, ends
//!             └─► its line is cut: ends
//! ```
//! Once there has been a command, one waits for the next. It has no streams of ours, and nothing of a command yet.

#![allow(clippy::disallowed_types)] // this is the crate the ban points to

use std::{
    io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::Stdio,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::{
    process::Command,
    runtime::{Handle, Id},
};

use super::{handing::hand_over, supervisor};
use crate::{
    group::RunningChild,
    spawner,
    stream_ends::{StreamEnds, close_on_exec},
};

/// A process that waits for what it is to confine.
pub(crate) struct Ready {
    pub(crate) running: RunningChild,
    /// Our end of its line.
    pub(crate) line: UnixStream,
}

/// The one that waits for the next command, and the runtime that it belongs to.
fn next() -> MutexGuard<'static, Option<(Id, Ready)>> {
    static NEXT: Mutex<Option<(Id, Ready)>> = Mutex::new(None);
    NEXT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ready {
    /// One that has been given these streams.
    pub(crate) async fn with(ends: &StreamEnds) -> io::Result<Self> {
        let waiting = next().take().filter(|(runtime, _)| *runtime == Handle::current().id());
        if let Some((_, ready)) = waiting
            && ready.give(ends).is_ok()
        {
            return Ok(ready);
        }
        // There was none, or it has been killed.
        let ready = Self::start().await?;
        ready.give(ends)?;
        Ok(ready)
    }

    /// Starts one for the next command, beside everything else. Without it that command has to wait, no more.
    pub(crate) fn prepare_next() {
        let runtime = Handle::current().id();
        if next().as_ref().is_some_and(|(known, _)| *known == runtime) {
            return;
        }
        tokio::spawn(async move {
            if let Ok(ready) = Self::start().await {
                next().get_or_insert((runtime, ready));
            }
        });
    }

    async fn start() -> io::Result<Self> {
        let (line, process) = process()?;
        line.set_nonblocking(true)?;
        let running = spawner::spawn(process, Some(line.try_clone()?)).await?;
        Ok(Self { running, line })
    }

    /// Leaves a descriptor to the process that waits for the next command. Gives it back where there is none.
    pub(crate) fn close(descriptor: OwnedFd) -> Result<(), OwnedFd> {
        let Some((_, ready)) = next().take() else { return Err(descriptor) };
        // From here on it is held by the message, whoever ends first.
        hand_over(&ready.line, &[descriptor.as_fd()]).map_err(|_| descriptor)
    }

    fn give(&self, StreamEnds { stdin, stdout, stderr }: &StreamEnds) -> io::Result<()> {
        hand_over(&self.line, &[stdin.as_fd(), stdout.as_fd(), stderr.as_fd()])
    }
}

/// The process to start, which holds the other end of the line.
pub(crate) fn process() -> io::Result<(UnixStream, Command)> {
    let (line, theirs) = UnixStream::pair()?;
    let theirs = OwnedFd::from(theirs);
    let mut process = Command::new("/proc/self/exe");
    process.arg0(supervisor::NAME).arg(theirs.as_raw_fd().to_string()).env_clear().current_dir("/");
    process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It must not be killed with us: it sees the line cut, ends everything, and cleans up.
    process.kill_on_drop(false);
    // SAFETY: the closure runs between fork and exec and makes only system calls; it allocates nothing.
    unsafe {
        process.pre_exec(move || {
            rustix::process::setsid()?;
            close_on_exec();
            Ok(rustix::io::fcntl_setfd(&theirs, rustix::io::FdFlags::empty())?)
        });
    }
    // A mention, so that the entry of the program's second life is linked wherever this is.
    std::hint::black_box(supervisor::entry());
    Ok((line, process))
}
