//! Text of other agents, line by line. Every way of ending a line is one and the same here.

use posse_protocol::visible::{Visible, ends_line};

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

/// A whole text, `\n` between its lines, in which nothing hides.
pub(crate) fn text(text: &str) -> String {
    let shown = lines(text).map(|line| Visible::default().text(line));
    shown.collect::<Vec<_>>().join("\n")
}

/// The start of a text, cut at a character.
pub(crate) fn head(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// A line within a size, with a mark where it is cut.
pub(crate) fn clip(line: &str, bytes_max: usize) -> String {
    if line.len() <= bytes_max { line.to_owned() } else { format!("{}…", head(line, bytes_max)) }
}
