//! Reads what an agent's prose claims: files changed, tests passed, commands run, commits made, sub-agents used.
//! Only what is stated as done, by the agent and now, is a claim; everything else is left alone, because a false warning
//! is worse than none beside the measured facts.

mod commands;
mod doubt;
mod files;
mod others;
mod phrases;
mod tests;
mod tokens;
mod words;

pub(crate) use commands::{ClaimedWork, Commands};
pub(crate) use files::{Changed, ClaimedChanges, FileDeed};
pub(crate) use others::Others;
pub(crate) use tests::Tests;
pub(crate) use tokens::{Token, TokenKind, is_spaceless, tokens};

/// Everything that a text claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claims {
    pub(crate) changes: ClaimedChanges,
    pub(crate) tests: Tests,
    pub(crate) commands: Commands,
    pub(crate) others: Others,
}

/// Reads a text.
pub(crate) fn claims(text: &str) -> Claims {
    let mut claims = Claims::default();
    for sentence in tokens::sentences(text) {
        files::read(&sentence, &mut claims.changes);
        tests::read(&sentence, &mut claims.tests);
        commands::read(&sentence, &mut claims.commands);
        others::read(&sentence, &mut claims.others);
    }
    claims
}
