//! Marks inside a line of Markdown: `**strong**`, `*emphasis*` and code between backquotes. Pure and incremental: what
//! follows an opening mark is held back until the closing one has come, or until it is clear that none will.

use super::look::TextLook;
use crate::limits::HELD_CHARS_MAX;

/// The part of a line that is not decided yet.
#[derive(Debug, Default)]
pub(super) struct Inline {
    held: String,
    /// The character before it.
    before: Option<char>,
}

impl Inline {
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes the next character; gives out what is decided.
    pub(super) fn push(&mut self, c: char, look: TextLook, take: &mut dyn FnMut(char, TextLook)) {
        self.held.push(c);
        let full = self.held.chars().count() > HELD_CHARS_MAX;
        self.settle(look, full, take);
    }

    /// The line is over: nothing more can close.
    pub(super) fn end(&mut self, look: TextLook, take: &mut dyn FnMut(char, TextLook)) {
        while !self.held.is_empty() {
            self.settle(look, true, take);
        }
        self.before = None;
    }

    /// Gives out what is decided. `over`: the first mark that is open gets no closing one.
    fn settle(&mut self, look: TextLook, mut over: bool, take: &mut dyn FnMut(char, TextLook)) {
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_str();
        while let Some(c) = rest.chars().next() {
            match found(rest, self.before, over) {
                Found::Undecided => break,
                Found::Character => {
                    over = over && !is_mark(c);
                    take(c, look);
                    self.before = Some(c);
                    rest = &rest[c.len_utf8()..];
                }
                Found::Escaped(escaped) => {
                    take(escaped, look);
                    self.before = Some(escaped);
                    rest = &rest[1 + escaped.len_utf8()..];
                }
                Found::Span { kind, inside, bytes } => {
                    span(kind, inside, look, take);
                    self.before = rest[..bytes].chars().next_back();
                    rest = &rest[bytes..];
                }
            }
        }
        self.held = rest.to_string();
    }
}

fn span(kind: LineKind, inside: &str, look: TextLook, take: &mut dyn FnMut(char, TextLook)) {
    let look = match kind {
        LineKind::Code => look.code(),
        LineKind::Emphasis => look.emphasis(),
        LineKind::Strong => look.strong(),
        LineKind::Both => look.strong().emphasis(),
    };
    if kind == LineKind::Code {
        // One space on both sides is there for backquotes inside.
        let bare = inside.strip_prefix(' ').and_then(|inside| inside.strip_suffix(' '));
        let bare = bare.filter(|bare| !bare.trim().is_empty()).unwrap_or(inside);
        return bare.chars().for_each(|c| take(c, look));
    }
    let mut nested = Inline { held: inside.to_string(), before: None };
    nested.end(look, take);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Code,
    Emphasis,
    Strong,
    Both,
}

/// What stands at the beginning of a text.
enum Found<'a> {
    /// It takes more of the line to know.
    Undecided,
    /// Nothing but a character.
    Character,
    /// A character behind a backslash.
    Escaped(char),
    /// A span with what is inside, and how long it is in all.
    Span { kind: LineKind, inside: &'a str, bytes: usize },
}

fn is_mark(c: char) -> bool {
    matches!(c, '`' | '*' | '_' | '\\')
}

fn found(rest: &str, before: Option<char>, over: bool) -> Found<'_> {
    let undecided = if over { Found::Character } else { Found::Undecided };
    let Some(mark) = rest.chars().next().filter(|c| is_mark(*c)) else { return Found::Character };
    let run = rest.chars().take_while(|c| *c == mark).count();
    let Some(after) = rest[run..].chars().next() else { return undecided };
    if mark == '\\' {
        let escapes = run == 1 && matches!(after, '*' | '_' | '`' | '#' | '|' | '[' | ']' | '<' | '>');
        return if escapes { Found::Escaped(after) } else { Found::Character };
    }
    let kind = match (mark, run) {
        ('`', _) => LineKind::Code,
        (_, 1) => LineKind::Emphasis,
        ('*', 2) => LineKind::Strong,
        ('*', 3) => LineKind::Both,
        // Two underscores are part of a name far more often.
        _ => return Found::Character,
    };
    if before == Some(mark) || (kind != LineKind::Code && !opens(before, after)) {
        return Found::Character;
    }
    match closing(rest, mark, run, over) {
        Some(at) => Found::Span { kind, inside: &rest[run..at], bytes: at + run },
        None => undecided,
    }
}

/// Marks in the middle of words, as in globs and names, open nothing.
fn opens(before: Option<char>, after: char) -> bool {
    let free = before.is_none_or(|c| c.is_whitespace() || "([{\"'—–-:,;".contains(c));
    free && !after.is_whitespace() && after != '.' && after != '/'
}

/// Where the run begins that closes what a run at the beginning opens.
fn closing(rest: &str, mark: char, run: usize, over: bool) -> Option<usize> {
    let mut at = run;
    while let Some(found) = rest[at..].find(mark) {
        let begin = at + found;
        let length = rest[begin..].chars().take_while(|c| *c == mark).count();
        let after = rest[begin + length..].chars().next();
        if after.is_none() && !over {
            return None;
        }
        let before = rest[..begin].chars().next_back();
        let closes = mark == '`'
            || (before.is_some_and(|c| !c.is_whitespace()) && after.is_none_or(|c| !c.is_alphanumeric()));
        if length == run && closes && begin > run {
            return Some(begin);
        }
        at = begin + length;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line with each change of looks in angle brackets.
    fn looks(line: &str) -> String {
        let (mut inline, mut text, mut last) = (Inline::default(), String::new(), TextLook::default());
        let mut take = |c: char, look: TextLook| {
            if look != last {
                let kinds = [(look.strong, 's'), (look.emphasis, 'e'), (look.code, 'c')];
                let kinds = kinds.iter().filter(|(is, _)| *is).map(|(_, kind)| *kind).collect::<String>();
                text.push_str(&format!("<{kinds}>"));
                last = look;
            }
            text.push(c);
        };
        line.chars().for_each(|c| inline.push(c, TextLook::default(), &mut take));
        inline.end(TextLook::default(), &mut take);
        text
    }

    #[test]
    fn marks_become_looks_and_nothing_else_does() {
        let cases = [
            ("plain", "plain"),
            ("has **three parts**:", "has <s>three parts<>:"),
            ("*now* and _then_", "<e>now<> and <e>then"),
            ("***both***.", "<se>both<>."),
            ("**a `b` c**", "<s>a <sc>b<s> c"),
            ("run `cargo test -- *` now", "run <c>cargo test -- *<> now"),
            ("``a`b``", "<c>a`b"),
            ("2 * 3 * 4, src/*.rs and *.py, a_b_c, **/x", "2 * 3 * 4, src/*.rs and *.py, a_b_c, **/x"),
            ("never **closed", "never **closed"),
            ("an odd ` backquote", "an odd ` backquote"),
            ("__init__ is a name", "__init__ is a name"),
            ("\\*not\\* `\\d`", "*not* <c>\\d"),
            ("(**x**)", "(<s>x<>)"),
            ("", ""),
        ];
        assert_eq!(cases.len(), 14);
        for (line, expected) in cases {
            assert_eq!(looks(line), expected, "{line}");
        }
        let long = format!("*{}", "word ".repeat(60));
        assert_eq!(looks(&long), long, "what never closes is let go");
    }
}
