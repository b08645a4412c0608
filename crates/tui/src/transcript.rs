//! What a session prints: events become finished lines, each printed once and in order. What the main agent writes is
//! printed as it streams, block by block; sub-agents print one block at their end. Pure.

mod asides;
mod calls;
mod reports;
mod streamed;
mod updates;

use std::collections::VecDeque;

use posse_protocol::{AgentId, CallId, Seq, words::counted};
use posse_terminal::{Ink, Markdown, TextLine, diff_lines};
use posse_view::SessionView;

use self::streamed::Streamed;
use crate::limits::{
    DIFF_LINES_MAX, DIFF_WAIT_MS, HELD_BYTES_MAX, HELD_LINES_MAX, NOTE_COLUMNS_MAX, REPLAYED_LINES_MAX,
};

pub(crate) use self::asides::aside;
pub(crate) use self::calls::finished_call;
pub(crate) use self::reports::{ended, settled};

/// Something that is to be printed at its place.
#[derive(Debug)]
enum Piece {
    Line(TextLine),
    /// The diff of an event, which is being fetched; what follows waits for it for a while.
    Diff {
        seq: Seq,
        since_ms: u64,
    },
}

/// Turns what happens into lines.
#[derive(Debug)]
pub(crate) struct ChatTranscript {
    width: usize,
    markdown: Markdown,
    streamed: Streamed,
    /// Whether a reply is on its way.
    in_turn: bool,
    /// Whether the main agent has rested since, and that was told.
    rests: bool,
    /// What the main agent thinks right now; its end.
    reasoning: String,
    /// Whether reasoning is printed, too.
    pub(crate) shows_reasoning: bool,
    pieces: VecDeque<Piece>,
    /// Changes whose call has no result yet.
    changed: Vec<(Seq, Option<Vec<TextLine>>)>,
    /// Bytes of the lines among the pieces.
    held_bytes: usize,
    /// The call of the main agent that the person said no to: that was told already.
    refused: Option<CallId>,
    /// How the model failed, as it was told.
    failure: Option<String>,
    /// Whether the last line was empty, or there was none.
    after_gap: bool,
    /// Whether the main agent writes notes that replace its conversation, which are not for the person.
    sums_up: bool,
    /// Whether the record is read, so that only the last lines are worth printing.
    replaying: bool,
    /// How many lines were left out.
    left_out: usize,
    /// The newest replies of the main agent as they were written, for `/copy`.
    replies: VecDeque<Option<String>>,
}

impl ChatTranscript {
    pub(crate) fn new(width: usize) -> Self {
        Self {
            width,
            markdown: Markdown::new(width),
            streamed: Streamed::default(),
            in_turn: false,
            rests: false,
            reasoning: String::new(),
            shows_reasoning: false,
            pieces: VecDeque::new(),
            changed: Vec::new(),
            held_bytes: 0,
            refused: None,
            failure: None,
            after_gap: true,
            sums_up: false,
            replaying: false,
            left_out: 0,
            replies: VecDeque::new(),
        }
    }

    pub(crate) fn resize(&mut self, width: usize) {
        self.width = width;
        self.markdown.set_width(width);
    }

    /// Begins to read the record: only its last lines will be printed.
    pub(crate) fn replay(&mut self) {
        self.replaying = true;
    }

    /// The record was read to its end.
    pub(crate) fn caught_up(&mut self) {
        self.end_text();
        self.replaying = false;
    }

    /// The session is let go of: what was being written ends here.
    pub(crate) fn end(&mut self) {
        self.end_text();
    }

    /// Prints a line of the chat's own.
    pub(crate) fn line(&mut self, line: TextLine) {
        self.after_gap = line.is_empty();
        self.held_bytes = self.held_bytes.saturating_add(bytes(&line));
        self.pieces.push_back(Piece::Line(line));
        let lines_max = if self.replaying { REPLAYED_LINES_MAX } else { HELD_LINES_MAX };
        while self.pieces.len() > lines_max || self.held_bytes > HELD_BYTES_MAX {
            match self.pieces.pop_front() {
                Some(Piece::Line(line)) => {
                    self.held_bytes = self.held_bytes.saturating_sub(bytes(&line));
                    self.left_out += 1;
                }
                Some(Piece::Diff { .. }) => {}
                None => break,
            }
        }
    }

    pub(crate) fn lines(&mut self, lines: impl IntoIterator<Item = TextLine>) {
        lines.into_iter().for_each(|line| self.line(line));
    }

