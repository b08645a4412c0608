//! This program once more, in a process of its own that outlives the terminal: it has its own session (setsid), so that
//! closing the terminal does not reach it. It says one line to whoever started it, and then leaves the terminal.

#![allow(clippy::disallowed_types)] // this is the crate the ban points to

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::process::{Child, Command, Stdio};
#[cfg(unix)]
use std::{
    process::ExitStatus,
    time::{Duration, Instant},
};

use crate::aside::own_path;
#[cfg(unix)]
use crate::{
    OutputLimits,
    limits::{DETACHED_SAID_BYTES_MAX, DRAIN_MS},
    talk::{Heard, Talk},
};

/// How long its last words are waited for.
#[cfg(unix)]
const DRAIN: Duration = Duration::from_millis(DRAIN_MS);

/// What a detached process reads until it leaves the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DetachedInput {
    /// Nothing.
    Nothing,
    /// What we would read.
    Inherited,
    /// This text.
    Text(String),
}

/// Where its standard error goes until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetachedErrors {
    /// To ours.
    Ours,
    /// Into [`DetachedStart`], up to a limit.
    Captured,
}

/// A process that was started and has not said its first line yet.
pub struct DetachedSelf {
    child: Child,
    input: Vec<u8>,
}

/// What came of starting it. `said` is what was captured of its standard error.
#[derive(Debug, PartialEq, Eq)]
pub enum DetachedStart {
    /// It goes on by itself.
    Began {
        /// Its first line.
        line: String,
        /// What it had said beside that.
        said: String,
    },
    /// It ended before that.
    Ended {
        /// Its code; none if a signal ended it.
        code: Option<i32>,
        /// Why, in its own words, if they were captured.
        said: String,
    },
}

impl DetachedSelf {
    /// Starts this program with other arguments. Until it calls [`leave_terminal`] it reads and writes what is said here.
    pub fn start(arguments: &[OsString], input: DetachedInput, errors: DetachedErrors) -> io::Result<Self> {
        let mut command = Command::new(own_path()?);
        command.args(arguments).stdout(Stdio::piped());
        command.stdin(match input {
            DetachedInput::Nothing => Stdio::null(),
            DetachedInput::Inherited => Stdio::inherit(),
            DetachedInput::Text(_) => Stdio::piped(),
        });
        command.stderr(match errors {
            DetachedErrors::Ours => Stdio::inherit(),
            DetachedErrors::Captured => Stdio::piped(),
        });
        separate(&mut command);
        let input = match input {
            DetachedInput::Text(text) => text.into_bytes(),
            DetachedInput::Nothing | DetachedInput::Inherited => Vec::new(),
        };
        Ok(Self { child: command.spawn()?, input })
    }

    /// Waits until it has said a line, or has ended without one. Meanwhile it is given what it reads.
    #[cfg(unix)]
    pub fn first_line(mut self) -> io::Result<DetachedStart> {
        let input = std::mem::take(&mut self.input);
        let kept = OutputLimits { head_bytes: DETACHED_SAID_BYTES_MAX, tail_bytes: 0 };
        let mut talk = Talk::with(&mut self.child, input, kept)?;
        let line = loop {
            let said = talk.said.so_far().head;
            match said.iter().position(|byte| *byte == b'\n') {
                Some(end) => break said.get(..end).map(<[u8]>::to_vec).unwrap_or_default(),
                None if !talk.listens() || said.len() >= DETACHED_SAID_BYTES_MAX => break said,
                None => talk.round(None, None)?,
            };
        };
        if line.is_empty() {
            return Ok(DetachedStart::Ended {
                code: self.ended(&mut talk)?.code(),
                said: lossy(&talk.complained.so_far().head),
            });
        }
        // What it said on standard error came before the line, so it is there already.
        let now = Instant::now();
        while talk.open() && now.elapsed() < DRAIN && talk.round(Some(now), None)? == Heard::More {}
        Ok(DetachedStart::Began { line: lossy(&line), said: lossy(&talk.complained.so_far().head) })
    }

    /// Waits for its end, and reads what it still says.
    #[cfg(unix)]
    fn ended(&mut self, talk: &mut Talk) -> io::Result<ExitStatus> {
        let mut status = None;
        while status.is_none() && talk.open() {
            status = self.child.try_wait()?;
            talk.round(Instant::now().checked_add(DRAIN), None)?;
        }
        // Another process may hold its pipe open.
        let now = Instant::now();
        let until = now.checked_add(DRAIN);
        while talk.open() && now.elapsed() < DRAIN && talk.round(until, None)? == Heard::More {}
        status.map_or_else(|| self.child.wait(), Ok)
    }

    /// The same where nothing can be detached.
    #[cfg(not(unix))]
    pub fn first_line(mut self) -> io::Result<DetachedStart> {
        self.child.kill()?;
        drop(self.input);
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(unix)]
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Gives a process a session of its own.
#[cfg(unix)]
fn separate(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    // SAFETY: between fork and exec this makes one system call, and touches no memory of others.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(io::Error::from));
    }
}

#[cfg(not(unix))]
fn separate(_: &mut Command) {}

/// Leaves the terminal and the pipe of [`DetachedSelf`]: nothing is read any more, and all that is written goes to a file.
#[cfg(unix)]
pub fn leave_terminal(log: &File) -> io::Result<()> {
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(log)?;
    rustix::stdio::dup2_stderr(log)?;
    Ok(())
}

/// The same where there is no way to do it.
#[cfg(not(unix))]
pub fn leave_terminal(_: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
