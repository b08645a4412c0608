//! Splits an agent's prose into sentences of words, paths, code and quotes. What is not its own statement is left out:
//! fenced blocks, quoted lines, and what stands under a heading such as "Next steps".

use super::words::{self, is};
use crate::{
    limits,
    paths::{self, TextWord},
};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word,
    /// Looks like a file.
    Path,
    /// Something else in backticks, or an address.
    Code,
    /// Several words in quotation marks.
    Quote,
    /// Punctuation.
    Mark,
}

/// One piece of a sentence.
#[derive(Clone, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind,
    pub(crate) text: &'a str,
    /// In small letters, with a plain apostrophe.
    pub(crate) lower: String,
    /// Whether it takes back what is said around it.
    pub(crate) doubts: bool,
    /// Whether a letter of a script without spaces stands right before it, so that its beginning is a guess.
    pub(crate) glued: bool,
}

impl Token<'_> {
    pub(crate) fn is_word_in(&self, list: &str) -> bool {
        self.kind == TokenKind::Word && is(list, &self.lower)
    }
}

/// The pieces between two ends of sentences.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sentence<'a> {
    pub(crate) tokens: Vec<Token<'a>>,
    /// Whether it ends with a question mark.
    pub(crate) asks: bool,
    /// The sentence as one text, with a sign in place of each path, code and quote, and without spaces.
    pub(crate) masked: String,
    /// Whether it is a question, or depends on something.
    pub(crate) asks_or_depends: bool,
}

/// What stands for a path, code or a quote in the text for languages without spaces.
pub(crate) const PATH: char = '\u{e000}';
pub(crate) const CODE: char = '\u{e001}';
pub(crate) const QUOTE: char = '\u{e002}';

fn masked(tokens: &[Token<'_>]) -> String {
    let mut out = String::new();
    for token in tokens {
        match token.kind {
            TokenKind::Word | TokenKind::Mark => out.push_str(&token.lower),
            TokenKind::Path => out.push(PATH),
            TokenKind::Code => out.push(CODE),
            TokenKind::Quote => out.push(QUOTE),
        }
    }
    out
}

/// The sentences of a text that state something, in order.
pub(crate) fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let text = &text[..text.floor_char_boundary(limits::PROSE_BYTES_MAX)];
    let mut found: Vec<Sentence<'_>> = Vec::new();
    let mut open = Sentence::default();
    let (mut muted, mut after_blank) = (Muted::No, false);
    for (_, line) in paths::lines_outside_fences(text) {
        let bare = line.trim();
        let item = is_item(bare);
        let code = line.starts_with("    ") && !item && open.tokens.is_empty();
        if bare.is_empty() || bare.starts_with('>') || code {
            end(&mut open, &mut found);
            after_blank = true;
            continue;
        }
        if let Some(mutes) = heading(bare) {
            end(&mut open, &mut found);
            muted = mutes;
        } else if muted == Muted::List && after_blank && !item && line == line.trim_start() {
            muted = Muted::No;
        }
        after_blank = false;
        if item || bare.starts_with(['#', '|', '*']) {
            end(&mut open, &mut found);
        }
        if muted != Muted::No {
            continue;
        }
        for token in tokens(bare) {
            let ends = token.kind == TokenKind::Mark && ".!?;。！？；|…".contains(token.text);
            if ends || open.tokens.len() >= limits::SENTENCE_TOKENS_MAX {
                open.asks = "?？".contains(token.text);
                end(&mut open, &mut found);
            } else {
                open.tokens.push(token);
            }
        }
    }
    end(&mut open, &mut found);
    found
}

fn end<'a>(open: &mut Sentence<'a>, found: &mut Vec<Sentence<'a>>) {
    let mut sentence = std::mem::take(open);
    if !sentence.tokens.is_empty() {
        sentence.masked = masked(&sentence.tokens);
        let depends = sentence.tokens.iter().any(|token| token.is_word_in(words::CONDITIONS));
        sentence.asks_or_depends = sentence.asks || depends;
        found.push(sentence);
    }
}

fn is_item(bare: &str) -> bool {
    let number = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = number.len() < bare.len() && number.starts_with(['.', ')', '、']);
    numbered || bare.starts_with(['-', '•', '+', '–', '✅', '✓']) || bare.starts_with("* ")
}

/// How far a heading reaches under which nothing is stated as done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Muted {
    No,
    /// Up to the end of the list or paragraph.
    List,
    /// Up to the next heading.
    Section,
}

/// What a heading, or the line before a list, does to what follows; `None` if the line is neither.
fn heading(bare: &str) -> Option<Muted> {
    let strong = bare.starts_with('#') || (bare.starts_with("**") && bare.ends_with("**"));
    let line = bare.trim_matches(|c: char| matches!(c, '#' | '*' | '_' | ' ' | ':' | '：' | '.' | '-'));
    let (key, rest) = line.split_once([':', '：']).unwrap_or((line, ""));
    let opens = bare.ends_with([':', '：', '*']) && rest.is_empty();
    let keyed = !rest.is_empty() && key.len() < limits::HEADING_KEY_BYTES_MAX;
    if !(strong || opens || keyed) {
        return None;
    }
    let text = key.to_lowercase();
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| !word.is_empty()).collect();
    let short = words.len() <= limits::HEADING_WORDS_MAX;
    let mutes = words.iter().any(|word| is(words::MUTES_ANYWHERE, word) || (short && is(words::MUTES, word)))
        || words::MUTES_CHINESE.split(' ').any(|word| text.contains(word));
    let loud = strong || (keyed && key.chars().all(|c| c.is_uppercase() || c == ' '));
    Some(match (mutes, loud) {
        (false, _) => Muted::No,
        (true, true) => Muted::Section,
        (true, false) => Muted::List,
    })
}

