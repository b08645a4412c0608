//! Markdown as it streams: text goes in as it arrives, and lines come out as soon as nothing that follows can change
//! them. They are never drawn again. What is not finished yet is drawn apart. Pure; what is held back has limits.
//!
//! Finished lines are not broken: a line of the source is one line, and the terminal wraps it.

mod inline;
mod line;
mod table;
mod tail;

pub use self::inline::{Inline, TakePiece, TextEnd, pieces};
pub use self::line::{CodeFence, LineKind, line_kind};
pub use self::table::TableDraft;

use self::line::is_rule;
use crate::limits::{LEAD_MAX, PARAGRAPH_BYTES_MAX, QUOTES_MAX, RULE_COLUMNS_MAX, SOURCE_LINE_BYTES_MAX};
use crate::{Highlighter, Ink, Look, TextLine};

/// Before each line of a quote.
const QUOTE: &str = "│ ";
/// Spaces before a line of code that no fence is around, behind those of the list that it is in.
const INDENTED_CODE: usize = 4;

/// A text of Markdown that arrives piece by piece.
#[derive(Debug)]
pub struct Markdown {
    width: usize,
    /// The source line that is not complete.
    line: String,
    /// Whether the beginning of that line was too long and is used already.
    continued: bool,
    block: OpenBlock,
    /// A blank line that is due before the next block, and how many quotes it is in.
    blank: Option<usize>,
    /// Whether anything was given out.
    begun: bool,
    /// Where the text of the last item of a list begins; 0 outside of lists.
    list: usize,
}

/// What is not finished.
#[derive(Debug)]
enum OpenBlock {
    Nothing,
    Text(Paragraph),
    Code(CodeLines),
    Table { draft: Box<TableDraft>, depth: usize },
}

/// Words: a paragraph, an item, a heading; each source line of it is a line.
#[derive(Clone, Debug, Default)]
struct Paragraph {
    /// What its first line begins with, and its other lines.
    first: TextLine,
    other: TextLine,
    look: Look,
    is_heading: bool,
    /// In how many quotes it is.
    depth: usize,
    text: String,
    /// Where its last source line begins.
    last_line: usize,
}

/// A block of code.
#[derive(Clone, Debug)]
struct CodeLines {
    fence: CodeFence,
    /// Spaces that its lines have in the source because of where it stands.
    lead: usize,
    depth: usize,
    highlighter: Highlighter,
}

impl Markdown {
    /// A text that is shown in so many columns.
    pub fn new(width: usize) -> Self {
        Self {
            width: width.max(1),
            line: String::new(),
            continued: false,
            block: OpenBlock::Nothing,
            blank: None,
            begun: false,
            list: 0,
        }
    }

    /// The terminal has so many columns now. Lines that are finished stay as they are.
    pub fn set_width(&mut self, width: usize) {
        self.width = width.max(1);
    }

    /// Takes the next piece; returns the lines that it finishes.
    pub fn push(&mut self, text: &str) -> Vec<TextLine> {
        let (mut out, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let room = SOURCE_LINE_BYTES_MAX.saturating_sub(self.line.len());
            let window = &rest[..rest.floor_char_boundary(room)];
            let end = window.find('\n').unwrap_or(window.len());
            self.line.push_str(&rest[..end]);
            rest = &rest[end..];
            if let Some(next) = rest.strip_prefix('\n') {
                self.end_line(&mut out);
                rest = next;
            } else if !rest.is_empty() {
                self.shorten_line(&mut out);
            }
        }
        out
    }

