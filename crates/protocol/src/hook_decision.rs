//! What a hook came to, in one word.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a hook decided, or how it failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookDecision {
    /// It has nothing to say.
    #[default]
    Nothing,
    /// It tells the model something.
    Context,
    /// It changes the call or its result.
    Rewrite,
    /// What it was asked about need not be asked.
    Allow,
    /// A person is to be asked.
    Ask,
    /// What it was asked about must not happen; of an agent that wants to end: it goes on working.
    Deny,
    /// Everything stops.
    Stop,
    /// It could not be run, or what it said could not be read.
    Failed,
}

impl fmt::Display for HookDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::Context => "context",
            Self::Rewrite => "rewrite",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Stop => "stop",
            Self::Failed => "failed",
        })
    }
}
