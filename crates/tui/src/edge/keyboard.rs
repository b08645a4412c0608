//! Reads the terminal on a thread of its own, which can be paused while another program has the terminal.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc as channel;
use std::thread;
use std::time::Duration;

use posse_terminal::{KeyReader, TerminalInput};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::pipe;
use tokio::sync::mpsc;

use crate::limits::{ESCAPE_MS, INPUTS_AHEAD_MAX, READ_BYTES};

/// What the thread is told.
const PAUSE: u8 = b'p';
const RESUME: u8 = b'r';

/// What the thread tells.
#[derive(Debug)]
pub(super) enum Typed {
    Input(TerminalInput),
    /// The terminal is gone.
    Closed,
}

/// The thread that reads.
pub(super) struct Keyboard {
    pub(super) typed: mpsc::Receiver<Typed>,
    tell: OwnedFd,
    paused: channel::Receiver<()>,
}

impl Keyboard {
    pub(super) fn start() -> io::Result<Self> {
        let (told, tell) = pipe()?;
        let (send, typed) = mpsc::channel(INPUTS_AHEAD_MAX);
        let (has_paused, paused) = channel::channel();
        thread::Builder::new().name("keyboard".to_owned()).spawn(move || {
            let mut reading = Reading { told, send, has_paused, keys: KeyReader::new() };
            while reading.step() {}
            let _ = reading.send.blocking_send(Typed::Closed);
        })?;
        Ok(Self { typed, tell, paused })
    }

    /// Stops reading: what is typed from now on is for somebody else. Returns when that holds.
    pub(super) fn pause(&self) {
        if rustix::io::write(&self.tell, &[PAUSE]).is_ok() {
            let _ = self.paused.recv_timeout(Duration::from_secs(1));
        }
    }

    /// Reads again.
    pub(super) fn resume(&self) {
        let _ = rustix::io::write(&self.tell, &[RESUME]);
    }
}

struct Reading {
    told: OwnedFd,
    send: mpsc::Sender<Typed>,
    has_paused: channel::Sender<()>,
    keys: KeyReader,
}

impl Reading {
    /// Reads once; false if there is nothing more to read.
    fn step(&mut self) -> bool {
        let stdin = io::stdin();
        let wait = Timespec { tv_sec: 0, tv_nsec: i64::try_from(ESCAPE_MS * 1_000_000).unwrap_or(0) };
        let wait = self.keys.is_waiting().then_some(&wait);
        let mut polled = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&self.told, PollFlags::IN)];
        let ready = match poll(&mut polled, wait) {
            Ok(ready) => ready,
            Err(rustix::io::Errno::INTR) => return true,
            Err(_) => return false,
        };
        let (typed, told) = (polled[0].revents(), polled[1].revents());
        if ready == 0 {
            let flushed = self.keys.flush();
            return self.pass_on(flushed);
        }
        if told.contains(PollFlags::IN) {
            return self.obey();
        }
        if typed.contains(PollFlags::IN) {
            let mut bytes = [0; READ_BYTES];
            return match rustix::io::read(&stdin, &mut bytes) {
                Ok(0) | Err(rustix::io::Errno::IO) => false,
                Ok(count) => {
                    let inputs = self.keys.push(&bytes[..count]);
                    self.pass_on(inputs)
                }
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => true,
                Err(_) => false,
            };
        }
        !typed.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
    }

    fn pass_on(&self, inputs: Vec<TerminalInput>) -> bool {
        inputs.into_iter().all(|input| self.send.blocking_send(Typed::Input(input)).is_ok())
    }

    /// Waits until it is told to read again.
    fn obey(&self) -> bool {
        let mut word = [0];
        loop {
            match rustix::io::read(&self.told, &mut word) {
                Ok(0) => return false,
                Ok(_) if word[0] == PAUSE => {
                    let _ = self.has_paused.send(());
                }
                Ok(_) => return true,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}
