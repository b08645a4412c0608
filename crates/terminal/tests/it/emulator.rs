//! What the tests need of a terminal, and the one that lives in this process: it does not reflow.

use std::num::NonZeroU16;

/// A terminal that can be looked at.
pub(crate) trait Emulator {
    /// The program in it writes.
    fn write(&mut self, bytes: &[u8]);

    /// Somebody resizes it. What was written before has been shown before.
    fn resize(&mut self, columns: u16, rows: u16);

    /// Everything in the scrollback and on the screen: lines where the terminal joins wrapped rows, else rows.
    fn lines(&mut self) -> Vec<String>;
}

/// Cuts rows when it becomes narrower, as xterm does, and does not know for sure which rows were wrapped.
pub(crate) struct Vt100(pub(crate) vt100::Parser);

impl Vt100 {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        Self(vt100::Parser::new(size(rows), size(columns), 1_000_000))
    }

    /// The rows of the screen, without spaces at their ends.
    pub(crate) fn rows(&self) -> Vec<String> {
        self.0.screen().rows(0, u16::MAX).map(|row| row.trim_end().to_owned()).collect()
    }

    /// Row and column of every cell that is reversed.
    pub(crate) fn reversed(&self) -> Vec<(u16, u16)> {
        let (rows, columns) = self.0.screen().size();
        let cells = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
        cells.filter(|(row, column)| self.0.screen().cell(*row, *column).unwrap().inverse()).collect()
    }
}

impl Emulator for Vt100 {
    fn write(&mut self, bytes: &[u8]) {
        self.0.process(bytes);
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        self.0.set_size(size(rows), size(columns));
    }

    fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let screen = self.0.screen_mut();
        for offset in (0..=screen.scrollback_len()).rev() {
            screen.set_scrollback(offset);
            // Of every page but the last one only the first row is new.
            lines.extend(screen.rows(0, u16::MAX).take(if offset == 0 { usize::MAX } else { 1 }));
        }
        lines
    }
}

fn size(size: u16) -> NonZeroU16 {
    size.try_into().expect("a terminal has a size")
}
