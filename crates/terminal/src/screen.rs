//! The writer of an inline chat: finished lines that scroll away like the output of any program, and below them a live
//! region that is drawn again and again. It turns both into bytes and must not know who takes them.
//!
//! What has been finished is never touched again, whatever happens to the size of the terminal. Some terminals reflow
//! their rows when they are resized (tmux, xterm.js, kitty), others cut them (xterm), and no program can tell which. So
//! the region is built in a way that is right in both kinds:
//!
//! - Between frames the cursor is hidden and stands on the region's first cell. That cell begins a logical line, so
//!   every terminal keeps the cursor on it, and erasing from there takes away the region and nothing else. No frame
//!   moves above it. Any other place would be wrong somewhere: a cursor further right may be wrapped to another row.
//!   The cursor that people see is a reversed cell.
//! - All rows of the region are one logical line, which the terminal wraps itself. xterm.js moves the cursor by all rows
//!   that a reflow inserts, also by those below it, but leaves the logical line alone that the cursor is in.
//! - Rows are written with autowrap switched off, so a row stays one row even where the terminal is narrower than was
//!   said, or disagrees about the width of a character.
//! - Rows are only ever counted upwards after they were written downwards in the same frame, each with a wrap that
//!   scrolls at the bottom. To change single rows the cursor is saved and restored: a terminal that became shorter
//!   stops it on its way down.
//! - The screen is not erased from its very first cell: tmux would move all rows to its history.
//!
//! Some things cannot be helped. When tmux becomes so narrow that the wrapped region and the empty rows below it need
//! more rows than there are, it moves the first rows of the region to its history, where nobody can remove them; finished
//! lines are not harmed by that. A terminal that is resized between two bytes of one frame may lose its place: so a frame
//! is one short write. Text that people copy from the region has no line ends.

use std::fmt::Write as _;

use crate::{TextLine, Theme};

/// The terminal shows nothing of a frame before its end.
const BEGIN: &str = "\x1b[?2026h\x1b[?25l";
const END: &str = "\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";
const SAVE_CURSOR: &str = "\x1b7";
const RESTORE_CURSOR: &str = "\x1b8";
const WRAP: &str = "\x1b[?7h";
const NO_WRAP: &str = "\x1b[?7l";
const ERASE_BELOW: &str = "\x1b[J";
const ERASE_RIGHT: &str = "\x1b[K";
/// From the first cell of a row: erases it and all below, but never "from the first cell of the screen".
const ERASE_REGION: &str = "\r \x1b[J\r\x1b[K";
/// Ends a row of the region so that the next row continues its logical line. Terminals stop at their last column.
const CONTINUE: &str = "\x1b[?7h\x1b[9999G  \r\x1b[?7l";

/// What is alive below the finished lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Its lines. Each takes one row; what is too long is cut.
    pub lines: Vec<TextLine>,
    /// Row and column of the cursor that people see.
    pub cursor: Option<(usize, usize)>,
}

/// What a terminal shows, and the bytes that change it.
#[derive(Debug)]
pub struct Screen {
    columns: usize,
    rows: usize,
    theme: Theme,
    /// The region's rows as they were written.
    shown: Vec<String>,
    /// Whether the terminal still shows exactly them.
    is_certain: bool,
    /// Whether frames were written that [`Screen::leave`] has to end.
    is_begun: bool,
}

impl Screen {
    /// A terminal of this size, with the cursor at the start of a line.
    pub fn new(columns: u16, rows: u16, theme: Theme) -> Self {
        let (columns, rows) = (usize::from(columns), usize::from(rows));
        Self { columns, rows, theme, shown: Vec::new(), is_certain: true, is_begun: false }
    }

