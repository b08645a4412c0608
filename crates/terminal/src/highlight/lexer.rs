//! Reads one line of code at a time. Every character is read once or twice, whatever the line is.

use super::grammars::{Grammar, SourceShape};
use super::has_word;
use crate::limits::KEYWORD_BYTES_MAX;
use crate::{Ink, Look};

/// What goes on from one line to the next. Numbers of rules count in the tables of the language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LexState {
    #[default]
    Ground,
    Comment {
        rule: usize,
        depth: u32,
    },
    Quoted {
        rule: usize,
        in_tag: bool,
    },
    /// A raw string of Rust, which ends with a quote and so many hashes.
    Raw {
        hashes: usize,
    },
    Tag,
}

/// The looks of a line: where each ends. Also how the next line begins.
pub(super) fn parts(grammar: &Grammar, text: &str, state: LexState) -> (Vec<(usize, Look)>, LexState) {
    let mut lexing = LineLexing { grammar, text, at: 0, state, fresh: true, parts: Vec::new() };
    lexing.run();
    (lexing.parts, lexing.state)
}

struct LineLexing<'a> {
    grammar: &'a Grammar,
    text: &'a str,
    at: usize,
    state: LexState,
    /// Whether nothing but spaces and dashes stands before this place.
    fresh: bool,
    parts: Vec<(usize, Look)>,
}

