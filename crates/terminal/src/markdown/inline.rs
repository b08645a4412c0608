//! Marks inside a text of Markdown: `**strong**`, `*emphasis*`, `~~struck~~`, code between backquotes and links. Pure.
//! The time it takes grows with the length of the text, whatever the text is.

use crate::limits::{CODE_MARKS_MAX, HELD_CHARS_MAX, MARKS_NESTED_MAX};
use crate::{Ink, Look};

/// Takes the next piece of a text with its look.
pub type TakePiece<'a> = dyn FnMut(&str, Look) + 'a;

/// How a text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextEnd {
    /// It is complete: what is open at its end was only a character.
    Complete,
    /// More of it follows, and what is open is shown as if it were closed at the end.
    Streaming,
    /// More of it follows, and nothing is given out that this could change.
    Undecided,
}

/// Gives out a whole text without its marks.
pub fn pieces(text: &str, look: Look, end: TextEnd, take: &mut TakePiece<'_>) {
    // A mark at the end of a text that arrives may open or close; it is shown as what it does as soon as that is clear.
    let text = match end {
        TextEnd::Streaming => text.trim_end_matches(['*', '_', '~', '`', '\\']),
        TextEnd::Complete | TextEnd::Undecided => text,
    };
    InlineParsing { text, before: None, end, depth: 0, failed: [usize::MAX; SEARCHES] }
        .run(look, false, take);
}

/// A line whose characters arrive one by one: what follows an opening mark is held back until the closing one has
/// come, or until it is clear that none will.
#[derive(Debug, Default)]
pub struct Inline {
    held: String,
    /// The character before it.
    before: Option<char>,
}

impl Inline {
    /// Whether something is held back.
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes the next character; gives out what is decided.
    pub fn push(&mut self, c: char, look: Look, take: &mut TakePiece<'_>) {
        self.held.push(c);
        let full = self.held.chars().count() > HELD_CHARS_MAX;
        let end = if full { TextEnd::Complete } else { TextEnd::Undecided };
        self.settle(end, look, full, take);
    }

    /// The line is over: nothing more can close.
    pub fn end(&mut self, look: Look, take: &mut TakePiece<'_>) {
        self.settle(TextEnd::Complete, look, false, take);
        self.before = None;
    }

    fn settle(&mut self, end: TextEnd, look: Look, first_only: bool, take: &mut TakePiece<'_>) {
        let held = std::mem::take(&mut self.held);
        let mut parsing =
            InlineParsing { text: &held, before: self.before, end, depth: 0, failed: [usize::MAX; SEARCHES] };
        let used = parsing.run(look, first_only, take);
        self.before = held[..used].chars().next_back().or(self.before);
        self.held = held[used..].to_string();
    }
}

/// The kinds of closing marks that are searched for: backquotes by their number, and five others.
const SEARCHES: usize = CODE_MARKS_MAX + 5;

#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkKind {
    Code,
    Emphasis,
    Strong,
    Both,
    Strike,
}

/// What stands at a place of a text.
enum FoundMark<'a> {
    /// It takes more of the text to know.
    Undecided,
    /// So many bytes that are only characters.
    Characters(usize),
    /// A character behind a backslash.
    Escaped(char),
    /// Marked text, how long it is in all, and how it ends.
    Marked { kind: MarkKind, inside: &'a str, bytes: usize, end: TextEnd },
    /// A link, and how long it is in all.
    Link { text: &'a str, target: &'a str, bytes: usize, closed: bool },
}

struct InlineParsing<'a> {
    text: &'a str,
    /// The character before the text.
    before: Option<char>,
    end: TextEnd,
    depth: usize,
    /// From where on no closing mark is, for each kind: it is not searched for again.
    failed: [usize; SEARCHES],
}

impl<'a> InlineParsing<'a> {
    /// Gives out what is decided and returns how many bytes that were. `first_only`: the first open mark gets no closing
    /// one, those behind it still may.
    fn run(&mut self, look: Look, mut first_only: bool, take: &mut TakePiece<'_>) -> usize {
        let (text, mut at, mut plain) = (self.text, 0, 0);
        while let Some(found) = text[at..].find(is_mark) {
            at += found;
            let found = self.found(at);
            match found {
                FoundMark::Undecided => break,
                FoundMark::Characters(bytes) => {
                    at += bytes;
                    if std::mem::take(&mut first_only) {
                        self.end = TextEnd::Undecided;
                        self.failed = [usize::MAX; SEARCHES];
                    }
                    continue;
                }
                _ => give(&text[plain..at], look, take),
            }
            at += self.give(found, look, take);
            plain = at;
        }
        let end = if text[at..].starts_with(is_mark) { at } else { text.len() };
        give(&text[plain..end], look, take);
        end
    }