    /// Ends the text; returns the lines that were not finished. What is pushed then is another text.
    pub fn finish(&mut self) -> Vec<TextLine> {
        let mut out = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut out);
        }
        self.close(&mut out);
        *self = Self::new(self.width);
        out
    }

    /// What is not finished, in rows that fit: the last of them if there are many.
    pub fn tail(&self) -> Vec<TextLine> {
        tail::rows(self)
    }

    fn end_line(&mut self, out: &mut Vec<TextLine>) {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix('\r').unwrap_or(&line);
        if std::mem::take(&mut self.continued) {
            self.continue_line(line, out);
        } else {
            self.take_line(line, out);
        }
        if matches!(&self.block, OpenBlock::Text(paragraph) if paragraph.is_heading) {
            self.close(out);
        }
    }

    /// The source line is too long to wait for its end.
    fn shorten_line(&mut self, out: &mut Vec<TextLine>) {
        let space = self.line.rfind(' ').map(|at| at + 1).filter(|at| *at > SOURCE_LINE_BYTES_MAX / 2);
        let rest = self.line.split_off(space.unwrap_or(self.line.len()));
        let part = std::mem::replace(&mut self.line, rest);
        if std::mem::replace(&mut self.continued, true) {
            self.continue_line(&part, out);
        } else {
            self.take_line(&part, out);
        }
    }

    /// More of a line whose beginning is used.
    fn continue_line(&mut self, part: &str, out: &mut Vec<TextLine>) {
        match &mut self.block {
            OpenBlock::Text(paragraph) => paragraph.text.push_str(part),
            OpenBlock::Code(_) => return self.code_line(part, out),
            OpenBlock::Nothing | OpenBlock::Table { .. } => {
                self.close(out);
                self.block = OpenBlock::Text(Paragraph { text: part.to_owned(), ..Paragraph::default() });
            }
        }
        self.shorten_paragraph(out);
    }

    fn take_line(&mut self, line: &str, out: &mut Vec<TextLine>) {
        if let OpenBlock::Code(code) = &self.block {
            if let Some(inside) = unquoted(line, code.depth) {
                if line_kind(inside, Some(code.fence), true) == Some(LineKind::FenceEnds) {
                    self.block = OpenBlock::Nothing;
                } else {
                    let bare = without_lead(inside, code.lead).to_owned();
                    self.code_line(&bare, out);
                }
                return;
            }
            self.close(out);
        }
        let line = spaces_for_tabs(line);
        let (depth, rest) = quotes(&line, true);
        let kind = if is_rule(rest) { Some(LineKind::Rule) } else { line_kind(rest, None, true) };
        let kind = kind.unwrap_or(LineKind::Text);
        if let OpenBlock::Table { draft, depth: own } = &mut self.block {
            if matches!(kind, LineKind::Text | LineKind::TableRow) && *own == depth && rest.contains('|') {
                draft.push(rest);
                if draft.is_full() {
                    let lines = draft.take(room(self.width, depth));
                    self.emit_quoted(lines, depth, out);
                }
                return;
            }
            self.close(out);
        }
        self.block_line(kind, rest, depth, out);
    }

    fn block_line(&mut self, kind: LineKind, rest: &str, depth: usize, out: &mut Vec<TextLine>) {
        match kind {
            LineKind::Blank => {
                self.close(out);
                self.blank = Some(depth);
            }
            LineKind::Rule => {
                self.close(out);
                self.list = 0;
                let rule = "─".repeat(room(self.width, depth).min(RULE_COLUMNS_MAX));
                self.emit_quoted(vec![TextLine::of(&rule, Ink::Quiet)], depth, out);
            }
            LineKind::Heading { mark } => {
                self.close(out);
                self.list = 0;
                let look = Look::of(Ink::Heading).bold();
                let text = heading_text(&rest[mark..]);
                self.begin(Paragraph { look, is_heading: true, ..Paragraph::new(depth, 0, text) }, out);
            }
            LineKind::Item { lead, mark } => self.item(rest, lead, mark, depth, out),
            LineKind::FenceBegins(fence) => {
                self.close(out);
                self.begin_code(rest, fence, fence.lead, depth, out);
            }
            LineKind::Text
            | LineKind::TableRow
            | LineKind::Quote { .. }
            | LineKind::FenceEnds
            | LineKind::Code => self.text_line(rest, depth, out),
        }
    }

    /// An item of a list begins.
    fn item(&mut self, rest: &str, lead: usize, mark: usize, depth: usize, out: &mut Vec<TextLine>) {
        self.close(out);
        self.list = mark;
        let (marker, text) = (rest[lead..mark].trim_end(), rest[mark..].trim_start());
        let task = ["[ ]", "[x]", "[X]"].iter().zip(["☐ ", "☑ ", "☑ "]).find_map(|(written, shown)| {
            let rest = text.strip_prefix(written)?;
            (rest.is_empty() || rest.starts_with(' ')).then(|| (shown, rest.trim_start()))
        });
        let is_bullet = matches!(marker, "-" | "*" | "+");
        let (shown, text) = match task {
            Some((shown, text)) if is_bullet => (shown.to_owned(), text),
            _ if is_bullet => ("• ".to_owned(), text),
            _ => (format!("{marker} "), text),
        };
        let indent = quote_prefix(depth).with(&" ".repeat(lead), Look::PLAIN);
        let first = indent.with(&shown, Ink::Accent);
        let fence = match line_kind(text, None, true) {
            Some(LineKind::FenceBegins(fence)) => Some(fence),
            _ => None,
        };
        let words = if fence.is_some() { "" } else { text };
        self.begin(Paragraph { first, ..Paragraph::new(depth, mark, words) }, out);
        if let Some(fence) = fence {
            self.close(out);
            self.begin_code(text, fence, mark, depth, out);
        }
    }

    fn begin_code(
        &mut self,
        line: &str,
        fence: CodeFence,
        lead: usize,
        depth: usize,
        out: &mut Vec<TextLine>,
    ) {
        let language = line.trim().trim_start_matches(['`', '~']).trim();
        if !language.is_empty() {
            self.emit_quoted(vec![TextLine::of(language, Ink::Quiet)], depth, out);
        }
        self.block =
            OpenBlock::Code(CodeLines { fence, lead, depth, highlighter: Highlighter::new(language) });
    }

    fn code_line(&mut self, line: &str, out: &mut Vec<TextLine>) {
        let OpenBlock::Code(code) = &mut self.block else { return };
        let (line, depth) = (code.highlighter.line(line), code.depth);
        self.emit_quoted(vec![line], depth, out);
    }

    /// A line of words: more of a paragraph, the rule of a table, or the beginning of something.
    fn text_line(&mut self, rest: &str, depth: usize, out: &mut Vec<TextLine>) {
        match &mut self.block {
            OpenBlock::Text(paragraph) if paragraph.continues_at(depth) => {
                let head = &paragraph.text[paragraph.last_line..];
                if let Some(draft) = TableDraft::begun(head, rest, true) {
                    let depth = paragraph.depth;
                    let before = paragraph.text[..paragraph.last_line].trim_end_matches('\n').len();
                    paragraph.text.truncate(before);
                    if paragraph.is_empty() {
                        self.block = OpenBlock::Nothing;
                    }
                    self.close(out);
                    self.block = OpenBlock::Table { draft: Box::new(draft), depth };
                } else if is_underline(rest) && paragraph.last_line == 0 && paragraph.first.is_empty() {
                    paragraph.look = Look::of(Ink::Heading).bold();
                    self.close(out);
                } else {
                    paragraph.add_line(rest);
                    self.shorten_paragraph(out);
                }
            }
            _ => {
                self.close(out);
                self.first_line(rest, depth, out);
            }
        }
    }

    /// Words that are not part of a paragraph yet.
    fn first_line(&mut self, rest: &str, depth: usize, out: &mut Vec<TextLine>) {
        let text = rest.trim_start_matches(' ');
        let lead = rest.len() - text.len();
        if lead == 0 {
            self.list = 0;
        }
        let mut next = text.chars().skip(1);
        let is_html = text.starts_with('<')
            && next.next().is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!'))
            && !text.starts_with("<http");
        let code = self.list + INDENTED_CODE;
        if lead >= code {
            return self.emit_quoted(vec![TextLine::plain(&rest[code..])], depth, out);
        }
        let indent = if self.list > 0 { lead.min(LEAD_MAX) } else { 0 };
        if is_html {
            let line = TextLine::plain(&" ".repeat(indent)).with(text, Look::PLAIN);
            return self.emit_quoted(vec![line], depth, out);
        }
        self.begin(Paragraph::new(depth, indent, text), out);
    }

    fn begin(&mut self, paragraph: Paragraph, out: &mut Vec<TextLine>) {
        self.block = OpenBlock::Text(paragraph);
        self.shorten_paragraph(out);
    }

    /// Gives out the beginning of a paragraph that is too long to wait for its end.
    fn shorten_paragraph(&mut self, out: &mut Vec<TextLine>) {
        while let OpenBlock::Text(paragraph) = &mut self.block
            && paragraph.text.len() > PARAGRAPH_BYTES_MAX
        {
            let most = paragraph.text.floor_char_boundary(PARAGRAPH_BYTES_MAX);
            let cut = paragraph.text[..most].rfind([' ', '\n']).map_or(most, |at| at + 1);
            let rest = paragraph.text.split_off(cut);
            let lines = paragraph.lines(TextEnd::Complete);
            let depth = paragraph.depth;
            paragraph.text = rest;
            paragraph.first = paragraph.other.clone();
            paragraph.last_line = paragraph.last_line.saturating_sub(cut);
            lines.into_iter().for_each(|line| self.emit(line, depth, out));
        }
    }

    /// Finishes what is open.
    fn close(&mut self, out: &mut Vec<TextLine>) {
        match std::mem::replace(&mut self.block, OpenBlock::Nothing) {
            OpenBlock::Nothing | OpenBlock::Code(_) => {}
            OpenBlock::Text(paragraph) => {
                let lines = paragraph.lines(TextEnd::Complete);
                lines.into_iter().for_each(|line| self.emit(line, paragraph.depth, out));
            }
            OpenBlock::Table { mut draft, depth } => {
                let lines = draft.take(room(self.width, depth));
                self.emit_quoted(lines, depth, out);
            }
        }
    }

    fn emit_quoted(&mut self, lines: Vec<TextLine>, depth: usize, out: &mut Vec<TextLine>) {
        for line in lines {
            let mut quoted = quote_prefix(depth);
            quoted.append(line);
            self.emit(quoted, depth, out);
        }
    }

    fn emit(&mut self, line: TextLine, depth: usize, out: &mut Vec<TextLine>) {
        let blank = self.blank.take().filter(|_| self.begun);
        out.extend(blank.map(|own| quote_prefix(own.min(depth)).trimmed_end()));
        self.begun = true;
        out.push(line);
    }
}

