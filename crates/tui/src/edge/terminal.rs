//! The person's terminal: its modes, its size, and what is written to it. Whatever happens, it is left as it was found.

use std::io;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Bracketed paste, focus reports, keys that can be told apart; then what the background is, and a question that every
/// terminal answers.
const ENTER: &str = "\x1b[?2004h\x1b[?1004h\x1b[>1u";
const ASK: &str = "\x1b]11;?\x1b\\\x1b[c";
const LEAVE: &str = "\x1b[<u\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[?7h";
/// Columns and rows where nobody knows them.
const SIZE_UNKNOWN: (u16, u16) = (80, 24);

/// The terminal in the modes of the chat, until it is dropped.
pub(super) struct ChatTerminal {
    found: Termios,
    entered: bool,
}

impl ChatTerminal {
    pub(super) fn enter() -> io::Result<Self> {
        let found = tcgetattr(io::stdin())?;
        let mut terminal = Self { found, entered: false };
        terminal.resume()?;
        terminal.write(ASK.as_bytes())?;
        Ok(terminal)
    }

    /// Takes the terminal again after somebody else had it.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        let mut raw = self.found.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        self.entered = true;
        self.write(ENTER.as_bytes())
    }

    /// Gives the terminal back as it was found.
    pub(super) fn pause(&mut self) -> io::Result<()> {
        if !self.entered {
            return Ok(());
        }
        self.entered = false;
        let written = self.write(LEAVE.as_bytes());
        tcsetattr(io::stdin(), OptionalActions::Drain, &self.found)?;
        written
    }

    /// Writes all of it. An error means that the terminal is gone.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        // Not through the buffer of the standard library, which cuts a frame in two at its last line end.
        let (out, mut rest) = (io::stdout(), bytes);
        while !rest.is_empty() {
            match rustix::io::write(&out, rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => rest = &rest[count..],
                Err(Errno::INTR) => {}
                // Some program left the terminal in a mode in which nobody waits for it.
                Err(Errno::AGAIN) => until_writable(&out)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Columns and rows, as far as the terminal says.
    pub(super) fn size(&self) -> (u16, u16) {
        match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            _ => SIZE_UNKNOWN,
        }
    }
}

fn until_writable(out: &io::Stdout) -> io::Result<()> {
    match poll(&mut [PollFd::new(out, PollFlags::OUT)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Drop for ChatTerminal {
    fn drop(&mut self) {
        let _ = self.pause();
    }
}
