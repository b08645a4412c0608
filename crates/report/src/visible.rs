//! Text in which nothing hides: characters that control, reorder or cannot be seen are written out. Every way of
//! ending a line is one and the same here.

use std::fmt::Write as _;

/// The lines of a text, by every character that anything may take for the end of a line.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(at) = text.find(ends_line) else {
            rest = None;
            return Some(text);
        };
        let end = if text[at..].starts_with("\r\n") { 2 } else { text[at..].chars().next()?.len_utf8() };
        rest = Some(&text[at + end..]);
        Some(&text[..at])
    })
}

fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Appends one character so that it can be seen. `before` is the character in front of it.
pub(crate) fn push(out: &mut String, c: char, before: Option<char>) {
    if hides(c, before) {
        let _ = write!(out, "{}", c.escape_unicode());
    } else {
        out.push(c);
    }
}

/// One line of at most `chars_max` characters; line ends become spaces.
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let (mut before, mut count) = (None, 0);
    // Escapes make a text longer, never shorter: more characters than this are not needed.
    for c in text.trim().chars().take(chars_max.saturating_add(1)) {
        let mut shown = String::new();
        push(&mut shown, if ends_line(c) || c == '\t' { ' ' } else { c }, before);
        count += shown.chars().count();
        if count > chars_max {
            line.push('…');
            break;
        }
        line.push_str(&shown);
        before = Some(c);
    }
    line
}

/// A whole text, `\n` between its lines.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, line) in lines(text).enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let mut before = None;
        for c in line.chars() {
            push(&mut out, c, before);
            before = Some(c);
        }
    }
    out
}

/// The start of a text, cut at a character.
pub(crate) fn head(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// A line within a size, with a mark where it is cut.
pub(crate) fn clip(line: &str, bytes_max: usize) -> String {
    if line.len() <= bytes_max { line.to_owned() } else { format!("{}…", head(line, bytes_max)) }
}

fn hides(c: char, before: Option<char>) -> bool {
    match c {
        '\t' => false,
        // Part of ordinary emoji, as long as it follows something and is not one of a row.
        '\u{fe0e}' | '\u{fe0f}' => before.is_none_or(|b| b.is_whitespace() || hides(b, None)),
        _ => c.is_control() || is_invisible(c),
    }
}

/// Characters that look like nothing, or change the order or the look of others.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1345f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
