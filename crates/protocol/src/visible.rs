//! Text as people are shown it: nothing is left out, and what controls a terminal, changes the order of others or cannot
//! be seen is written as an escape. One style everywhere: `\n`, `\r`, `\t`, `\u{202e}`, and `\xff` for bytes that are no text.

use std::fmt::Write as _;

use crate::limits::MARKS_MAX;

const EMOJI_STYLE: char = '\u{fe0f}';

/// A text of several lines: line ends and tabs stay.
pub fn text(text: &str) -> String {
    Visible::default().text(text)
}

/// A text in one line: line ends and tabs are written as escapes, so that a name cannot pass for two.
pub fn line(text: &str) -> String {
    let mut visible = Visible::default();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.extend(c.escape_default()),
            _ => visible.push_escaped(&mut out, c),
        }
    }
    out
}

/// A text in one line, as [`line`] writes it, cut to a number of columns.
pub fn one_line(text: &str, columns_max: usize) -> String {
    // Every character counts for a column at least: more of them are not needed.
    let end = text.char_indices().nth(columns_max.saturating_add(1));
    let line = line(&text[..end.map_or(text.len(), |(end, _)| end)]);
    if columns(&line) <= columns_max {
        return line;
    }
    let mut room = columns_max.saturating_sub(1);
    let fits = |c: &char| {
        let left = room.checked_sub(char_columns(*c));
        room = left.unwrap_or(0);
        left.is_some()
    };
    let kept = line.chars().take_while(fits).collect::<String>();
    format!("{}…", kept.trim_end_matches(' '))
}

/// A text of several lines in one, cut to a number of columns: line ends and tabs become spaces.
pub fn joined_lines(text: &str, columns_max: usize) -> String {
    let text = text.trim();
    // As above: more characters are not needed.
    let end = text.char_indices().nth(columns_max.saturating_add(1));
    let text = &text[..end.map_or(text.len(), |(end, _)| end)];
    one_line(&text.replace(|c| ends_line(c) || c == '\t', " "), columns_max)
}

/// Whether anything may take a character for the end of a line.
pub fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// How many columns of a terminal a line takes.
pub fn columns(line: &str) -> usize {
    line.chars().map(char_columns).sum()
}

/// The scripts and pictures that terminals draw two columns wide.
fn char_columns(c: char) -> usize {
    match c {
        '\u{1100}'..='\u{115F}'
        | '\u{2E80}'..='\u{A4CF}'
        | '\u{AC00}'..='\u{D7A3}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FE30}'..='\u{FE6F}'
        | '\u{FF00}'..='\u{FF60}'
        | '\u{FFE0}'..='\u{FFE6}'
        | '\u{1F300}'..='\u{1FAFF}'
        | '\u{20000}'..='\u{3FFFD}' => 2,
        _ => 1,
    }
}