/// The tokens of one line.
pub(crate) fn tokens(line: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = line[at..].chars().next() {
        let rest = &line[at..];
        let width = c.len_utf8();
        at += if c.is_whitespace() {
            width
        } else if c == '`' {
            code(rest, &mut found)
        } else if let Some(close) = closing(c) {
            quote(rest, width, close, &mut found)
        } else if is_mark(c) {
            push(&mut found, TokenKind::Mark, &rest[..width], false);
            width
        } else {
            let end =
                rest.find(|c: char| c.is_whitespace() || c == '`' || is_mark(c) || closing(c).is_some());
            let end = end.unwrap_or(rest.len()).max(width);
            word(&rest[..end], &mut found);
            end
        };
    }
    found
}

/// Marks that end a word wherever they stand.
fn is_mark(c: char) -> bool {
    matches!(c, ',' | ';' | '(' | ')' | '|' | '<' | '>' | '—' | '–' | '…' | '→')
        || matches!(
            c,
            '，' | '。' | '；' | '：' | '！' | '？' | '、' | '（' | '）' | '《' | '》' | '【' | '】'
        )
}

fn closing(open: char) -> Option<&'static [char]> {
    match open {
        '"' => Some(&['"']),
        '“' => Some(&['”', '“']),
        '„' => Some(&['“', '”', '"']),
        '«' => Some(&['»']),
        '「' => Some(&['」']),
        '『' => Some(&['』']),
        _ => None,
    }
}

fn push<'a>(found: &mut Vec<Token<'a>>, kind: TokenKind, text: &'a str, glued: bool) {
    let lower = text.to_lowercase().replace('’', "'");
    let doubts = kind == TokenKind::Word && doubts(&lower);
    found.push(Token { kind, text, lower, doubts, glued });
}

/// What stands in backticks; gives back how far it goes.
fn code<'a>(rest: &'a str, found: &mut Vec<Token<'a>>) -> usize {
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    let Some(len) = rest[ticks..].find(&rest[..ticks]) else { return ticks };
    let inner = rest[ticks..ticks + len].trim();
    match file(inner, true) {
        Some(path) => push(found, TokenKind::Path, path, false),
        None if !inner.is_empty() => push(found, TokenKind::Code, inner, false),
        None => {}
    }
    ticks + len + ticks
}

fn quote<'a>(rest: &'a str, width: usize, close: &[char], found: &mut Vec<Token<'a>>) -> usize {
    let Some(len) = rest[width..].find(close) else { return width };
    let inner = &rest[width..width + len];
    let after = rest[width + len..].chars().next().map_or(0, char::len_utf8);
    match file(inner.trim_matches('`'), true) {
        Some(path) => push(found, TokenKind::Path, path, false),
        None => push(found, TokenKind::Quote, inner, false),
    }
    width + len + after
}

/// A word with the marks behind it, or a run of scripts without spaces with what stands in it.
fn word<'a>(text: &'a str, found: &mut Vec<Token<'a>>) {
    let mut rest = text;
    let mut glued = false;
    while let Some(first) = rest.chars().next() {
        let spaceless = is_spaceless(first);
        let end = rest.find(|c| is_spaceless(c) != spaceless).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        if spaceless {
            push(found, TokenKind::Word, run, glued);
        } else {
            plain(run, glued, found);
        }
        glued = spaceless;
        rest = after;
    }
}

fn plain<'a>(run: &'a str, glued: bool, found: &mut Vec<Token<'a>>) {
    if matches!(
        run.to_ascii_lowercase().as_str(),
        "e.g." | "i.e." | "z.b." | "d.h." | "vs." | "etc." | "bzw."
    ) {
        return push(found, TokenKind::Word, run, glued);
    }
    let bare = run.trim_start_matches(['*', '~', '!']);
    let bare = bare.trim_end_matches(['.', ':', '!', '?', '*', '~']);
    if let Some(path) = file(bare, false) {
        push(found, TokenKind::Path, path, glued);
    } else if bare.contains("://") {
        push(found, TokenKind::Code, bare, glued);
    } else if bare.chars().any(char::is_alphanumeric) {
        push(found, TokenKind::Word, bare.trim_matches(['*', '_', '~', '\'', '[', ']']), glued);
    }
    let behind = &run[run.len() - (run.len() - run.trim_end_matches(['.', ':', '!', '?', '*', '~']).len())..];
    for (at, mark) in behind.char_indices().filter(|(_, c)| matches!(c, '.' | ':' | '!' | '?')) {
        push(found, TokenKind::Mark, &behind[at..at + mark.len_utf8()], false);
    }
}

/// The file that a word names, without the place in it.
fn file(text: &str, code: bool) -> Option<&str> {
    if text.contains("://") || text.contains(char::is_whitespace) || text.len() > limits::WORD_BYTES_MAX {
        return None;
    }
    let text = text.split_once("](").map_or(text, |(first, _)| first).trim_matches(['[', ']', '\'']);
    let bare = text.split(['#', ':']).next().unwrap_or(text);
    paths::path(TextWord { text: bare, code })
}

/// Letters that are written without spaces between words.
pub(crate) fn is_spaceless(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Whether a word, in small letters, takes back what is said around it.
pub(crate) fn doubts(word: &str) -> bool {
    is(words::DOUBTS, word) || word.ends_with("n't") || word.ends_with("'ll")
}