impl Paragraph {
    /// Words in quotes and behind an indent.
    fn new(depth: usize, indent: usize, text: &str) -> Self {
        let prefix = quote_prefix(depth).with(&" ".repeat(indent), Look::PLAIN);
        let text = text.to_owned();
        Self { first: prefix.clone(), other: prefix, depth, text, ..Self::default() }
    }

    /// Whether a line of words in so many quotes is part of it. A line without its quote mark is, too.
    fn continues_at(&self, depth: usize) -> bool {
        !self.is_heading && (self.depth == depth || depth == 0)
    }

    fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.first == self.other
    }

    /// Adds a source line below: models mean the ends of their lines.
    fn add_line(&mut self, line: &str) {
        let kept = self.text.trim_end_matches(' ').len();
        self.text.truncate(kept);
        if self.text.ends_with('\\') {
            self.text.pop();
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.last_line = self.text.len();
        self.text.push_str(line.trim_start_matches(' '));
    }

    fn lines(&self, end: TextEnd) -> Vec<TextLine> {
        let count = self.text.split('\n').count();
        let line = |(n, text): (usize, &str)| {
            let mut line = if n == 0 { self.first.clone() } else { self.other.clone() };
            let end = if n + 1 == count { end } else { TextEnd::Complete };
            pieces(text.trim_end_matches(' '), self.look, end, &mut |piece, look| line.push(piece, look));
            line.trimmed_end()
        };
        self.text.split('\n').enumerate().map(line).collect()
    }
}