    /// Gives out one thing; returns how many bytes it takes.
    fn give(&self, found: FoundMark<'a>, look: Look, take: &mut TakePiece<'_>) -> usize {
        match found {
            FoundMark::Undecided | FoundMark::Characters(_) => 0,
            FoundMark::Escaped(c) => {
                take(c.encode_utf8(&mut [0; 4]), look);
                1 + c.len_utf8()
            }
            FoundMark::Marked { kind: MarkKind::Code, inside, bytes, .. } => {
                // One space on both sides is there for backquotes inside.
                let bare = inside.strip_prefix(' ').and_then(|inside| inside.strip_suffix(' '));
                let bare = bare.filter(|bare| !bare.trim().is_empty()).unwrap_or(inside);
                give(bare, Look { ink: Ink::Code, ..look }, take);
                bytes
            }
            FoundMark::Marked { kind, inside, bytes, end } => {
                let look = match kind {
                    MarkKind::Emphasis => look.italic(),
                    MarkKind::Strike => look.strike(),
                    MarkKind::Both => look.bold().italic(),
                    MarkKind::Strong | MarkKind::Code => look.bold(),
                };
                self.nested(inside, end, look, take);
                bytes
            }
            FoundMark::Link { text, target, bytes, closed } => {
                let shown = if text.is_empty() { target } else { text };
                self.nested(shown, TextEnd::Complete, Look { ink: Ink::Link, ..look }, take);
                if shown != target {
                    let end = if closed { ")" } else { "" };
                    take(&format!(" ({target}{end}"), Look { ink: Ink::Quiet, ..look });
                }
                bytes
            }
        }
    }

    fn nested(&self, text: &str, end: TextEnd, look: Look, take: &mut TakePiece<'_>) {
        if self.depth >= MARKS_NESTED_MAX {
            return give(text, look, take);
        }
        let depth = self.depth + 1;
        InlineParsing { text, before: None, end, depth, failed: [usize::MAX; SEARCHES] }
            .run(look, false, take);
    }

