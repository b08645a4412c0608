//! Paints a view on the alternate screen, and leaves without a trace.

use std::io::{self, Write as _};

use posse_terminal::{TextLine, Theme};

/// The alternate screen.
pub(crate) struct FullScreenTerminal;

impl FullScreenTerminal {
    pub(crate) fn enter() -> io::Result<Self> {
        write("\x1b[?1049h\x1b[?25l\x1b[2J")?;
        Ok(Self)
    }

    pub(crate) fn draw(
        &mut self,
        rows: &[TextLine],
        cursor: Option<(usize, usize)>,
        theme: Theme,
    ) -> io::Result<()> {
        let mut text = String::from("\x1b[?2026h\x1b[?7l\x1b[H");
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                text.push_str("\r\n");
            }
            text.push_str(&row.painted(theme));
            text.push_str("\x1b[K");
        }
        match cursor {
            Some((row, column)) => text.push_str(&format!("\x1b[{};{}H\x1b[?25h", row + 1, column + 1)),
            None => text.push_str("\x1b[?25l"),
        }
        text.push_str("\x1b[?7h\x1b[?2026l");
        write(&text)
    }

    pub(crate) fn leave(self) -> io::Result<()> {
        write("\x1b[?1049l\x1b[?25h")
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
