//! Whether a sentence states something as done: without a question, a condition, a doubt or another person in it.

use super::{
    tokens::{Token, TokenKind},
    words::{self, is},
};

/// Where the clause begins that a token stands in.
pub(crate) fn clause_start(tokens: &[Token<'_>], at: usize) -> usize {
    let breaks = |at: usize| {
        let token = &tokens[at];
        let next = tokens.get(at + 1);
        match token.kind {
            TokenKind::Mark => {
                matches!(token.text, "—" | "–" | "(" | "→" | "：" | ":")
                    || (matches!(token.text, "," | "，")
                        && next.is_some_and(|next| next.kind != TokenKind::Path))
            }
            TokenKind::Word => {
                is("but however aber jedoch sondern pero whereas", &token.lower)
                    || (is("and und so y", &token.lower)
                        && next.is_some_and(|next| next.is_word_in(words::SPEAKERS)))
            }
            TokenKind::Path | TokenKind::Code | TokenKind::Quote => false,
        }
    };
    (0..at).rev().find(|at| breaks(*at)).map_or(0, |at| at + 1)
}

/// Whether something between the beginning of the clause and this token takes the token back.
pub(crate) fn doubted(tokens: &[Token<'_>], at: usize) -> bool {
    tokens[clause_start(tokens, at)..at].iter().any(|token| token.doubts)
}

/// The same in Chinese, for a clause without marks.
pub(crate) fn doubted_chinese(clause: &str) -> bool {
    let mut rest = clause.to_owned();
    for word in words::NO_DOUBTS_CHINESE.split_ascii_whitespace().filter(|word| clause.contains(word)) {
        rest = rest.replace(word, "");
    }
    words::DOUBTS_CHINESE.split_ascii_whitespace().any(|word| rest.contains(word))
}
