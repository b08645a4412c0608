//! Reads what an agent's prose claims: files changed, tests passed, commands run, commits made, sub-agents used.
//! Only what is stated as done, by the agent and now, is a claim; everything else is left alone, because a false warning
//! is worse than none beside the measured facts.

mod doubt;
mod tokens;
mod words;

pub(crate) use tokens::{Kind, Token, is_spaceless, tokens};
