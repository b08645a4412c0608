//! Text made fit to be shown: to people in one harmless line, to models within a size. Pure.

use std::fmt::Write as _;

use crate::limits;

/// One line of at most `chars_max` characters in which nothing controls a terminal or reorders text.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    for character in text.trim().chars() {
        let mut shown = String::new();
        if character == '\n' {
            shown.push_str("\\n");
        } else if character.is_control() || is_invisible(character) {
            let _ = write!(shown, "{}", character.escape_unicode());
        } else {
            shown.push(character);
        }
        let width = shown.chars().count();
        if count + width > chars_max {
            // Room for the mark is made by what was put last.
            while count + 1 > chars_max && line.pop().is_some() {
                count -= 1;
            }
            line.push('…');
            break;
        }
        line.push_str(&shown);
        count += width;
    }
    line
}

/// Characters that change what other characters look like, or look like nothing.
pub(crate) fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The start of a text, cut at a character, and whether anything was cut.
pub(crate) fn start_of(text: &str, bytes_max: usize) -> (&str, bool) {
    if text.len() <= bytes_max {
        return (text, false);
    }
    (&text[..text.floor_char_boundary(bytes_max)], true)
}

/// The text if it is within the limit of any outcome, else its start and a word about the rest.
pub(crate) fn bounded(text: String) -> String {
    match start_of(&text, limits::OUTCOME_BYTES_MAX) {
        (_, false) => text,
        (start, true) => format!("{start}\n({} more bytes left out)", text.len() - start.len()),
    }
}

/// Lines `first..=last` of a text with their numbers, as read_file shows them.
pub(crate) fn numbered(text: &str, first: usize, last: usize) -> String {
    let mut out = String::new();
    let wanted = (last + 1).saturating_sub(first).min(limits::SNIPPET_LINES_MAX);
    for (at, line) in text.lines().enumerate().skip(first.saturating_sub(1)).take(wanted) {
        let (line, cut) = start_of(line, limits::SNIPPET_LINE_BYTES_MAX);
        let _ = writeln!(out, "{}\t{line}{}", at + 1, if cut { "…" } else { "" });
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}