/// The name of a file in one line, whatever its bytes.
pub fn name(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(&line(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Serialised JSON of the same value in which nothing is left that a terminal acts on or a person does not see.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || !hides(c) {
            out.push(c);
            continue;
        }
        // What hides is inside a string: JSON has no use for it elsewhere.
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// The first control character that is neither a line end nor a tab.
pub fn control(text: &str) -> Option<char> {
    text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// A stranger's text without the power of anything in it that looks like the tag of the wrapper around it.
pub fn unforged(text: &str, tag: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let word: String = rest.chars().filter(|c| !c.is_whitespace() && *c != '/').take(tag.len()).collect();
        out.push_str(if word.eq_ignore_ascii_case(tag) { "&lt;" } else { "<" });
    }
    out.push_str(rest);
    out
}

/// Whether a character controls, reorders, or cannot be told from a space or from nothing.
pub fn hides(c: char) -> bool {
    match c {
        ' '..='~' => false,
        '\0'..='\u{9f}' => true,
        _ => is_blank(c) || !has_shape(c),
    }
}

/// A text that is shown piece by piece: for a few characters it matters what stands before them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visible {
    before: Option<char>,
    marks: usize,
}

impl Visible {
    /// The next piece of a text of several lines.
    pub fn text(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            self.push(&mut out, c);
        }
        out
    }

    /// The next character of a text of several lines.
    pub fn push(&mut self, out: &mut String, c: char) {
        if matches!(c, '\n' | '\t') {
            out.push(c);
            *self = Self::default();
        } else {
            self.push_escaped(out, c);
        }
    }

    fn push_escaped(&mut self, out: &mut String, c: char) {
        let is_mark = is_mark(c);
        self.marks = if is_mark { self.marks + 1 } else { 0 };
        let shown = match c {
            EMOJI_STYLE => self.before.is_some_and(is_symbol),
            _ if is_mark => self.before.is_some_and(|c| c != ' ') && self.marks <= MARKS_MAX && !hides(c),
            _ => !hides(c),
        };
        if shown {
            out.push(c);
        } else if c == '\r' {
            out.push_str("\\r");
        } else {
            out.extend(c.escape_unicode());
        }
        // What follows an escape follows nothing that it could change.
        self.before = shown.then_some(c);
    }
}

/// Letters, marks and symbols that are drawn as nothing.
fn is_blank(c: char) -> bool {
    matches!(c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2800}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffc}' | '\u{16fe4}'
        | '\u{1d159}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether Unicode gives it a shape: not to controls, formats, spaces, private use and what is not assigned. Behind a
/// letter the standard library writes exactly those as escapes.
fn has_shape(c: char) -> bool {
    let mut bytes = [b'a', 0, 0, 0, 0];
    let length = 1 + c.encode_utf8(&mut bytes[1..]).len();
    str::from_utf8(&bytes[..length]).is_ok_and(|text| text.escape_debug().nth(2).is_none())
}

/// Whether it is drawn upon what stands before it. By itself the standard library escapes that too.
pub fn is_mark(c: char) -> bool {
    !c.is_ascii() && c.escape_debug().nth(1).is_some() && has_shape(c)
}

/// Symbols of which there are two pictures, of which [`EMOJI_STYLE`] chooses one.
fn is_symbol(c: char) -> bool {
    matches!(c, '©' | '®' | '\u{203c}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every character of these kinds, by the names of Unicode.
    fn hidden() -> Vec<char> {
        let ranges = [
            (0x00, 0x08),
            (0x0b, 0x1f),
            (0x7f, 0x9f),
            (0xa0, 0xa0),
            (0xad, 0xad),
            (0x34f, 0x34f),
            (0x61c, 0x61c),
            (0x115f, 0x1160),
            (0x1680, 0x1680),
            (0x17b4, 0x17b5),
            (0x180b, 0x180f),
            (0x2000, 0x200f),
            (0x2028, 0x202f),
            (0x205f, 0x206f),
            (0x2800, 0x2800),
            (0x3000, 0x3000),
            (0x3164, 0x3164),
            (0xe000, 0xe010),
            (0xfe00, 0xfe0f),
            (0xfeff, 0xfeff),
            (0xffa0, 0xffa0),
            (0xfff9, 0xfffc),
            (0xfffe, 0xffff),
            (0x1bca0, 0x1bca3),
            (0x1d173, 0x1d17a),
            (0xe0000, 0xe007f),
            (0xe0100, 0xe01ef),
            (0xf0000, 0xf0010),
            (0x10fffd, 0x10ffff),
        ];
        ranges.iter().flat_map(|(from, to)| *from..=*to).filter_map(char::from_u32).collect()
    }

    #[test]
    fn what_hides_is_written_out_and_nothing_is_dropped() {
        let hidden = hidden();
        assert_eq!(hidden.len(), 562);
        for c in hidden {
            let escape = if c == '\r' { "\\r".to_owned() } else { c.escape_unicode().to_string() };
            let within = format!("a{c}b{c}");
            let want = format!("a{escape}b{escape}");
            assert!(hides(c), "{c:?}");
            assert_eq!(text(&within), want, "{c:?}");
            assert_eq!(line(&within), want, "{c:?}");
            assert_eq!(text(&c.to_string()), escape, "{c:?}");
            let value = serde_json::to_string(&within).unwrap();
            let safe = json(&value);
            assert!(!safe.chars().any(hides), "{c:?}: {safe}");
            assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), within, "{c:?}");
        }
    }

    #[test]
    fn texts_stay_as_they_are() {
        let texts = [
            "plain\n\ttext",
            "a\\u{1b}b C:\\n",
            "Grüße, décomposé e\u{301}, Tiếng Việt",
            "日本語 한국어 עברית العربية हिन्दी ไทย",
            "✓ ⚠\u{fe0f} 😀 “quoted” — … ≥ 5 €",
        ];
        for one in texts {
            assert_eq!(text(one), one);
            assert_eq!(
                json(one.replace(['\n', '\t', '\u{fe0f}'], "").as_str()),
                one.replace(['\n', '\t', '\u{fe0f}'], "")
            );
        }
    }

    #[test]
    fn lines_stay_lines_and_marks_stay_with_their_letter() {
        let cases = [
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{301}x", "\\u{301}x"),
            ("x \u{301}", "x \\u{301}"),
            ("\u{202e}\u{301}", "\\u{202e}\\u{301}"),
            ("o\u{301}\u{302}\u{303}\u{304}\u{305}", "o\u{301}\u{302}\u{303}\u{304}\\u{305}"),
            ("a\u{fe0f}", "a\\u{fe0f}"),
            ("⚠\u{fe0f}\u{fe0f}", "⚠\u{fe0f}\\u{fe0f}"),
        ];
        for (given, want) in cases {
            assert_eq!(line(given), want, "{given:?}");
        }
        let mut visible = Visible::default();
        let pieces = ["e", "\u{301}", "\n", "\u{301}"].map(|piece| visible.text(piece));
        assert_eq!(pieces.concat(), "e\u{301}\n\\u{301}");
        assert_eq!(name(b"a\xff\xed\xa0\x80\n\xc3\xa9"), "a\\xff\\xed\\xa0\\x80\\né");
    }

    #[test]
    fn lines_are_cut_by_the_columns_they_take() {
        let cases = [
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("a日本", 3, "a…"),
            ("😀😀", 3, "😀…"),
            ("é", 1, "é"),
            ("abc", 0, "…"),
        ];
        assert_eq!(cases.len(), 7);
        for (text, columns_max, want) in cases {
            assert_eq!(one_line(text, columns_max), want, "{text} in {columns_max}");
        }
    }

    #[test]
    fn several_lines_become_one() {
        let cases = [
            (" a\nb\tc\u{2028}d\n", 20, "a b c d"),
            ("a\r\nb\u{202e}", 20, "a  b\\u{202e}"),
            ("one\ntwo", 6, "one t…"),
            ("\n\n", 6, ""),
        ];
        for (text, columns_max, want) in cases {
            assert_eq!(joined_lines(text, columns_max), want, "{text:?} in {columns_max}");
        }
    }

    #[test]
    fn controls_are_found() {
        let cases =
            [("a\n\tb", None), ("a\rb", Some('\r')), ("\u{9b}", Some('\u{9b}')), ("\u{7f}", Some('\u{7f}'))];
        for (given, want) in cases {
            assert_eq!(control(given), want, "{given:?}");
        }
    }
}
