//! One line of text with looks. Text of strangers goes in as it is; what comes out for a terminal is harmless.

use posse_protocol::visible;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::limits::{LINE_BYTES_MAX, TAB_COLUMNS};
use crate::{Look, Theme};

/// What ends every look.
const RESET: &str = "\x1b[0m";

/// How many columns of a terminal a harmless text takes: wide characters two, combining ones none.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// A piece of a line with one look. Its text is harmless: that is done when it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    text: String,
    /// How it looks.
    pub look: Look,
}

impl Span {
    /// Makes a piece of text harmless: what controls a terminal or cannot be seen is written as an escape, tabs become
    /// spaces, and the end of a line an escape, too.
    pub fn new(text: &str, look: impl Into<Look>) -> Self {
        let end = (0..=text.len().min(LINE_BYTES_MAX)).rev().find(|end| text.is_char_boundary(*end));
        let kept = &text[..end.unwrap_or(0)];
        let mut harmless = visible::line(&kept.replace('\t', &" ".repeat(TAB_COLUMNS)));
        if kept.len() < text.len() {
            harmless.push('…');
        }
        Self { text: harmless, look: look.into() }
    }

    /// A part of it with a look of its own. What was made harmless stays so.
    pub(crate) fn part(&self, range: std::ops::Range<usize>, look: Look) -> Self {
        Self { text: self.text.get(range).unwrap_or_default().to_owned(), look }
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many columns it takes.
    pub fn columns(&self) -> usize {
        columns(&self.text)
    }
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextLine {
    spans: Vec<Span>,
}

impl TextLine {
    /// A line of ordinary text.
    pub fn plain(text: &str) -> Self {
        Self::of(text, Look::PLAIN)
    }

    /// A line with one look.
    pub fn of(text: &str, look: impl Into<Look>) -> Self {
        Self::default().with(text, look)
    }

    /// Adds a piece of text.
    #[must_use]
    pub fn with(mut self, text: &str, look: impl Into<Look>) -> Self {
        self.push(text, look);
        self
    }

    /// Adds a piece of text.
    pub fn push(&mut self, text: &str, look: impl Into<Look>) {
        self.push_span(Span::new(text, look));
    }

    /// Adds a piece.
    pub fn push_span(&mut self, span: Span) {
        match self.spans.last_mut() {
            _ if span.text.is_empty() => {}
            Some(last) if last.look == span.look => last.text.push_str(&span.text),
            _ => self.spans.push(span),
        }
    }

    /// Adds all pieces of another line.
    pub fn append(&mut self, other: Self) {
        other.spans.into_iter().for_each(|span| self.push_span(span));
    }

    /// Its pieces.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// How many columns it takes.
    pub fn columns(&self) -> usize {
        self.spans.iter().map(Span::columns).sum()
    }

    /// Its text without looks.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// The same line in at most so many columns; where something is cut off, `…` stands for it.
    #[must_use]
    pub fn cut(&self, columns_max: usize) -> Self {
        if self.columns() <= columns_max {
            return self.clone();
        }
        let mut room = columns_max.saturating_sub(1);
        let mut cut = Self::default();
        let mut last = Look::PLAIN;
        for span in &self.spans {
            last = span.look;
            let mut end = 0;
            for cluster in span.text.graphemes(true) {
                let Some(left) = room.checked_sub(columns(cluster)) else {
                    room = 0;
                    break;
                };
                (room, end) = (left, end + cluster.len());
            }
            cut.push_span(Span { text: span.text[..end].to_owned(), look: span.look });
            if end < span.text.len() {
                break;
            }
        }
        if columns_max > 0 {
            cut.push_span(Span { text: "…".to_owned(), look: last });
        }
        cut
    }

    /// What is in its first column, with its look: a space if there is nothing.
    pub(crate) fn first_cell(&self) -> Self {
        let mut end = 0;
        let first = self.spans.first().and_then(|span| {
            let mut clusters = span.text.graphemes(true).inspect(|cluster| end += cluster.len());
            clusters.find(|cluster| columns(cluster) > 0).map(|_| span)
        });
        first.map_or_else(
            || Self::plain(" "),
            |span| Self { spans: vec![Span { text: span.text[..end].to_owned(), look: span.look }] },
        )
    }

    /// The same line with the character in this column reversed, as a cursor looks. Behind its end that is a space.
    #[must_use]
    pub fn with_cursor(&self, column: usize) -> Self {
        let mut line = Self::default();
        let mut end = 0;
        for span in &self.spans {
            for cluster in span.text.graphemes(true) {
                let begin = end;
                end += columns(cluster);
                let is_under = (begin..end).contains(&column);
                let reverse = span.look.reverse != is_under;
                line.push_span(Span { text: cluster.to_owned(), look: Look { reverse, ..span.look } });
            }
        }
        if let Some(room) = column.checked_sub(end) {
            line.push(&" ".repeat(room), Look::PLAIN);
            line.push(" ", Look::PLAIN.reverse());
        }
        line
    }

    /// The same line without spaces at its end.
    #[must_use]
    pub fn trimmed_end(&self) -> Self {
        let mut line = self.clone();
        while let Some(last) = line.spans.last_mut() {
            last.text.truncate(last.text.trim_end_matches(' ').len());
            if !last.text.is_empty() {
                break;
            }
            line.spans.pop();
        }
        line
    }

    /// The same line in rows of at most so many columns: broken at spaces where there are some, inside words where not.
    /// Further rows begin with `indent` spaces. There is always one row.
    pub fn wrapped(&self, columns_max: usize, indent: usize) -> Vec<Self> {
        let mut rows = RowBreaker::new(columns_max, indent);
        for span in &self.spans {
            for cluster in span.text.graphemes(true) {
                rows.push(cluster, span.look);
            }
        }
        rows.end_word();
        rows.rows.push(rows.row);
        rows.rows
    }

    /// The line as a terminal takes it, without an end of line. Looks are switched off at its end.
    pub fn painted(&self, theme: Theme) -> String {
        let mut out = String::new();
        for span in &self.spans {
            let sequence = theme.sequence(span.look);
            out.push_str(&sequence);
            out.push_str(&span.text);
            if !sequence.is_empty() {
                out.push_str(RESET);
            }
        }
        out
    }
}

/// Puts words into rows.
struct RowBreaker {
    columns_max: usize,
    indent: usize,
    rows: Vec<TextLine>,
    row: TextLine,
    /// Columns that are taken in the row, and whether something stands behind its indent.
    used: usize,
    begun: bool,
    /// A word that is not in a row yet.
    word: Vec<(String, Look)>,
    word_columns: usize,
}

impl RowBreaker {
    fn new(columns_max: usize, indent: usize) -> Self {
        let columns_max = columns_max.max(1);
        let indent = indent.min(columns_max.saturating_sub(1));
        let (rows, row, word) = (Vec::new(), TextLine::default(), Vec::new());
        Self { columns_max, indent, rows, row, used: 0, begun: false, word, word_columns: 0 }
    }

    fn push(&mut self, cluster: &str, look: Look) {
        let wide = columns(cluster);
        if cluster == " " {
            self.end_word();
            if self.used < self.columns_max {
                self.put(cluster, look, 1);
            }
            return;
        }
        match self.word.last_mut() {
            Some((text, last)) if *last == look => text.push_str(cluster),
            _ => self.word.push((cluster.to_owned(), look)),
        }
        self.word_columns += wide;
        // Scripts with wide characters have no spaces, and what is wider than a row is broken anywhere.
        if wide > 1 || self.word_columns > self.columns_max {
            self.end_word();
        }
    }

    fn end_word(&mut self) {
        if self.begun && self.used + self.word_columns > self.columns_max {
            self.new_row();
        }
        let word = std::mem::take(&mut self.word);
        let fits = self.used + self.word_columns <= self.columns_max;
        for (text, look) in &word {
            if fits {
                self.put(text, *look, columns(text));
                continue;
            }
            for cluster in text.graphemes(true) {
                let wide = columns(cluster);
                if self.begun && self.used + wide > self.columns_max {
                    self.new_row();
                }
                self.put(cluster, *look, wide);
            }
        }
        self.word_columns = 0;
    }

    fn put(&mut self, text: &str, look: Look, wide: usize) {
        self.row.push_span(Span { text: text.to_owned(), look });
        (self.used, self.begun) = (self.used + wide, true);
    }

    fn new_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
        self.row.push(&" ".repeat(self.indent), Look::PLAIN);
        (self.used, self.begun) = (self.indent, false);
    }
}

impl From<&str> for TextLine {
    fn from(text: &str) -> Self {
        Self::plain(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ink;

    #[test]
    fn strangers_cannot_drive_the_terminal() {
        let line = TextLine::plain("a\x1b[2Jb\r\n\tc\u{202e}").with("\x07\u{9b}m", Ink::Bad);
        assert_eq!(line.painted(Theme::Plain), "a\\u{1b}[2Jb\\r\\n    c\\u{202e}\\u{7}\\u{9b}m");
        let painted = line.painted(Theme::Dark);
        assert_eq!(painted.matches('\x1b').count(), 2, "only our own: {painted:?}");
    }

    #[test]
    fn columns_are_those_of_a_terminal() {
        let cases = [("abc", 3), ("日本", 4), ("e\u{301}", 1), ("👩‍💻", 2), ("", 0)];
        assert_eq!(cases.map(|(text, _)| columns(text)), cases.map(|(_, want)| want));
    }

    #[test]
    fn a_line_is_cut_between_clusters() {
        let line = TextLine::plain("ab日").with("cde\u{301}f", Ink::Good);
        let cases =
            [(9, "ab日cde\u{301}f"), (8, "ab日cde\u{301}f"), (7, "ab日cd…"), (4, "ab…"), (1, "…"), (0, "")];
        for (width, want) in cases {
            assert_eq!(line.cut(width).text(), want, "{width}");
            assert!(line.cut(width).columns() <= width);
        }
    }

    #[test]
    fn a_cursor_is_a_reversed_character() {
        let line = TextLine::plain("a日").with("e\u{301}", Look::PLAIN.reverse());
        let cases = [
            (0, "\x1b[7ma\x1b[0m日\x1b[7me\u{301}\x1b[0m"),
            (1, "a\x1b[7m日e\u{301}\x1b[0m"),
            (2, "a\x1b[7m日e\u{301}\x1b[0m"),
            (3, "a日e\u{301}"),
            (4, "a日\x1b[7me\u{301} \x1b[0m"),
            (6, "a日\x1b[7me\u{301}\x1b[0m  \x1b[7m \x1b[0m"),
        ];
        assert_eq!(
            cases.map(|(column, _)| line.with_cursor(column).painted(Theme::Dark)),
            cases.map(|(_, want)| want)
        );
    }

    #[test]
    fn the_first_cell_has_a_character_or_a_space() {
        let cases = [("", " "), ("ab", "a"), ("日本", "日"), ("e\u{301}x", "e\u{301}")];
        for (text, want) in cases {
            assert_eq!(TextLine::of(text, Ink::Good).first_cell().text(), want, "{text:?}");
        }
    }

    #[test]
    fn rows_break_at_spaces_and_keep_their_looks() {
        let line = TextLine::plain("one two ").with("three", Ink::Bad);
        let texts =
            |width, indent| line.wrapped(width, indent).iter().map(TextLine::text).collect::<Vec<_>>();
        assert_eq!(texts(20, 2), ["one two three"]);
        assert_eq!(texts(8, 2), ["one two ", "  three"]);
        assert_eq!(texts(4, 2), ["one ", "  tw", "  o ", "  th", "  re", "  e"]);
        assert_eq!(texts(1, 9).concat().replace(' ', ""), "onetwothree");
        assert_eq!(line.wrapped(8, 0)[1].spans()[0].look, Look::of(Ink::Bad));
        assert_eq!(TextLine::default().wrapped(5, 0).len(), 1);
        let marked = TextLine::plain("see ").with("here", Ink::Link).with(", (x|y).", Look::PLAIN);
        let texts = marked.wrapped(8, 0).iter().map(TextLine::text).collect::<Vec<_>>();
        assert_eq!(texts, ["see ", "here, ", "(x|y)."], "only spaces part words");
        let wide = TextLine::plain("a日本語の文章b").wrapped(5, 0);
        assert_eq!(wide.iter().map(TextLine::text).collect::<Vec<_>>(), ["a日本", "語の", "文章b"]);
        assert_eq!(TextLine::plain("a ").with("  ", Ink::Bad).trimmed_end(), TextLine::plain("a"));
    }
}
