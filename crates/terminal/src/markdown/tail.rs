//! What is not finished of a text, as it is drawn while it arrives. What it costs has a limit, however long the text is.

use super::{
    CodeLines, LineKind, Markdown, OpenBlock, Paragraph, TextEnd, is_underline, line_kind, quote_prefix,
    quotes, room, table, unquoted, without_lead,
};
use crate::TextLine;
use crate::limits::{TAIL_BYTES, TAIL_ROWS_MAX, TAIL_TABLE_ROWS_MAX};

/// The rows of what is not finished.
pub(super) fn rows(markdown: &Markdown) -> Vec<TextLine> {
    let width = markdown.width;
    let mut rows = match &markdown.block {
        OpenBlock::Code(code) => code_rows(markdown, code),
        OpenBlock::Table { draft, depth } => {
            let (own, rest) = quotes(partial_line(markdown), false);
            let is_row = own == *depth && rest.contains('|');
            let partial = Some(rest).filter(|_| is_row);
            let table = draft.tail(partial, TAIL_TABLE_ROWS_MAX, room(width, *depth));
            let quoted = |line| {
                let mut quoted = quote_prefix(*depth);
                quoted.append(line);
                quoted
            };
            let mut rows = wrapped(table.into_iter().map(quoted).collect(), width);
            if !is_row {
                rows.extend(begun_rows(markdown));
            }
            rows
        }
        OpenBlock::Text(paragraph) => match continued(markdown, paragraph) {
            Partial::Continues(rest) => {
                let mut whole = paragraph.clone();
                if markdown.continued {
                    whole.text.push_str(rest)
                } else {
                    whole.add_line(rest)
                }
                paragraph_rows(whole, TextEnd::Streaming, width)
            }
            Partial::Unclear => paragraph_rows(paragraph.clone(), TextEnd::Streaming, width),
            Partial::Begins => {
                let mut rows = paragraph_rows(paragraph.clone(), TextEnd::Complete, width);
                rows.extend(begun_rows(markdown));
                rows
            }
        },
        OpenBlock::Nothing => begun_rows(markdown),
    };
    if let Some(depth) = markdown.blank.filter(|_| markdown.begun && !rows.is_empty()) {
        rows.insert(0, quote_prefix(depth).trimmed_end());
    }
    rows.split_off(rows.len().saturating_sub(TAIL_ROWS_MAX))
}

/// The line that is not complete.
fn partial_line(markdown: &Markdown) -> &str {
    markdown.line.strip_suffix('\r').unwrap_or(&markdown.line)
}

/// What the line that is not complete does to the paragraph before it.
enum Partial<'a> {
    Continues(&'a str),
    Begins,
    Unclear,
}

fn continued<'a>(markdown: &'a Markdown, paragraph: &Paragraph) -> Partial<'a> {
    let (depth, rest) = quotes(partial_line(markdown), false);
    if markdown.continued {
        return Partial::Continues(partial_line(markdown));
    }
    let head = &paragraph.text[paragraph.last_line..];
    let may_be_rule = head.contains('|') && rest.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
    if rest.trim().is_empty() || is_underline(rest) || may_be_rule {
        return Partial::Unclear;
    }
    match line_kind(rest, None, false) {
        None if !table::is_row(rest) => Partial::Unclear,
        None | Some(LineKind::Text | LineKind::TableRow) if paragraph.continues_at(depth) => {
            Partial::Continues(rest)
        }
        _ => Partial::Begins,
    }
}

/// The line that is not complete, where it begins something.
fn begun_rows(markdown: &Markdown) -> Vec<TextLine> {
    let line = last_bytes(partial_line(markdown));
    let (depth, rest) = quotes(line, false);
    let is_clear = line_kind(rest, None, false).is_some() || table::is_row(rest) || markdown.continued;
    if rest.is_empty() || !is_clear {
        let rows = if depth > 0 { vec![quote_prefix(depth)] } else { Vec::new() };
        return rows;
    }
    let mut begun = Markdown { list: markdown.list, ..Markdown::new(markdown.width) };
    let mut lines = Vec::new();
    begun.take_line(line, &mut lines);
    match begun.block {
        OpenBlock::Text(paragraph) => {
            lines.extend(paragraph_rows(paragraph, TextEnd::Streaming, markdown.width));
        }
        _ => begun.close(&mut lines),
    }
    wrapped(lines, markdown.width)
}

fn paragraph_rows(mut paragraph: Paragraph, end: TextEnd, width: usize) -> Vec<TextLine> {
    let shown = last_bytes(&paragraph.text);
    if shown.len() < paragraph.text.len() {
        paragraph.first = paragraph.other.clone();
        paragraph.text = shown.to_owned();
    }
    wrapped(paragraph.lines(end), width)
}

fn code_rows(markdown: &Markdown, code: &CodeLines) -> Vec<TextLine> {
    let Some(inside) = unquoted(partial_line(markdown), code.depth) else { return Vec::new() };
    let is_clear = markdown.continued || line_kind(inside, Some(code.fence), false).is_some();
    if inside.is_empty() || !is_clear {
        return Vec::new();
    }
    let shown = without_lead(inside, code.lead);
    let mut line = quote_prefix(code.depth);
    line.append(match shown.len() {
        0..=TAIL_BYTES => code.highlighter.clone().line(shown),
        _ => TextLine::plain(last_bytes(shown)),
    });
    wrapped(vec![line], markdown.width)
}

fn wrapped(lines: Vec<TextLine>, width: usize) -> Vec<TextLine> {
    lines.iter().flat_map(|line| line.wrapped(width, 0)).collect()
}

/// The end of a long text. It begins at the same place for a while, so that rows do not change with every character.
fn last_bytes(text: &str) -> &str {
    match text.len() {
        0..=TAIL_BYTES => text,
        len => {
            &text[text
                .floor_char_boundary((len - TAIL_BYTES).div_ceil(TAIL_BYTES) * TAIL_BYTES - TAIL_BYTES)..]
        }
    }
}
