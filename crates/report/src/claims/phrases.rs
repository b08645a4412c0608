//! Matches short patterns against the words of a sentence: words that may stand for each other are joined by `|`, and
//! `..` is a gap of a few words. Knows no language; the tables are with those that do.

use super::{
    doubt,
    tokens::{Sentence, Token, TokenKind},
    words::is,
};
use crate::limits;

/// Where a pattern was found: its first token, and the one behind its last.
pub(crate) type PhraseSpan = (usize, usize);

/// The first place where a pattern stands without doubt before it or in its gaps.
fn find(tokens: &[Token<'_>], pattern: &str) -> Option<PhraseSpan> {
    let items: Vec<&str> = pattern.split_ascii_whitespace().collect();
    (0..tokens.len()).find_map(|start| {
        let end = matches(tokens, start, &items)?;
        (!doubt::doubted(tokens, start)).then_some((start, end))
    })
}

/// The first of several patterns that is found, in a sentence that holds one of the stems they share.
pub(crate) fn any(sentence: &Sentence<'_>, stems: &[&str], patterns: &[&str]) -> Option<PhraseSpan> {
    // Most sentences are about something else.
    let about = stems.iter().any(|stem| sentence.masked.contains(stem));
    about.then(|| patterns.iter().find_map(|pattern| find(&sentence.tokens, pattern))).flatten()
}

fn matches(tokens: &[Token<'_>], at: usize, items: &[&str]) -> Option<usize> {
    let Some((first, rest)) = items.split_first() else { return Some(at) };
    if *first != ".." {
        let token = tokens.get(at).filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Code))?;
        return one_of(first, &token.lower).then(|| matches(tokens, at + 1, rest)).flatten();
    }
    for gap in 0..=limits::PHRASE_GAP_TOKENS_MAX {
        if let Some(end) = matches(tokens, at + gap, rest) {
            return Some(end);
        }
        let next = tokens.get(at + gap)?;
        if (next.kind == TokenKind::Mark && next.text != ":") || next.doubts {
            return None;
        }
    }
    None
}

fn one_of(item: &str, word: &str) -> bool {
    item.split('|').any(|one| one == word)
}

/// Whether a verb that ended a match has an object behind it, so that something was handed on: "tests pass a string".
pub(crate) fn has_object(tokens: &[Token<'_>], end: usize) -> bool {
    const OBJECTS: &str = "a an the it its them their this that these through data arguments flags to into ein eine einen das un una";
    let verb = end.checked_sub(1).map(|at| tokens[at].lower.as_str()).unwrap_or_default();
    is("pass passes passed passing", verb)
        && tokens.get(end).is_some_and(|next| next.kind == TokenKind::Code || next.is_word_in(OBJECTS))
}

/// Whether what follows takes it back: "tests pass if", "except".
pub(crate) fn taken_back(tokens: &[Token<'_>], end: usize) -> bool {
    const BACK: &str = "if once when unless except until before apart besides only but again? in_ci upstream rate wenn falls sobald außer bis \
                        aber nur excepto salvo pero";
    let near = tokens[end..].iter().take(limits::TAKEN_BACK_TOKENS_MAX);
    near.into_iter().any(|token| token.is_word_in(BACK))
}
