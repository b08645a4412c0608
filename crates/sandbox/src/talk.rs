//! Writes to a child's input and reads its output on one thread, so that neither side can wait for the other for ever. Knows
//! nothing of why the child runs.

#![allow(clippy::disallowed_types)] // this is the crate the ban points to

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::Child;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;

use crate::OutputLimits;
use crate::capture::Capture;
use crate::limits::READ_CHUNK_BYTES;

/// Our ends of a child's pipes.
pub(crate) struct Talk {
    stdin: Option<Input>,
    stdout: Option<File>,
    stderr: Option<File>,
    /// What it has written to its standard output.
    pub(crate) said: Capture,
    /// What it has written to its standard error.
    pub(crate) complained: Capture,
}

/// What is still to be written to a child.
struct Input {
    pipe: File,
    bytes: Vec<u8>,
    written: usize,
}

/// What a round of talking came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Something was read or written, or a pipe was closed.
    More,
    /// The other side of the watched pipe is closed.
    Ended,
    /// The time is over.
    Late,
}

impl Talk {
    /// Takes the pipes of a child, as far as it has some.
    pub(crate) fn with(child: &mut Child, input: Vec<u8>, said: OutputLimits) -> io::Result<Self> {
        let stdin = child.stdin.take().map(|pipe| prepared(pipe.into())).transpose()?;
        let stdin = stdin.filter(|_| !input.is_empty()).map(|pipe| Input { pipe, bytes: input, written: 0 });
        Ok(Self {
            stdin,
            stdout: child.stdout.take().map(|pipe| prepared(pipe.into())).transpose()?,
            stderr: child.stderr.take().map(|pipe| prepared(pipe.into())).transpose()?,
            said: Capture::new(said),
            complained: Capture::new(said),
        })
    }

    /// Whether its standard output can still say something.
    pub(crate) fn listens(&self) -> bool {
        self.stdout.is_some()
    }

    /// Whether anything can still be read.
    pub(crate) fn open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    /// Waits until a pipe is ready, or the other side of `end` is closed, or `until` has come.
    pub(crate) fn round(&mut self, until: Option<Instant>, end: Option<&OwnedFd>) -> io::Result<Heard> {
        let ready = {
            let mut watched = Vec::new();
            if let Some(stdin) = &self.stdin {
                watched.push((0, PollFd::from_borrowed_fd(stdin.pipe.as_fd(), PollFlags::OUT)));
            }
            for (number, pipe) in [(1, &self.stdout), (2, &self.stderr)] {
                if let Some(pipe) = pipe {
                    watched.push((number, PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
                }
            }
            if let Some(end) = end {
                watched.push((3, PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN)));
            }
            let (numbers, mut watched): (Vec<_>, Vec<_>) = watched.into_iter().unzip();
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut watched, left.as_ref()) {
                Err(rustix::io::Errno::INTR) => return Ok(Heard::More),
                found => found?,
            };
            let ready = numbers.into_iter().zip(&watched).filter(|(_, it)| !it.revents().is_empty());
            ready.map(|(number, _)| number).collect::<Vec<_>>()
        };
        if ready.contains(&0) {
            write_more(&mut self.stdin);
        }
        if ready.contains(&1) {
            read_more(&mut self.stdout, &mut self.said);
        }
        if ready.contains(&2) {
            read_more(&mut self.stderr, &mut self.complained);
        }
        Ok(match ready.as_slice() {
            [] => Heard::Late,
            // What it had said before its end is read first.
            [3] => Heard::Ended,
            _ => Heard::More,
        })
    }
}

/// A pipe that never makes us wait.
fn prepared(pipe: OwnedFd) -> io::Result<File> {
    ioctl_fionbio(&pipe, true)?;
    Ok(File::from(pipe))
}

fn write_more(stdin: &mut Option<Input>) {
    let Some(input) = stdin else { return };
    match input.pipe.write(&input.bytes[input.written..]) {
        Ok(written) => input.written += written,
        Err(error) if waits(&error) => {}
        // It does not want to read all of it.
        Err(_) => input.written = input.bytes.len(),
    }
    if input.written >= input.bytes.len() {
        *stdin = None;
    }
}

fn read_more(pipe: &mut Option<File>, into: &mut Capture) {
    let Some(open) = pipe else { return };
    let mut chunk = vec![0; READ_CHUNK_BYTES];
    match open.read(&mut chunk) {
        Ok(0) => *pipe = None,
        Ok(bytes) => into.push(&chunk[..bytes]),
        Err(error) if waits(&error) => {}
        Err(_) => *pipe = None,
    }
}

fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