    fn found(&mut self, at: usize) -> FoundMark<'a> {
        let rest = &self.text[at..];
        match rest.as_bytes().first() {
            Some(b'\\') => self.escaped(rest),
            Some(b'!') if rest.len() == 1 => self.open(1),
            Some(b'!') if rest.as_bytes()[1] != b'[' => FoundMark::Characters(1),
            Some(b'!') => self.link(rest, 1),
            Some(b'[') => self.link(rest, 0),
            Some(b'<') => self.address(rest),
            _ => self.marked(at, rest),
        }
    }

    /// Something is open at the end of the text.
    fn open(&self, bytes: usize) -> FoundMark<'a> {
        if self.end == TextEnd::Undecided { FoundMark::Undecided } else { FoundMark::Characters(bytes) }
    }

    fn escaped(&self, rest: &str) -> FoundMark<'a> {
        let run = run(rest, '\\');
        match rest[run..].chars().next() {
            None => self.open(run),
            Some(c) if run == 1 && "*_`#|[]<>~!$&".contains(c) => FoundMark::Escaped(c),
            Some(_) => FoundMark::Characters(run),
        }
    }

    /// `[text](target)`, behind an exclamation mark for pictures. No brackets are inside, so that each is read once.
    fn link(&self, rest: &'a str, begin: usize) -> FoundMark<'a> {
        let inside = &rest[begin + 1..];
        let Some(text_end) = inside.find(['[', ']']) else { return self.open(begin + 1) };
        let behind = &inside[text_end + 1..];
        match (inside.as_bytes()[text_end], behind.as_bytes().first()) {
            (b']', None) => return self.open(begin + 1),
            (b']', Some(b'(')) => {}
            _ => return FoundMark::Characters(begin + 1),
        }
        let text = &inside[..text_end];
        let before = begin + 1 + text_end + 2;
        let mut open = 0_usize;
        for (n, c) in behind[1..].char_indices() {
            match c {
                '[' | '\n' => return FoundMark::Characters(begin + 1),
                '(' => open += 1,
                ')' if open == 0 => {
                    let target = &behind[1..][..n];
                    let bytes = before + n + 1;
                    return if is_target(target) {
                        FoundMark::Link { text, target, bytes, closed: true }
                    } else {
                        FoundMark::Characters(begin + 1)
                    };
                }
                ')' => open -= 1,
                _ => {}
            }
        }
        let target = &behind[1..];
        if self.end == TextEnd::Streaming && is_target(target) && !text.is_empty() {
            return FoundMark::Link { text, target, bytes: rest.len(), closed: false };
        }
        self.open(begin + 1)
    }

    /// `<https://…>`
    fn address(&self, rest: &'a str) -> FoundMark<'a> {
        let inside = &rest[1..];
        let begins = ["http://", "https://"].iter().any(|scheme| match self.end {
            TextEnd::Undecided => inside.starts_with(scheme) || scheme.starts_with(inside),
            TextEnd::Complete | TextEnd::Streaming => inside.starts_with(scheme),
        });
        if !begins {
            return FoundMark::Characters(1);
        }
        match inside.find(|c: char| matches!(c, '<' | '>') || c.is_whitespace()) {
            None => self.open(1),
            Some(end) if inside[end..].starts_with('>') => {
                let target = &inside[..end];
                FoundMark::Link { text: "", target, bytes: end + 2, closed: true }
            }
            Some(_) => FoundMark::Characters(1),
        }
    }

    fn marked(&mut self, at: usize, rest: &'a str) -> FoundMark<'a> {
        let Some(mark) = rest.chars().next() else { return FoundMark::Characters(0) };
        let run = run(rest, mark);
        let Some(after) = rest[run..].chars().next() else { return self.open(run) };
        let kind = match (mark, run) {
            ('`', 1..=CODE_MARKS_MAX) => MarkKind::Code,
            ('*' | '_', 1) => MarkKind::Emphasis,
            ('*', 2) => MarkKind::Strong,
            ('*', 3) => MarkKind::Both,
            ('~', 2) => MarkKind::Strike,
            // Two underscores are part of a name far more often.
            _ => return FoundMark::Characters(run),
        };
        let before = self.text[..at].chars().next_back().or(self.before);
        if before == Some(mark) || (kind != MarkKind::Code && !opens(before, after)) {
            return FoundMark::Characters(run);
        }
        match (self.closing(at + run, mark, run), self.end) {
            (Some(end), _) => FoundMark::Marked {
                kind,
                inside: &self.text[at + run..end],
                bytes: end + run - at,
                end: TextEnd::Complete,
            },
            (None, TextEnd::Streaming) => {
                FoundMark::Marked { kind, inside: &rest[run..], bytes: rest.len(), end: TextEnd::Streaming }
            }
            (None, TextEnd::Undecided) => FoundMark::Undecided,
            (None, TextEnd::Complete) => FoundMark::Characters(run),
        }
    }

    /// Where the run begins that closes what is open before `from`.
    fn closing(&mut self, from: usize, mark: char, run_open: usize) -> Option<usize> {
        let search = match mark {
            '`' => run_open - 1,
            '*' => CODE_MARKS_MAX + run_open - 1,
            '_' => CODE_MARKS_MAX + 3,
            _ => CODE_MARKS_MAX + 4,
        };
        if self.failed[search] <= from {
            return None;
        }
        let found = self.search(from, mark, run_open);
        if found.is_none() {
            self.failed[search] = from;
        }
        found
    }

    fn search(&mut self, from: usize, mark: char, run_open: usize) -> Option<usize> {
        let mut at = from;
        while let Some(found) = self.text[at..].find([mark, '`']) {
            let begin = at + found;
            let c = if self.text[begin..].starts_with(mark) { mark } else { '`' };
            let length = run(&self.text[begin..], c);
            at = begin + length;
            let after = self.text[at..].chars().next();
            if after.is_none() && self.end == TextEnd::Undecided {
                return None;
            }
            if c != mark {
                // Marks inside code are none.
                let code = if length <= CODE_MARKS_MAX { self.closing(at, '`', length) } else { None };
                match (code, self.end) {
                    (Some(end), _) => at = end + length,
                    (None, TextEnd::Complete) => {}
                    (None, TextEnd::Streaming | TextEnd::Undecided) => return None,
                }
                continue;
            }
            let before = self.text[..begin].chars().next_back();
            let closes = mark == '`'
                || (before.is_some_and(|c| !c.is_whitespace())
                    && (run_open > 1 || after.is_none_or(|c| !c.is_ascii_alphanumeric())));
            if length == run_open && closes {
                return Some(begin);
            }
        }
        None
    }
}

fn give(text: &str, look: Look, take: &mut TakePiece<'_>) {
    if !text.is_empty() {
        take(text, look);
    }
}

fn is_mark(c: char) -> bool {
    matches!(c, '`' | '*' | '_' | '~' | '\\' | '[' | '!' | '<')
}

/// How often a text has a character at its beginning.
fn run(text: &str, mark: char) -> usize {
    text.chars().take_while(|c| *c == mark).count()
}

/// An address, and a title in quotes behind it at most.
fn is_target(target: &str) -> bool {
    let target = target.trim();
    let title = target.find(char::is_whitespace).map_or("", |at| target[at..].trim_start());
    !target.is_empty() && (title.is_empty() || title.starts_with(['"', '\'']) || target.starts_with('<'))
}

/// Marks in the middle of words, as in globs and names, open nothing.
fn opens(before: Option<char>, after: char) -> bool {
    let free = before.is_none_or(|c| c.is_whitespace() || !c.is_ascii() || "([{\"'-:,;>|*_~".contains(c));
    free && !after.is_whitespace() && after != '.' && after != '/'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces with each change of looks in angle brackets.
    fn noted(run: impl FnOnce(&mut TakePiece<'_>)) -> String {
        let (mut text, mut last) = (String::new(), Look::PLAIN);
        run(&mut |piece, look| {
            if look != last {
                let kinds = [
                    (look.bold, 's'),
                    (look.italic, 'e'),
                    (look.strike, 'x'),
                    (look.ink == Ink::Code, 'c'),
                    (look.ink == Ink::Link, 'l'),
                    (look.ink == Ink::Quiet, 'q'),
                ];
                let kinds = kinds.iter().filter(|(is, _)| *is).map(|(_, kind)| *kind).collect::<String>();
                text.push_str(&format!("<{kinds}>"));
                last = look;
            }
            text.push_str(piece);
        });
        text
    }

    fn by_character(line: &str) -> String {
        let mut inline = Inline::default();
        noted(|take| {
            line.chars().for_each(|c| inline.push(c, Look::PLAIN, take));
            inline.end(Look::PLAIN, take);
        })
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
            ("~~old~~ new ~ 5", "<x>old<> new ~ 5"),
            ("see [the *page*](https://a.b/c_d_(e)).", "see <l>the <el>page<q> (https://a.b/c_d_(e))<>."),
            ("[https://a.b](https://a.b) <https://c.d>", "<l>https://a.b<> <l>https://c.d"),
            (
                "![a](b.png) [x] a[0](1) [n](not an address)",
                "<l>a<q> (b.png)<> [x] a<l>0<q> (1)<> [n](not an address)",
            ),
            ("这是**粗体**文字", "这是<s>粗体<>文字"),
            ("**use `**` here**", "<s>use <sc>**<s> here"),
            ("a < b <T> <br> wow! ![", "a < b <T> <br> wow! !["),
            ("", ""),
        ];
        assert_eq!(cases.len(), 21);
        for (line, expected) in cases {
            assert_eq!(by_character(line), expected, "{line}");
            let whole = noted(|take| pieces(line, Look::PLAIN, TextEnd::Complete, take));
            assert_eq!(whole, expected, "{line}");
        }
        let long = format!("*{}", "word ".repeat(60));
        assert_eq!(by_character(&long), long, "what never closes is let go");
    }

    #[test]
    fn what_is_open_while_it_arrives_looks_as_if_it_were_closed() {
        let cases = [
            ("a **bol", "a <s>bol"),
            ("a **bold*", "a <s>bold"),
            ("a **bold**", "a <s>bold"),
            ("a *", "a "),
            ("a `co", "a <c>co"),
            ("a **b `c", "a <s>b <sc>c"),
            ("[text](http://a", "<l>text<q> (http://a"),
            ("[text", "[text"),
        ];
        assert_eq!(cases.len(), 8);
        for (text, expected) in cases {
            assert_eq!(noted(|take| pieces(text, Look::PLAIN, TextEnd::Streaming, take)), expected, "{text}");
        }
    }

    #[test]
    fn hostile_marks_take_time_that_grows_with_their_number() {
        let hostile = ["*a ", "`a ``b ", "[", "![a](", "**a _b ~~c `", "<http://", "\\", "*_~`"];
        for part in hostile {
            let text = part.repeat(60_000 / part.len());
            let mut bytes = 0;
            for end in [TextEnd::Complete, TextEnd::Streaming] {
                pieces(&text, Look::PLAIN, end, &mut |piece, _| bytes += piece.len());
            }
            assert!(bytes > 0 || part == "\\" || part == "*_~`", "{part}");
        }
    }
}