/// The columns that are left inside of quotes.
fn room(width: usize, depth: usize) -> usize {
    width.saturating_sub(2 * depth).max(1)
}

fn quote_prefix(depth: usize) -> TextLine {
    TextLine::of(&QUOTE.repeat(depth), Ink::Quiet)
}

/// In how many quotes a line is, and what stands in them.
fn quotes(line: &str, complete: bool) -> (usize, &str) {
    let (mut depth, mut rest) = (0, line);
    while depth < QUOTES_MAX
        && let Some(LineKind::Quote { mark, .. }) = line_kind(rest, None, complete)
    {
        rest = rest.get(mark..).unwrap_or_default();
        depth += 1;
    }
    (depth, rest)
}

/// What stands in so many quotes; none if the line is not in them.
fn unquoted(line: &str, depth: usize) -> Option<&str> {
    let mut rest = line;
    for _ in 0..depth {
        rest = rest.trim_start_matches(' ').strip_prefix('>')?;
        rest = rest.strip_prefix(' ').unwrap_or(rest);
    }
    Some(rest)
}

/// A line without so many spaces at its beginning, as far as it has them.
fn without_lead(line: &str, lead: usize) -> &str {
    let own = line.bytes().take(lead).take_while(|byte| *byte == b' ').count();
    &line[own..]
}

/// Tabs at the beginning of a line are four spaces.
fn spaces_for_tabs(line: &str) -> std::borrow::Cow<'_, str> {
    let text = line.trim_start_matches([' ', '\t']);
    let lead = &line[..line.len() - text.len()];
    if lead.contains('\t') { format!("{}{text}", lead.replace('\t', "    ")).into() } else { line.into() }
}

/// A heading without the marks at its end.
fn heading_text(text: &str) -> &str {
    let text = text.trim();
    let bare = text.trim_end_matches('#');
    if bare.is_empty() || bare.ends_with(' ') { bare.trim_end() } else { text }
}

/// Whether a line makes the one before it a heading.
fn is_underline(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| c == '=')
}
