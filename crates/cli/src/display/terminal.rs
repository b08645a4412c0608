//! Where a running session is written: the answer to one place, everything else to another. It must not know what is
//! written.

use std::io::{self, IsTerminal as _, Write};

use crate::output::{Style, can_draw, guarded, stderr_size};

const WIDTH_WITHOUT_TERMINAL: usize = 100;
const HEIGHT_WITHOUT_TERMINAL: usize = 24;

/// Standard output and standard error, and what is known of the terminals behind them.
pub(crate) struct Terminal {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// Whether standard output is a terminal: then text is shown as it comes.
    pub(crate) streams: bool,
    /// Whether standard error is one: then there is a block that is drawn again and again.
    pub(crate) spins: bool,
    pub(crate) style: Style,
}

impl Terminal {
    /// This process's own.
    pub(crate) fn of_process() -> Self {
        Self {
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
            streams: io::stdout().is_terminal(),
            spins: io::stderr().is_terminal() && can_draw(),
            style: Style::for_stderr(),
        }
    }

    /// Both ends in one place that a test can look at.
    #[cfg(test)]
    pub(crate) fn of_test(out: Box<dyn Write>, err: Box<dyn Write>, is_terminal: bool) -> Self {
        Self { out, err, streams: is_terminal, spins: is_terminal, style: Style::plain() }
    }

    /// A piece of the answer.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(guarded(text, false).as_bytes())?;
        self.out.flush()
    }

    /// Everything else.
    pub(crate) fn aside(&mut self, text: &str) -> io::Result<()> {
        self.err.write_all(guarded(text, self.style.has_colours()).as_bytes())?;
        self.err.flush()
    }

    /// Where the block is drawn, which moves about.
    pub(crate) fn block(&mut self) -> &mut dyn Write {
        &mut self.err
    }

    /// Columns and rows.
    pub(crate) fn size(&self) -> (usize, usize) {
        match stderr_size().filter(|_| self.spins) {
            Some((width, height)) => (width.max(20), height),
            None => (WIDTH_WITHOUT_TERMINAL, HEIGHT_WITHOUT_TERMINAL),
        }
    }
}
