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
//! - Rows are written with autowrap switched off, so a row stays one row even where the terminal is narrower than was
//!   said, or disagrees about the width of a character.
//! - A frame goes down by line feeds, which scroll at the bottom, and comes back row by row, writing what changed. So
//!   also in a terminal that became shorter unnoticed it does not come back above the place where it began.
//! - The screen is not erased from its very first cell: tmux would move all rows to its history.
//!
//! xterm.js needs one thing more. It moves the cursor by all rows that a reflow inserts, also by those below the cursor,
//! and old rows of the region would stay; but it leaves the logical line alone that the cursor is in. So for xterm.js all
//! rows of the region are joined to one logical line, which the terminal wraps itself ([`Screen::join_rows`]). Elsewhere
//! that is no good: tmux, resized in the middle of a frame, merges joined rows, and then the frame comes back too far up.
//!
//! Two things cannot be helped. When tmux becomes so narrow that the wrapped region and the empty rows below it need more
//! rows than there are, it moves the first rows of the region to its history, where nobody can remove them; finished
//! lines are not harmed by that. And a terminal that is resized between two bytes of one frame may misplace what follows:
//! in a tmux that was resized 300 times a second while frames streamed into it, one of 2,000 finished lines was lost.

use std::fmt::Write as _;

use crate::{TextLine, Theme};

/// The terminal shows nothing of a frame before its end.
const BEGIN: &str = "\x1b[?2026h\x1b[?25l";
const END: &str = "\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";
const WRAP: &str = "\x1b[?7h";
const NO_WRAP: &str = "\x1b[?7l";
const ERASE_BELOW: &str = "\x1b[J";
const ERASE_RIGHT: &str = "\x1b[K";
/// From the first cell of a row: erases it and all below, but never "from the first cell of the screen".
const ERASE_REGION: &str = "\r \x1b[J\r\x1b[K";
/// To the last column of any terminal.
const LAST_COLUMN: &str = "\x1b[9999G";
const UP: &str = "\x1b[A";

/// What is alive below the finished lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Its lines. Each takes one row; what is too long is cut.
    pub lines: Vec<TextLine>,
    /// Row and column of the cursor that people see.
    pub cursor: Option<(usize, usize)>,
}

/// One row of the region as it is written.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    text: String,
    /// What is in its first cell.
    first: String,
}

/// What a terminal shows, and the bytes that change it.
#[derive(Debug)]
pub struct Screen {
    columns: usize,
    rows: usize,
    theme: Theme,
    /// Whether the region's rows are one logical line.
    is_joined: bool,
    /// The region's rows as they were written.
    shown: Vec<Row>,
    /// Whether the terminal still shows exactly them.
    is_certain: bool,
    /// Whether frames were written that [`Screen::leave`] has to end.
    is_begun: bool,
}

impl Screen {
    /// A terminal of this size, with the cursor at the start of a line.
    pub fn new(columns: u16, rows: u16, theme: Theme) -> Self {
        let (columns, rows) = (usize::from(columns), usize::from(rows));
        Self { columns, rows, theme, is_joined: false, shown: Vec::new(), is_certain: true, is_begun: false }
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

    /// Whether rows of the region are joined to one logical line: right for xterm.js (the terminal of VS Code and of many
    /// web pages; it says so when it is asked for its version), wrong elsewhere. Text that people copy from joined rows
    /// has no line ends.
    pub fn join_rows(&mut self, is_joined: bool) {
        self.is_joined = is_joined;
        self.forget();
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
        let shown = if is_drawn_anew { &[][..] } else { &self.shown };
        change(&mut out, shown, &rows, self.is_joined);
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
    fn painted(&self, region: &Region) -> Vec<Row> {
        let rows_max = self.rows.saturating_sub(1);
        let columns_max = self.columns.saturating_sub(1);
        let cursor_row = region.cursor.map_or(usize::MAX, |(row, _)| row);
        let first = region.lines.len().saturating_sub(rows_max).min(cursor_row);
        let rows = region.lines.iter().enumerate().skip(first).take(rows_max);
        rows.map(|(row, line)| {
            let mut line = line.cut(columns_max);
            if let Some((_, column)) = region.cursor.filter(|(at, _)| *at == row && columns_max > 0) {
                line = line.with_cursor(column.min(columns_max - 1));
            }
            Row { text: line.painted(self.theme), first: line.first_cell().painted(self.theme) }
        })
        .collect()
    }
}

/// Writes the rows that are different and erases those that are too many. Begins and ends on the first cell.
fn change(out: &mut String, shown: &[Row], rows: &[Row], is_joined: bool) {
    let is_different = |row: usize| rows.get(row) != shown.get(row);
    let Some(last) = (0..rows.len().max(shown.len())).rev().find(|row| is_different(*row)) else {
        return;
    };
    // What is too much is erased at once, from its first row on.
    let last = last.min(if rows.len() < shown.len() { rows.len() } else { last });
    out.push('\r');
    out.push_str(&"\n".repeat(last));
    out.push_str(NO_WRAP);
    let mut at = last;
    for number in (0..=last).rev() {
        // A line feed has ended the logical line of this row.
        let below = rows.get(number + 1).filter(|_| is_joined && number < last);
        if !is_different(number) && below.is_none() {
            continue;
        }
        go_up(out, at - number);
        at = number;
        match rows.get(number) {
            None => out.push_str(ERASE_BELOW),
            Some(row) if is_different(number) => put(out, row),
            Some(_) => {}
        }
        if let Some(below) = below {
            join(out, below);
        }
    }
    go_up(out, at);
    out.push_str(WRAP);
}

/// Goes to the start of a row further up.
fn go_up(out: &mut String, rows: usize) {
    out.push('\r');
    if rows > 0 {
        let _ = write!(out, "\x1b[{rows}A");
    }
}

/// Writes one row over what is there.
fn put(out: &mut String, row: &Row) {
    out.push_str(if row.text.is_empty() { &row.first } else { &row.text });
    out.push_str(ERASE_RIGHT);
}

/// Lets the row below continue the logical line of this one: the terminal wraps while it writes the first cell there.
fn join(out: &mut String, below: &Row) {
    let _ = write!(out, "{WRAP}{LAST_COLUMN} {}{UP}{NO_WRAP}", below.first);
}
