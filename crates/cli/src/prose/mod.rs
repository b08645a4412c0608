//! What a model writes, as a terminal shows it: Markdown becomes looks, and words stay whole at the edge. Pure and incremental: text goes
//! in as it arrives, and comes out word by word, as soon as it is clear how it looks. Nothing that is out is ever drawn again. What lines and
//! marks mean is known to `posse_terminal::markdown`, which the chat is drawn with, too.

mod wrap;

use posse_terminal::markdown::{CodeFence, Inline, LineKind, TableDraft, line_kind};
use posse_terminal::{Ink, Look, TextLine};

use self::wrap::Row;
use crate::limits::{START_BYTES_MAX, TABLE_ROWS_MAX};
use crate::output::Style;

pub(crate) use self::wrap::{hanging, parted};

/// Where a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// It is not clear yet what it is.
    Start,
    /// In words.
    Text,
    /// In a line of code.
    Code,
}

/// A text that is shown as it arrives.
pub(crate) struct Prose {
    style: Style,
    /// Whether it is shown as it is written, for pipes and terminals that can do no more.
    raw: bool,
    at: At,
    /// The beginning of a line, as long as it is not clear what it is.
    start: String,
    /// The block of code that it is in.
    fence: Option<CodeFence>,
    /// The rows of a table that is not complete.
    table: Vec<String>,
    /// How the line looks apart from its marks.
    look: Look,
    inline: Inline,
    row: Row,
    raw_mid_row: bool,
}

impl Prose {
    pub(crate) fn new(style: Style) -> Self {
        Self {
            style,
            raw: false,
            at: At::Start,
            start: String::new(),
            fence: None,
            table: Vec::new(),
            look: Look::PLAIN,
            inline: Inline::default(),
            row: Row::default(),
            raw_mid_row: false,
        }
    }

    /// Shows everything as it is written.
    pub(crate) fn raw() -> Self {
        Self { raw: true, ..Self::new(Style::plain()) }
    }

    /// Whether the cursor stands in the middle of a row.
    pub(crate) fn is_mid_row(&self) -> bool {
        self.row.is_open() || self.raw_mid_row
    }

    /// Whether something else in between would break what is being written.
    pub(crate) fn is_open(&self) -> bool {
        let held = self.row.holds() || self.inline.holds() || !self.start.is_empty();
        self.is_mid_row() || held || !self.table.is_empty()
    }

    /// The next piece of text, in which nothing is left that a terminal acts on; what can be written now. No row is wider
    /// than `width`.
    pub(crate) fn push(&mut self, text: &str, width: usize) -> String {
        if self.raw {
            if let Some(last) = text.chars().next_back() {
                self.raw_mid_row = last != '\n';
            }
            return text.to_string();
        }
        let mut out = String::new();
        text.chars().for_each(|c| self.take(&mut out, c, width));
        out
    }

    /// Ends the text: what was held back, and the end of its row.
    pub(crate) fn finish(&mut self, width: usize) -> String {
        let mut out = String::new();
        if self.at == At::Start && !self.start.is_empty() {
            self.start_ends(&mut out, width);
        }
        self.pause(&mut out, width);
        self.end_table(&mut out, width);
        *self = Self { raw: self.raw, ..Self::new(self.style) };
        out
    }

    /// Leaves the row, in the middle of a line if need be; the line continues in the next one.
    pub(crate) fn pause(&mut self, out: &mut String, width: usize) {
        if self.at == At::Text {
            self.end_words(out, width);
        }
        if self.is_mid_row() {
            self.row.end(out);
            self.raw_mid_row = false;
        }
    }

    fn take(&mut self, out: &mut String, c: char, width: usize) {
        match (self.at, c) {
            (At::Start, '\n') => self.start_ends(out, width),
            (At::Start, _) => {
                self.start.push(c);
                let known = line_kind(&self.start, self.fence, false);
                match known {
                    Some(kind) => self.begin(out, kind, width),
                    None if self.start.len() > START_BYTES_MAX => self.begin(out, LineKind::Text, width),
                    None => {}
                }
            }
            (At::Text, '\n') => {
                self.end_words(out, width);
                self.row.end(out);
                self.at = At::Start;
            }
            (At::Text, _) => self.word(out, c, width),
            (At::Code, '\n') => {
                self.row.end(out);
                self.at = At::Start;
            }
            (At::Code, _) => self.row.put(out, c, width),
        }
    }

    /// A line ended before it was clear what it is: now it is.
    fn start_ends(&mut self, out: &mut String, width: usize) {
        let kind = line_kind(&self.start, self.fence, true).unwrap_or(LineKind::Text);
        self.begin(out, kind, width);
        if self.at != At::Start {
            self.take(out, '\n', width);
        }
    }

