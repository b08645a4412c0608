//! Where a running session is written: the answer to one place, everything else to another. It must not know what is
//! written.

use std::io::{self, IsTerminal as _, Write};

use crate::limits::WAITING_BYTES_MAX;
use crate::output::{Style, can_draw, counted, guarded, stderr_size, stdout_width};
use crate::prose::Prose;

const WIDTH_WITHOUT_TERMINAL: usize = 100;
const HEIGHT_WITHOUT_TERMINAL: usize = 24;

/// Something that waits to be written.
enum HeldWrite {
    Text(String),
    Aside(String),
}

/// What waits, in order, within a limit.
#[derive(Default)]
struct HeldWrites {
    writes: Vec<HeldWrite>,
    bytes: usize,
}

impl HeldWrites {
    /// False if there is no room.
    fn push(&mut self, write: HeldWrite) -> bool {
        let (HeldWrite::Text(text) | HeldWrite::Aside(text)) = &write;
        if self.bytes + text.len() > WAITING_BYTES_MAX {
            return false;
        }
        self.bytes += text.len();
        match (self.writes.last_mut(), write) {
            // Text comes in pieces of a few letters.
            (Some(HeldWrite::Text(before)), HeldWrite::Text(text)) => before.push_str(&text),
            (_, write) => self.writes.push(write),
        }
        true
    }
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
    waiting: Option<HeldWrites>,
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
            let lines = text.matches('\n').count() as u64;
            self.left_out += if waiting.push(HeldWrite::Text(text.to_string())) { 0 } else { lines };
            return Ok(());
        }
        self.out.write_all(guarded(text, self.text_style.has_colours()).as_bytes())?;
        self.out.flush()
    }

    /// Everything else.
    pub(crate) fn aside(&mut self, text: &str) -> io::Result<()> {
        match &mut self.waiting {
            Some(waiting) => {
                self.left_out += u64::from(!waiting.push(HeldWrite::Aside(text.to_string())));
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
        for waiting in self.waiting.take().unwrap_or_default().writes {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// What was written, for all clones.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_waits_for_an_answer_has_a_limit() {
        let (out, err) = (Written::default(), Written::default());
        let mut terminal = Terminal::of_test(Box::new(out.clone()), Box::new(err.clone()), false);
        terminal.hold();
        let line = format!("{}\n", "x".repeat(1023));
        for _ in 0..3000 {
            terminal.text(&line).unwrap();
            terminal.aside(&line).unwrap();
        }
        let held = terminal.waiting.as_ref().map(|held| (held.bytes, held.writes.len()));
        assert_eq!(held, Some((WAITING_BYTES_MAX, 4096)));
        terminal.release().unwrap();
        let written = |place: &Written| place.0.lock().unwrap().len();
        assert_eq!(written(&out), WAITING_BYTES_MAX / 2);
        let told = String::from_utf8(err.0.lock().unwrap().clone()).unwrap();
        assert!(
            told.ends_with("… and 1,904 more lines, which came while you were asked\n"),
            "{}",
            &told[told.len() - 80..]
        );
        terminal.text("a").unwrap();
        assert_eq!(written(&out), WAITING_BYTES_MAX / 2 + 1, "nothing waits any more");
    }

    #[test]
    fn pieces_of_text_wait_as_one() {
        let mut terminal =
            Terminal::of_test(Box::new(Written::default()), Box::new(Written::default()), false);
        terminal.hold();
        (0..1000).for_each(|_| terminal.text("ab").unwrap());
        assert_eq!(terminal.waiting.map(|held| (held.bytes, held.writes.len())), Some((2000, 1)));
    }
}
