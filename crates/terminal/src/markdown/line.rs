//! What a line of Markdown is, as soon as its beginning tells. Pure.

use super::table::is_row;
use crate::limits::{DIGITS_MAX, LEAD_MAX};

/// A block of code that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeFence {
    mark: char,
    length: usize,
    /// Spaces before it, which the lines inside have too.
    pub lead: usize,
}

/// What a line is. `mark` is where its text begins, `lead` how many spaces it begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are explained above")]
pub enum LineKind {
    /// Nothing.
    Blank,
    /// Words.
    Text,
    /// A heading.
    Heading { mark: usize },
    /// An item of a list.
    Item { lead: usize, mark: usize },
    /// A quote.
    Quote { lead: usize, mark: usize },
    /// A line across.
    Rule,
    /// It may be a row of a table.
    TableRow,
    /// A block of code begins.
    FenceBegins(CodeFence),
    /// A block of code ends.
    FenceEnds,
    /// A line in a block of code.
    Code,
}

/// What a line that begins like this is; none if that is not clear yet. `complete`: there is no more of it.
pub fn line_kind(start: &str, fence: Option<CodeFence>, complete: bool) -> Option<LineKind> {
    if let Some(fence) = fence {
        return in_code(start, fence, complete);
    }
    let text = start.trim_start_matches(' ');
    let lead = start.len() - text.len();
    let Some(first) = text.chars().next() else { return complete.then_some(LineKind::Blank) };
    if lead > LEAD_MAX {
        return Some(LineKind::Text);
    }
    match first {
        '#' => heading(start, text, lead, complete),
        '-' | '*' | '+' | '_' => item_or_rule(text, first, lead, complete),
        '0'..='9' => numbered(text, lead, complete),
        '>' => match text.chars().nth(1) {
            None if !complete => None,
            Some(' ') => Some(LineKind::Quote { lead, mark: lead + 2 }),
            _ => Some(LineKind::Quote { lead, mark: lead + 1 }),
        },
        '`' | '~' => fence_begins(text, first, lead, complete),
        '|' if complete && is_row(start) => Some(LineKind::TableRow),
        '|' => None,
        _ => Some(LineKind::Text),
    }
}

fn heading(start: &str, text: &str, lead: usize, complete: bool) -> Option<LineKind> {
    let level = text.chars().take_while(|c| *c == '#').count();
    match text.chars().nth(level) {
        None if !complete && level <= 6 => None,
        Some(' ') if level <= 6 => Some(LineKind::Heading { mark: (lead + level + 1).min(start.len()) }),
        _ => Some(LineKind::Text),
    }
}

fn item_or_rule(text: &str, first: char, lead: usize, complete: bool) -> Option<LineKind> {
    let run = text.chars().take_while(|c| *c == first).count();
    match text.chars().nth(run) {
        None if !complete => None,
        Some(' ') if run == 1 && first != '_' => Some(LineKind::Item { lead, mark: lead + 2 }),
        // Only spaces may follow.
        Some(' ') if run >= 3 && first != '+' && !complete && text[run..].trim().is_empty() => None,
        _ if run >= 3 && first != '+' && complete && text[run..].trim().is_empty() => Some(LineKind::Rule),
        _ => Some(LineKind::Text),
    }
}

fn numbered(text: &str, lead: usize, complete: bool) -> Option<LineKind> {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let mut after = text.chars().skip(digits);
    match (after.next(), after.next()) {
        _ if digits > DIGITS_MAX => Some(LineKind::Text),
        (None, _) | (Some('.' | ')'), None) if !complete => None,
        (Some('.' | ')'), Some(' ')) => Some(LineKind::Item { lead, mark: lead + digits + 2 }),
        _ => Some(LineKind::Text),
    }
}

fn fence_begins(text: &str, mark: char, lead: usize, complete: bool) -> Option<LineKind> {
    let length = text.chars().take_while(|c| *c == mark).count();
    let rest = &text[length..];
    match length {
        // Behind a fence there is the name of a language at most.
        3.. if rest.contains(mark) => Some(LineKind::Text),
        3.. => complete.then_some(LineKind::FenceBegins(CodeFence { mark, length, lead })),
        _ if rest.is_empty() && !complete => None,
        _ => Some(LineKind::Text),
    }
}

/// Whether a complete line is a rule: three marks or more, also with spaces between them.
pub(super) fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|c| *c != ' ');
    let first = marks.next();
    let others = marks.try_fold(1_usize, |count, c| (Some(c) == first).then_some(count + 1));
    matches!(first, Some('-' | '*' | '_')) && others.is_some_and(|count| count >= 3)
}

fn in_code(start: &str, fence: CodeFence, complete: bool) -> Option<LineKind> {
    let text = start.trim_start_matches(' ');
    let length = text.chars().take_while(|c| *c == fence.mark).count();
    let only = text[length..].trim().is_empty();
    match (only, complete) {
        (true, true) if length >= fence.length => Some(LineKind::FenceEnds),
        (true, false) => None,
        _ => Some(LineKind::Code),
    }
}