    /// It is clear what a line is.
    fn begin(&mut self, out: &mut String, kind: LineKind, width: usize) {
        let start = std::mem::take(&mut self.start);
        if kind != LineKind::TableRow || self.table.len() >= TABLE_ROWS_MAX {
            self.end_table(out, width);
        }
        self.look = Look::PLAIN;
        let coloured = self.style.has_colours();
        match kind {
            LineKind::Blank => self.row.end(out),
            LineKind::TableRow => self.table.push(start),
            LineKind::Rule => {
                let rule = "─".repeat(width.min(posse_terminal::limits::RULE_COLUMNS_MAX));
                out.push_str(&self.style.dim(&format!("{rule}\n")));
            }
            LineKind::FenceBegins(fence) => self.fence = Some(fence),
            LineKind::FenceEnds => self.fence = None,
            LineKind::Code => {
                let lead = self.fence.map_or(0, |fence| fence.lead);
                let (bar, columns) = (format!("{}{}", " ".repeat(lead), self.style.dim("│ ")), lead + 2);
                self.row.begin(out, &bar, (bar.clone(), columns));
                self.at = At::Code;
                let own = start.char_indices().take_while(|(n, c)| *n < lead && *c == ' ').count();
                start[own..].chars().for_each(|c| self.row.put(out, c, width));
            }
            LineKind::Heading { mark } if coloured => {
                self.look = self.look.bold();
                self.text(out, "", ("", 0), &start[mark..], width);
            }
            LineKind::Quote { lead, mark } => {
                let bar = format!("{}{}", " ".repeat(lead), self.style.dim("│ "));
                self.text(out, &bar, (&bar, lead + 2), start.get(mark..).unwrap_or_default(), width);
            }
            LineKind::Item { lead, mark } => {
                let marker = &start[lead..mark];
                let bullet = matches!(marker.trim_end(), "-" | "*" | "+") && coloured;
                let first = format!("{}{}", " ".repeat(lead), if bullet { "• " } else { marker });
                let indent = first.chars().count();
                self.text(out, &first, (&" ".repeat(indent), indent), &start[mark..], width);
            }
            LineKind::Text | LineKind::Heading { .. } => {
                let text = start.trim_start_matches(' ');
                let lead = start.len() - text.len();
                let indent = " ".repeat(lead.min(width / 2));
                self.text(out, &indent, (&indent, indent.len()), text, width);
            }
        }
    }

    /// Begins a line of words: what its first and its other rows begin with, and what there is of it.
    fn text(&mut self, out: &mut String, first: &str, indent: (&str, usize), rest: &str, width: usize) {
        self.row.begin(out, first, (indent.0.to_string(), indent.1));
        self.at = At::Text;
        rest.chars().for_each(|c| self.word(out, c, width));
    }

    fn word(&mut self, out: &mut String, c: char, width: usize) {
        let Self { inline, row, style, look, .. } = self;
        if !style.has_colours() {
            return row.push(out, c, *look, *style, width);
        }
        inline.push(c, *look, &mut |piece, look| {
            piece.chars().for_each(|c| row.push(out, c, look, *style, width));
        });
    }

    fn end_words(&mut self, out: &mut String, width: usize) {
        let Self { inline, row, style, look, .. } = self;
        inline.end(*look, &mut |piece, look| {
            piece.chars().for_each(|c| row.push(out, c, look, *style, width));
        });
        row.end_word(out, *style, width);
    }

    fn end_table(&mut self, out: &mut String, width: usize) {
        if !self.table.is_empty() {
            out.push_str(&table(&std::mem::take(&mut self.table), self.style, width));
        }
    }
}

/// Draws a table; lines that are none as they are.
fn table(lines: &[String], style: Style, width: usize) -> String {
    let [head, rule, rows @ ..] = lines else {
        return lines.iter().map(|line| format!("{line}\n")).collect();
    };
    let Some(mut draft) = TableDraft::begun(head, rule, style.has_colours()) else {
        return lines.iter().map(|line| format!("{line}\n")).collect();
    };
    rows.iter().for_each(|row| draft.push(row));
    let rows = draft.take(width).into_iter().flat_map(|line| line.wrapped(width, 2));
    rows.map(|row| painted_row(style, &row) + "\n").collect()
}

fn painted_row(style: Style, row: &TextLine) -> String {
    row.trimmed_end().spans().iter().map(|span| painted(style, span.look, span.text())).collect()
}

/// A text with its colours.
fn painted(style: Style, look: Look, text: &str) -> String {
    let text = match look.ink {
        Ink::Code | Ink::Link => style.cyan(text),
        Ink::Quiet => style.dim(text),
        _ => text.to_string(),
    };
    let text = if look.strike { style.strike(&text) } else { text };
    let text = if look.italic { style.italic(&text) } else { text };
    if look.bold { style.bold(&text) } else { text }
}

/// A whole text at once.
pub(crate) fn shown(style: Style, text: &str, width: usize) -> String {
    let mut prose = Prose::new(style);
    let mut out = prose.push(text, width);
    out.push_str(&prose.finish(width));
    out
}

#[cfg(test)]
mod tests;
