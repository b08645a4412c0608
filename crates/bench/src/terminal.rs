//! A terminal for the program that is measured: what is typed into it, and each frame with the time at which its last byte
//! came. Time passes in it as on the desk of a person: nobody waits for the emulator that looks at what was written.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

pub(crate) const COLUMNS: u16 = 200;
pub(crate) const ROWS: u16 = 50;
/// Between these a terminal shows nothing: they are the begin and the end of a frame.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";
/// How long something that must come is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A frame that has come completely.
pub(crate) struct MeasuredFrame {
    pub(crate) at: Instant,
    /// From its begin to its end.
    pub(crate) bytes: usize,
    /// Rows of the screen that it changed.
    pub(crate) rows: usize,
}

/// A program in a terminal of its own.
pub(crate) struct MeasuredTerminal {
    child: Child,
    keys: File,
    chunks: mpsc::Receiver<(Instant, Vec<u8>)>,
    /// What has come of the next frame.
    begun: Vec<u8>,
    screen: vt100::Parser,
}

impl MeasuredTerminal {
    pub(crate) fn open(mut command: Command) -> anyhow::Result<Self> {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&keys)?;
        unlockpt(&keys)?;
        let name = ptsname(&keys, Vec::new())?;
        let its = File::from(rustix::fs::open(
            &name,
            OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
            Mode::empty(),
        )?);
        let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&its, size)?;
        command.stdin(its.try_clone()?).stdout(its.try_clone()?).stderr(its);
        let keys = File::from(keys);
        let mut written = keys.try_clone()?;
        let (send, chunks) = mpsc::channel();
        let child = command.spawn()?;
        // The program's side is closed here, so that reading ends with the program.
        drop(command);
        std::thread::spawn(move || {
            let mut bytes = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = written.read(&mut bytes) {
                if send.send((Instant::now(), bytes[..count].to_vec())).is_err() {
                    return;
                }
            }
        });
        let [rows, columns] = [ROWS, COLUMNS].map(NonZeroU16::try_from);
        Ok(Self { child, keys, chunks, begun: Vec::new(), screen: vt100::Parser::new(rows?, columns?, 0) })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn press(&mut self, keys: &str) -> anyhow::Result<()> {
        Ok(self.keys.write_all(keys.as_bytes())?)
    }

    /// The next frame; none if it does not come in time.
    pub(crate) fn frame(&mut self, within: Duration) -> anyhow::Result<Option<MeasuredFrame>> {
        let until = Instant::now() + within;
        let mut at = Instant::now();
        loop {
            if let Some(end) = place(&self.begun, END).map(|end| end + END.len()) {
                let rest = self.begun.split_off(end);
                let frame = std::mem::replace(&mut self.begun, rest);
                let begin = place(&frame, BEGIN).context("a frame ends that did not begin")?;
                let before = self.rows();
                self.screen.process(&frame);
                let rows = before.iter().zip(self.rows()).filter(|(before, after)| *before != after).count();
                return Ok(Some(MeasuredFrame { at, bytes: frame.len() - begin, rows }));
            }
            match self.chunks.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((came, bytes)) => {
                    at = came;
                    self.begun.extend(bytes);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => return Ok(None),
                Err(mpsc::RecvTimeoutError::Disconnected) => bail!("the program has ended:\n{}", self.text()),
            }
        }
    }

    /// Waits until the screen is as it should be, and says when it was.
    pub(crate) fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) -> anyhow::Result<Instant> {
        let since = Instant::now();
        let mut at = since;
        while !holds(self) {
            let left = PATIENCE.saturating_sub(since.elapsed());
            match self.frame(left)? {
                Some(frame) => at = frame.at,
                None => bail!("no {what} after {PATIENCE:?}:\n{}", self.text()),
            }
        }
        Ok(at)
    }

    /// Takes in what is written during this time.
    pub(crate) fn pass(&mut self, time: Duration) -> anyhow::Result<Vec<MeasuredFrame>> {
        let until = Instant::now() + time;
        let mut frames = Vec::new();
        while let Some(frame) = self.frame(until.saturating_duration_since(Instant::now()))? {
            frames.push(frame);
        }
        Ok(frames)
    }

    pub(crate) fn text(&self) -> String {
        self.screen.screen().contents()
    }

    /// What is written in the composer: its row is the last that begins with this mark.
    pub(crate) fn composed(&self) -> Option<String> {
        let rows = self.rows();
        rows.iter().rev().find_map(|row| row.strip_prefix('›')).map(|text| text.trim().to_owned())
    }

    fn rows(&self) -> Vec<String> {
        self.screen.screen().rows(0, COLUMNS).collect()
    }

    /// Waits until the program has ended, however it writes its last words.
    pub(crate) fn ended(mut self) -> anyhow::Result<ExitStatus> {
        let since = Instant::now();
        loop {
            match self.chunks.recv_timeout(PATIENCE.saturating_sub(since.elapsed())) {
                Ok((_, bytes)) => self.screen.process(&bytes),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(self.child.wait()?),
                Err(mpsc::RecvTimeoutError::Timeout) => bail!("it does not end:\n{}", self.text()),
            }
        }
    }

    /// Types what ends the chat, and waits for its end.
    pub(crate) fn quit(mut self) -> anyhow::Result<()> {
        self.press("\u{15}/quit\r")?;
        let status = self.ended()?;
        ensure!(status.success(), "the chat ended with {status}");
        Ok(())
    }
}

impl Drop for MeasuredTerminal {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn place(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|one| one == part)
}