    /// The terminal has another size now. The next frame draws the region anew.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        (self.columns, self.rows) = (usize::from(columns), usize::from(rows));
        self.forget();
    }

    /// Other colours. The next frame draws the rows that look different with them.
    pub fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
    }

    /// Somebody else wrote to the terminal. The next frame draws the region anew, from the row that the cursor is in.
    /// Before another program gets the terminal the caller has to [`leave`](Self::leave); a view on the alternate screen
    /// brings the cursor back to its place itself.
    pub fn forget(&mut self) {
        self.is_certain = false;
    }

    /// Prints lines that are finished and shows the region below them. Empty if nothing changes.
    pub fn frame(&mut self, finished: &[TextLine], region: &Region) -> Vec<u8> {
        let rows = self.painted(region);
        let has_no_change = finished.is_empty() && rows == self.shown;
        if has_no_change && (self.is_certain || (rows.is_empty() && !self.is_begun)) {
            return Vec::new();
        }
        let mut out = BEGIN.to_owned();
        let is_drawn_anew = !self.is_certain || !finished.is_empty() || rows.is_empty();
        if is_drawn_anew {
            out.push_str(ERASE_REGION);
        }
        for line in finished {
            out.push_str(&line.painted(self.theme));
            out.push_str("\r\n");
        }
        if is_drawn_anew || rows.len() > self.shown.len() {
            draw(&mut out, &rows);
        } else {
            change(&mut out, &self.shown, &rows);
        }
        out.push_str(END);
        (self.shown, self.is_certain, self.is_begun) = (rows, true, true);
        out.into_bytes()
    }

    /// Takes the region away. The cursor is shown, at the start of the line below what is finished. A later frame
    /// begins there.
    pub fn leave(&mut self) -> Vec<u8> {
        if !self.is_begun {
            return Vec::new();
        }
        (self.shown, self.is_certain, self.is_begun) = (Vec::new(), true, false);
        format!("{BEGIN}{ERASE_REGION}{SHOW_CURSOR}{END}").into_bytes()
    }

    /// The region's rows as they are written: as many as fit, with the cursor among them.
    fn painted(&self, region: &Region) -> Vec<String> {
        let rows_max = self.rows.saturating_sub(1);
        let columns_max = self.columns.saturating_sub(1);
        let cursor_row = region.cursor.map_or(usize::MAX, |(row, _)| row);
        let first = region.lines.len().saturating_sub(rows_max).min(cursor_row);
        let rows = region.lines.iter().enumerate().skip(first).take(rows_max);
        rows.map(|(row, line)| {
            let line = line.cut(columns_max);
            match region.cursor {
                Some((at, column)) if at == row && columns_max > 0 => {
                    line.with_cursor(column.min(columns_max - 1)).painted(self.theme)
                }
                _ => line.painted(self.theme),
            }
        })
        .collect()
    }
}

/// Writes all rows, from the first one on, and goes back there.
fn draw(out: &mut String, rows: &[String]) {
    if rows.is_empty() {
        return;
    }
    out.push_str(NO_WRAP);
    for (number, row) in rows.iter().enumerate() {
        if number > 0 {
            out.push_str(CONTINUE);
        }
        put(out, row);
    }
    out.push_str(WRAP);
    out.push('\r');
    if rows.len() > 1 {
        let _ = write!(out, "\x1b[{}A", rows.len() - 1);
    }
}

/// Writes the rows that are different and erases those that are too many.
fn change(out: &mut String, shown: &[String], rows: &[String]) {
    out.push_str(SAVE_CURSOR);
    out.push_str(NO_WRAP);
    let mut at = 0;
    for (number, row) in rows.iter().enumerate().filter(|(number, row)| shown.get(*number) != Some(*row)) {
        go_down(out, number - at);
        put(out, row);
        at = number;
    }
    if rows.len() < shown.len() {
        go_down(out, rows.len() - at);
        out.push_str(ERASE_BELOW);
    }
    out.push_str(RESTORE_CURSOR);
    out.push_str(WRAP);
}

/// Goes to the start of a row further down, and never scrolls.
fn go_down(out: &mut String, rows: usize) {
    out.push('\r');
    if rows > 0 {
        let _ = write!(out, "\x1b[{rows}B");
    }
}

/// Writes one row over what is there. Erasing it from its first cell would end its logical line.
fn put(out: &mut String, row: &str) {
    out.push_str(if row.is_empty() { " " } else { row });
    out.push_str(ERASE_RIGHT);
}