impl<'a> LineLexing<'a> {
    fn run(&mut self) {
        if self.state == LexState::Ground && self.whole_line() {
            return;
        }
        while self.at < self.text.len() {
            match self.state {
                LexState::Ground => self.ground(),
                LexState::Comment { rule, depth } => self.comment(rule, depth),
                LexState::Quoted { rule, in_tag } => self.quoted(rule, in_tag),
                LexState::Raw { hashes } => self.raw(hashes),
                LexState::Tag => self.tag(),
            }
        }
        if let LexState::Quoted { rule, .. } = self.state
            && !self.grammar.strings[rule].many_lines
        {
            self.state = LexState::Ground;
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn before(&self) -> Option<char> {
        self.text[..self.at].chars().next_back()
    }

    /// The next bytes have a look.
    fn give(&mut self, bytes: usize, look: impl Into<Look>) {
        self.at += bytes;
        self.parts.push((self.at, look.into()));
    }

    /// Lines that look the same from beginning to end.
    fn whole_line(&mut self) -> bool {
        let text = self.text;
        let trimmed = text.trim();
        let look = match self.grammar.shape {
            SourceShape::Changes => match text.as_bytes().first() {
                Some(b'+') if !text.starts_with("+++ ") => Look::of(Ink::Added),
                Some(b'-') if !text.starts_with("--- ") => Look::of(Ink::Removed),
                Some(b'@') => Look::of(Ink::Accent),
                Some(b' ' | b'\\') | None => Look::PLAIN,
                Some(_) => Look::of(Ink::Quiet).bold(),
            },
            SourceShape::Marks if trimmed.starts_with('#') => Look::of(Ink::Heading).bold(),
            SourceShape::Keys if trimmed.starts_with('[') && self.grammar.line_comments.contains(&";") => {
                if !trimmed.ends_with(']') {
                    return false;
                }
                Look::of(Ink::Name).bold()
            }
            _ => return false,
        };
        if !text.is_empty() {
            self.give(text.len(), look);
        }
        true
    }

    fn ground(&mut self) {
        let (rest, grammar) = (self.rest(), self.grammar);
        let comment = grammar.block_comments.iter().position(|(open, ..)| {
            // Those of Ruby begin a line.
            rest.starts_with(open) && (self.at == 0 || !open.starts_with('='))
        });
        if let Some(rule) = comment {
            self.give(grammar.block_comments[rule].0.len(), Ink::Comment);
            self.state = LexState::Comment { rule, depth: 1 };
            return;
        }
        if grammar.line_comments.iter().any(|mark| rest.starts_with(mark) && self.may_comment(mark)) {
            return self.give(rest.len(), Ink::Comment);
        }
        if grammar.shape == SourceShape::Markup {
            return self.markup();
        }
        if grammar.is_rust && self.rust_quote() {
            return;
        }
        if let Some(rule) = grammar.strings.iter().position(|rule| rest.starts_with(rule.open))
            && self.may_quote(grammar.strings[rule].open)
        {
            return self.begin_string(rule, false);
        }
        let Some(c) = rest.chars().next() else { return };
        if c.is_ascii_digit() {
            self.number();
        } else if self.begins_word(c) {
            self.word();
        } else {
            let is_mark = grammar.shape == SourceShape::Marks && self.fresh && "->*+".contains(c);
            self.fresh &= c == ' ' || c == '-';
            self.give(c.len_utf8(), if is_mark { Ink::Accent } else { Ink::Plain });
        }
    }

    /// Marks that are also parts of words begin a comment behind a space only.
    fn may_comment(&self, mark: &str) -> bool {
        !mark.starts_with(['#', ';']) || self.before().is_none_or(char::is_whitespace)
    }

    /// Apostrophes in texts begin no string.
    fn may_quote(&self, open: &str) -> bool {
        open != "'"
            || self.grammar.shape == SourceShape::Code
            || !self.before().is_some_and(char::is_alphanumeric)
    }

    fn begin_string(&mut self, rule: usize, in_tag: bool) {
        self.fresh = false;
        let open = self.grammar.strings[rule].open.len();
        self.state = LexState::Quoted { rule, in_tag };
        let begin = self.at;
        self.give(open, self.string_ink());
        self.quoted(rule, in_tag);
        // A string before a colon is a name.
        let is_key = self.grammar.shape == SourceShape::Keys
            && self.state == LexState::Ground
            && self.rest().trim_start().starts_with(':');
        if is_key {
            while self.parts.last().is_some_and(|(end, _)| *end > begin) {
                self.parts.pop();
            }
            self.parts.push((self.at, Look::of(Ink::Name)));
        }
    }

    fn string_ink(&self) -> Ink {
        if self.grammar.shape == SourceShape::Marks { Ink::Code } else { Ink::Literal }
    }

    fn quoted(&mut self, rule: usize, in_tag: bool) {
        let (rest, rule) = (self.rest(), &self.grammar.strings[rule]);
        let mut chars = rest.char_indices();
        while let Some((at, c)) = chars.next() {
            if rule.escapes && c == '\\' {
                chars.next();
            } else if rest[at..].starts_with(rule.close) {
                self.state = if in_tag { LexState::Tag } else { LexState::Ground };
                return self.give(at + rule.close.len(), self.string_ink());
            }
        }
        if !rest.is_empty() {
            self.give(rest.len(), self.string_ink());
        }
    }

    fn comment(&mut self, rule: usize, mut depth: u32) {
        let (open, close, nests) = self.grammar.block_comments[rule];
        let rest = self.rest();
        let mut at = 0;
        while let Some(c) = rest[at..].chars().next() {
            if rest[at..].starts_with(close) {
                at += close.len();
                depth -= 1;
                if depth == 0 {
                    self.state = LexState::Ground;
                    return self.give(at, Ink::Comment);
                }
            } else if nests && rest[at..].starts_with(open) {
                at += open.len();
                depth = depth.saturating_add(1);
            } else {
                at += c.len_utf8();
            }
        }
        self.state = LexState::Comment { rule, depth };
        self.give(rest.len(), Ink::Comment);
    }

    /// Lifetimes, characters and raw strings.
    fn rust_quote(&mut self) -> bool {
        let rest = self.rest();
        let bare = rest.trim_start_matches(['b', 'c']);
        let prefix = rest.len() - bare.len();
        if prefix <= 1
            && !self.before().is_some_and(|c| self.is_word(c))
            && let Some(raw) = bare.strip_prefix('r')
        {
            let hashes = raw.bytes().take_while(|byte| *byte == b'#').count();
            if raw[hashes..].starts_with('"') {
                self.give(prefix + 1 + hashes + 1, Ink::Literal);
                self.state = LexState::Raw { hashes };
                return true;
            }
        }
        let Some(inside) = rest.strip_prefix('\'') else { return false };
        let mut chars = inside.chars();
        let (first, second) = (chars.next(), chars.next());
        let bytes = match (first, second) {
            (Some('\\'), Some(escaped)) => {
                let body = 1 + escaped.len_utf8();
                let most = inside.floor_char_boundary(body + 10);
                inside[body..most].find('\'').map(|end| 1 + body + end + 1)
            }
            (Some(c), Some('\'')) => Some(1 + c.len_utf8() + 1),
            _ => None,
        };
        match bytes {
            Some(bytes) => self.give(bytes, Ink::Literal),
            None => {
                let name = inside.find(|c| !self.is_word(c)).unwrap_or(inside.len());
                self.give(1 + name, Ink::Name);
            }
        }
        self.fresh = false;
        true
    }

    fn raw(&mut self, hashes: usize) {
        let rest = self.rest();
        let mut at = 0;
        while let Some(found) = rest[at..].find('"') {
            at += found + 1;
            let own = rest[at..].bytes().take(hashes).take_while(|byte| *byte == b'#').count();
            at += own;
            if own == hashes {
                self.state = LexState::Ground;
                return self.give(at, Ink::Literal);
            }
        }
        self.give(rest.len(), Ink::Literal);
    }

    fn number(&mut self) {
        let rest = self.rest();
        let mut chars = rest.char_indices().peekable();
        let mut end = rest.len();
        while let Some((at, c)) = chars.next() {
            let is_point = c == '.' && chars.peek().is_some_and(|(_, next)| next.is_ascii_digit());
            if !(c.is_ascii_alphanumeric() || c == '_' || is_point) {
                end = at;
                break;
            }
        }
        self.fresh = false;
        self.give(end, Ink::Number);
    }

    fn is_word(&self, c: char) -> bool {
        c.is_alphanumeric() || c == '_' || self.grammar.word_extra.contains(c)
    }

    fn begins_word(&self, c: char) -> bool {
        self.is_word(c) && !"-.?:/".contains(c)
    }

    fn word(&mut self) {
        let rest = self.rest();
        let end =
            rest.char_indices().skip(1).find(|(_, c)| !self.is_word(*c)).map_or(rest.len(), |(at, _)| at);
        let ink = self.word_ink(&rest[..end], &rest[end..]);
        self.fresh = false;
        self.give(end, ink);
    }

    fn word_ink(&self, word: &str, after: &str) -> Ink {
        let shape = self.grammar.shape;
        if self.before() == Some('.') && shape == SourceShape::Code && !after.starts_with('(') {
            return Ink::Plain;
        }
        if shape == SourceShape::Keys && self.fresh {
            let next = after.trim_start_matches([' ', ':', '?', '+']);
            if next.starts_with('=') || after.trim_start().starts_with(':') {
                return Ink::Name;
            }
        }
        if self.is_keyword(word) {
            return Ink::Keyword;
        }
        let mut letters = word.chars();
        let is_type = letters.next().is_some_and(char::is_uppercase) && letters.any(char::is_lowercase);
        let is_macro = self.grammar.is_rust
            && after.strip_prefix('!').is_some_and(|after| after.starts_with(['(', '[', '{', ' ']));
        match shape {
            _ if word.starts_with(['$', '@']) => Ink::Name,
            SourceShape::Code if is_type || is_macro || after.starts_with('(') => Ink::Name,
            _ => Ink::Plain,
        }
    }

    fn is_keyword(&self, word: &str) -> bool {
        let words = self.grammar.keywords;
        match self.grammar.shape {
            _ if word.len() > KEYWORD_BYTES_MAX => false,
            SourceShape::Query => has_word(words, &word.to_lowercase()),
            SourceShape::Instructions => self.fresh && has_word(words, &word.to_lowercase()),
            _ => has_word(words, word),
        }
    }

    /// Text between tags, up to the next one.
    fn markup(&mut self) {
        let rest = self.rest();
        if let Some(inside) = rest.strip_prefix('<') {
            let name = inside.trim_start_matches(['/', '!', '?']);
            if name.starts_with(|c: char| c.is_alphabetic()) {
                let mark = rest.len() - name.len();
                let end = name.find(|c| !self.is_word(c)).unwrap_or(name.len());
                self.give(mark, Ink::Quiet);
                self.give(end, Ink::Keyword);
                self.state = LexState::Tag;
                return;
            }
        }
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest[first..].find('<').map_or(rest.len(), |at| first + at);
        self.give(end, Ink::Plain);
    }

    fn tag(&mut self) {
        let rest = self.rest();
        if let Some(rule) = self.grammar.strings.iter().position(|rule| rest.starts_with(rule.open)) {
            return self.begin_string(rule, true);
        }
        let Some(c) = rest.chars().next() else { return };
        match c {
            '>' => {
                self.give(1, Ink::Quiet);
                self.state = LexState::Ground;
            }
            _ if self.is_word(c) => {
                let end = rest.find(|c| !self.is_word(c)).unwrap_or(rest.len());
                self.give(end, Ink::Name);
            }
            _ => self.give(c.len_utf8(), Ink::Quiet),
        }
    }
}