    /// Prints lines that are not for copying: broken at words, and what follows begins below their text.
    fn wrapped(&mut self, lines: impl IntoIterator<Item = TextLine>, indent: usize) {
        let width = self.width;
        let rows = lines.into_iter().flat_map(|line| line.wrapped(width, indent));
        rows.for_each(|row| self.line(row.trimmed_end()));
    }

    /// An empty line between two blocks.
    pub(crate) fn gap(&mut self) {
        if !self.after_gap {
            self.line(TextLine::default());
        }
    }

    /// What can be printed now. Nothing is printed before a diff that belongs before it, unless that takes too long.
    pub(crate) fn take(&mut self, now_ms: u64) -> Vec<TextLine> {
        let mut lines = Vec::new();
        if self.replaying {
            return lines;
        }
        if self.left_out > 0 {
            let left = counted(std::mem::take(&mut self.left_out) as u64, "earlier line");
            lines.push(TextLine::of(&format!("… {left} (Ctrl+O shows all)"), Ink::Quiet));
        }
        while let Some(piece) = self.pieces.pop_front() {
            match piece {
                Piece::Line(line) => {
                    self.held_bytes = self.held_bytes.saturating_sub(bytes(&line));
                    lines.push(line);
                }
                Piece::Diff { since_ms, .. } if now_ms.saturating_sub(since_ms) >= DIFF_WAIT_MS => {}
                diff @ Piece::Diff { .. } => {
                    self.pieces.push_front(diff);
                    break;
                }
            }
        }
        lines
    }

    /// Whether lines wait for a diff.
    pub(crate) fn waits(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// A diff has come; if its place is still there, it is printed.
    pub(crate) fn diff(&mut self, seq: Seq, diff: &str) {
        let rows = diff_rows(diff);
        if let Some((_, early)) = self.changed.iter_mut().find(|(one, _)| *one == seq) {
            *early = Some(rows);
            return;
        }
        let wanted = |piece: &Piece| matches!(piece, Piece::Diff { seq: one, .. } if *one == seq);
        let Some(at) = self.pieces.iter().position(wanted) else { return };
        let mut rest = self.pieces.split_off(at);
        rest.pop_front();
        self.pieces.extend(rows.into_iter().map(Piece::Line));
        self.pieces.append(&mut rest);
    }

    /// Prints what a call changed, or keeps the place for it.
    fn print_changes(&mut self, now_ms: u64) {
        for (seq, rows) in std::mem::take(&mut self.changed) {
            match rows {
                Some(rows) => self.lines(rows),
                None => self.pieces.push_back(Piece::Diff { seq, since_ms: now_ms }),
            }
        }
    }

    /// What is being written, for the live region.
    pub(crate) fn tail(&self) -> Vec<TextLine> {
        self.markdown.tail()
    }

    /// The last lines of what the main agent thinks.
    pub(crate) fn reasoning_tail(&self) -> Option<&str> {
        Some(self.reasoning.trim()).filter(|text| !text.is_empty())
    }

    /// A reply of the main agent as it was written: 1 is the last.
    /// Inside none for one that was too long to be kept.
    pub(crate) fn reply(&self, number: usize) -> Option<Option<&str>> {
        self.replies.iter().rev().nth(number.checked_sub(1)?).map(Option::as_deref)
    }
}

/// The beginning of a diff, below the call that made it.
fn diff_rows(diff: &str) -> Vec<TextLine> {
    let shown = diff_lines(diff, DIFF_LINES_MAX);
    let indented = shown.lines.into_iter().map(|line| {
        let mut row = TextLine::plain("    ");
        row.append(line);
        row
    });
    let mut rows: Vec<TextLine> = indented.collect();
    if shown.hidden > 0 {
        let more = counted(shown.hidden as u64, "more line");
        rows.push(TextLine::of(&format!("    … {more} (/diff shows all)"), Ink::Quiet));
    }
    rows
}

/// Keeps the last bytes of a text that grows.
pub(crate) fn keep_end(text: &mut String, bytes_max: usize) {
    let over = text.len().saturating_sub(bytes_max);
    let cut = (over..text.len()).find(|at| text.is_char_boundary(*at));
    text.drain(..cut.unwrap_or(0));
}

/// Which of the agents it is, for its colour.
pub(crate) fn number_of(view: &SessionView, id: AgentId) -> u8 {
    let place = view.agents.iter().rposition(|agent| agent.id == id).unwrap_or(0);
    u8::try_from(place % 6).unwrap_or(0)
}

/// The beginning of a text that may be long; where it is cut, it says so.
fn cut(text: &str) -> String {
    match text.char_indices().nth(NOTE_COLUMNS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn bytes(line: &TextLine) -> usize {
    line.spans().iter().map(|span| span.text().len()).sum()
}
