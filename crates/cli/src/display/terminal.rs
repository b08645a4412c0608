//! Where a running session is written: the answer to one place, everything else to another. It must not know what is
//! written.

use std::io::{self, IsTerminal as _, Write};

use crate::output::{Style, can_draw, counted, guarded, stderr_size, stdout_width};
use crate::prose::Prose;

const WIDTH_WITHOUT_TERMINAL: usize = 100;
const HEIGHT_WITHOUT_TERMINAL: usize = 24;

/// Lines beside the answer that wait while a question is open; the rest are only counted.
const WAITING_MAX: usize = 20_000;

/// Something that waits to be written.
enum HeldWrite {
    Text(String),
    Aside(String),
}

/// Standard output and standard error, and what is known of the terminals behind them.
pub(crate) struct Terminal {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// Whether standard output is a terminal: then text is shown as it comes.
    pub(crate) streams: bool,
    /// Whether standard error is one: then there is a block that is drawn again and again.
    pub(crate) spins: bool,
    pub(crate) style: Style,
    /// The colours of the answer.
    text_style: Style,
    /// Whether the answer is drawn, and not only written.
    draws_text: bool,
    /// While a question is open nothing else is written: it waits here, in order.
    waiting: Option<Vec<HeldWrite>>,
    /// How much found no room there.
    left_out: u64,
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
            text_style: Style::for_stdout(),
            draws_text: io::stdout().is_terminal() && can_draw(),
            waiting: None,
            left_out: 0,
        }
    }

    /// Both ends in one place that a test can look at.
    #[cfg(test)]
    pub(crate) fn of_test(out: Box<dyn Write>, err: Box<dyn Write>, is_terminal: bool) -> Self {
        let (streams, spins) = (is_terminal, is_terminal);
        let (style, text_style) = (Style::plain(), Style::plain());
        Self {
            out,
            err,
            streams,
            spins,
            style,
            text_style,
            draws_text: is_terminal,
            waiting: None,
            left_out: 0,
        }
    }

    /// How the answer is drawn.
    pub(crate) fn prose(&self) -> Prose {
        if self.draws_text { Prose::new(self.text_style) } else { Prose::raw() }
    }

    /// Columns that a row of the answer may take. The last one stays free: some terminals go to the next row behind it.
    pub(crate) fn text_width(&self) -> usize {
        stdout_width().saturating_sub(1)
    }

    /// A piece of the answer.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        if let Some(waiting) = &mut self.waiting {
            waiting.push(HeldWrite::Text(text.to_string()));
            return Ok(());
        }
        self.out.write_all(guarded(text, self.text_style.has_colours()).as_bytes())?;
        self.out.flush()
    }

    /// Everything else.
    pub(crate) fn aside(&mut self, text: &str) -> io::Result<()> {
        match &mut self.waiting {
            Some(waiting) if waiting.len() < WAITING_MAX => {
                waiting.push(HeldWrite::Aside(text.to_string()));
                Ok(())
            }
            Some(_) => {
                self.left_out += 1;
                Ok(())
            }
            None => self.aside_now(text),
        }
    }

    /// The same, whatever is open.
    pub(crate) fn aside_now(&mut self, text: &str) -> io::Result<()> {
        self.err.write_all(guarded(text, self.style.has_colours()).as_bytes())?;
        self.err.flush()
    }

    /// Lets everything wait until a question is answered.
    pub(crate) fn hold(&mut self) {
        self.waiting.get_or_insert_default();
    }

    /// Whether everything waits.
    pub(crate) fn holds(&self) -> bool {
        self.waiting.is_some()
    }

    /// Writes what has waited.
    pub(crate) fn release(&mut self) -> io::Result<()> {
        for waiting in self.waiting.take().into_iter().flatten() {
            match waiting {
                HeldWrite::Text(text) => self.text(&text)?,
                HeldWrite::Aside(text) => self.aside(&text)?,
            }
        }
        match std::mem::take(&mut self.left_out) {
            0 => Ok(()),
            more => self
                .aside(&format!("… and {}, which came while you were asked\n", counted(more, "more line"))),
        }
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
