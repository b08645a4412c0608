//! This program once more, in a process of its own that outlives the terminal: it has its own session (setsid), so that
//! closing the terminal does not reach it. It says one line to whoever started it, and then leaves the terminal.

#![allow(clippy::disallowed_types)] // this is the crate the ban points to

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::process::{Child, Command, Stdio};

use crate::limits::FIRST_LINE_BYTES_MAX;

/// A process that was started and has not said its first line yet.
pub struct DetachedSelf {
    child: Child,
}

/// What came of starting it.
#[derive(Debug, PartialEq, Eq)]
pub enum DetachedStart {
    /// Its first line. It goes on by itself.
    Began(String),
    /// It ended before that, with this code; none if a signal ended it. It has said why on standard error.
    Ended(Option<i32>),
}

impl DetachedSelf {
    /// Starts this program with other arguments. Until it calls [`leave_terminal`] it writes to our standard error; it reads
    /// our standard input only if `with_input` says so.
    pub fn start(arguments: &[OsString], with_input: bool) -> io::Result<Self> {
        // The file may have been replaced by a newer version; the kernel still has the one that runs.
        let own = std::env::current_exe()?;
        let own = if own.exists() { own } else { "/proc/self/exe".into() };
        let mut command = Command::new(own);
        command.args(arguments).stdout(Stdio::piped());
        command.stdin(if with_input { Stdio::inherit() } else { Stdio::null() });
        separate(&mut command);
        Ok(Self { child: command.spawn()? })
    }

    /// Waits until it has said a line, or has ended without one.
    pub fn first_line(mut self) -> io::Result<DetachedStart> {
        let mut said = Vec::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            let mut byte = [0];
            while said.len() < FIRST_LINE_BYTES_MAX && stdout.read(&mut byte)? == 1 && byte != [b'\n'] {
                said.push(byte[0]);
            }
        }
        if said.is_empty() {
            return Ok(DetachedStart::Ended(self.child.wait()?.code()));
        }
        Ok(DetachedStart::Began(String::from_utf8_lossy(&said).into_owned()))
    }
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
