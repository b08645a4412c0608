//! Words in rows: breaks at spaces and continues under an indent. Pure; it must not know what the words mean.

use posse_terminal::Look;

use super::painted;
use crate::limits::ROOM_MIN;
use crate::output::{Style, columns};

/// Columns of a tab.
const TAB: &str = "    ";

/// One row of text that grows word by word.
#[derive(Default)]
pub(super) struct Row {
    /// Columns that are taken; 0 before the row has begun.
    column: usize,
    /// Whether a word stands behind the indent.
    begun: bool,
    /// What the next row begins with: as it is drawn, and its columns.
    indent: (String, usize),
    /// Spaces before the next word.
    spaces: usize,
    word: Vec<(Look, String)>,
    word_columns: usize,
}

impl Row {
    /// Whether the cursor stands behind something.
    pub(super) fn is_open(&self) -> bool {
        self.column > 0
    }

    /// Whether a word is not written yet.
    pub(super) fn holds(&self) -> bool {
        self.word_columns > 0
    }

    /// Begins a line: what its first row and its other rows begin with.
    pub(super) fn begin(&mut self, out: &mut String, first: &str, indent: (String, usize)) {
        out.push_str(first);
        self.column = indent.1;
        self.indent = indent;
        (self.begun, self.spaces) = (false, 0);
    }

    /// Takes the next character. A word is written when it is complete.
    pub(super) fn push(&mut self, out: &mut String, c: char, look: Look, style: Style, width: usize) {
        if c == ' ' || c == '\t' {
            self.end_word(out, style, width);
            self.spaces += if c == ' ' { 1 } else { TAB.len() };
            return;
        }
        let taken = columns(c.encode_utf8(&mut [0; 4]));
        match self.word.last_mut() {
            Some((last, text)) if *last == look => text.push(c),
            _ => self.word.push((look, c.to_string())),
        }
        self.word_columns += taken;
        // Scripts with wide characters have no spaces, and what is wider than a row is broken anywhere.
        if taken > 1 || self.word_columns >= self.room(width) {
            self.end_word(out, style, width);
        }
    }

    /// Writes the word that is held.
    pub(super) fn end_word(&mut self, out: &mut String, style: Style, width: usize) {
        if self.word.is_empty() {
            return;
        }
        if self.begun && self.column + self.spaces + self.word_columns > width {
            self.end(out);
        }
        if self.column == 0 {
            out.push_str(&self.indent.0);
            self.column = self.indent.1;
        }
        out.push_str(&" ".repeat(self.spaces));
        self.column += self.spaces + self.word_columns;
        for (look, text) in self.word.drain(..) {
            out.push_str(&painted(style, look, &text));
        }
        (self.begun, self.spaces, self.word_columns) = (true, 0, 0);
    }

    /// Writes a character at once, wherever the row then has to break.
    pub(super) fn put(&mut self, out: &mut String, c: char, width: usize) {
        let text = if c == '\t' { TAB.to_string() } else { c.to_string() };
        let taken = columns(&text);
        if self.begun && self.column + taken > width.max(self.indent.1 + ROOM_MIN) {
            self.end(out);
        }
        if self.column == 0 {
            out.push_str(&self.indent.0);
            self.column = self.indent.1;
        }
        out.push_str(&text);
        self.column += taken;
        self.begun = true;
    }

    /// Ends the row. What follows continues under its indent.
    pub(super) fn end(&mut self, out: &mut String) {
        out.push('\n');
        (self.column, self.begun, self.spaces) = (0, false, 0);
    }

    fn room(&self, width: usize) -> usize {
        width.saturating_sub(self.indent.1).max(ROOM_MIN)
    }
}

/// A line behind a head, in rows of at most so many columns. It is broken at spaces; further rows stand under its beginning.
pub(crate) fn hanging(head: &str, text: &str, width: usize) -> Vec<String> {
    let (mut row, mut out) = (Row::default(), String::new());
    let indent = columns(head);
    row.begin(&mut out, head, (" ".repeat(indent), indent));
    for c in text.chars() {
        row.push(&mut out, c, Look::PLAIN, Style::plain(), width);
    }
    row.end_word(&mut out, Style::plain(), width);
    out.lines().map(str::to_string).collect()
}

/// Parts with ` · ` between them behind a head, in rows that break between parts.
pub(crate) fn parted(head: &str, parts: &[String], width: usize) -> Vec<String> {
    let pad = " ".repeat(columns(head));
    let mut rows: Vec<String> = Vec::new();
    for part in parts {
        match rows.last_mut() {
            Some(row) if columns(row) + columns(part) + 3 <= width => row.push_str(&format!(" · {part}")),
            _ => {
                let head = if rows.is_empty() { head } else { &pad };
                // A part may be wider than a row.
                rows.extend(hanging(head, part, width));
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_continue_under_their_beginning() {
        let cases: [(&str, &str, usize, &[&str]); 7] = [
            ("", "one two three", 20, &["one two three"]),
            ("", "one two three", 9, &["one two", "three"]),
            ("  note  ", "one two three", 16, &["  note  one two", "        three"]),
            ("  ", "a  wide   gap", 9, &["  a  wide", "  gap"]),
            ("", "a abcdefghijklmnop b", 12, &["a", "abcdefghijkl", "mnop b"]),
            ("", "日本語の文章", 10, &["日本語の文", "章"]),
            ("", "", 10, &[]),
        ];
        assert_eq!(cases.len(), 7);
        for (head, text, width, expected) in cases {
            assert_eq!(hanging(head, text, width), expected, "{text:?} in {width}");
        }
    }

    #[test]
    fn parts_stay_whole() {
        let parts = ["6 turns", "4 sub-agents: 25,620 tokens in all", "34 s"].map(String::from);
        assert_eq!(
            parted("✓ done · ", &parts, 60),
            ["✓ done · 6 turns · 4 sub-agents: 25,620 tokens in all · 34 s"]
        );
        assert_eq!(
            parted("✓ done · ", &parts, 44),
            ["✓ done · 6 turns", "         4 sub-agents: 25,620 tokens in all", "         34 s"]
        );
        assert_eq!(parted("  ", &parts[1..2], 20), ["  4 sub-agents:", "  25,620 tokens in", "  all"]);
    }
}
