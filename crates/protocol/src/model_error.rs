//! How a model call fails, as data: the agent decides by the kind, people read the message.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A failed model call, after all retries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelError {
    /// What kind of failure it was.
    pub kind: ModelErrorKind,
    /// What a person should read: what happened, where, and what to do. Never holds a key.
    pub message: String,
    /// Text that had already arrived when the call failed; empty if none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub partial: String,
}

impl ModelError {
    /// An error before any output.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), partial: String::new() }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ModelError {}

/// The kinds of failure that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// The conversation does not fit the model's context.
    ContextTooLong,
    /// The key is missing, wrong or without credit.
    NotAuthorised,
    /// 429 until the retries ran out.
    RateLimited,
    /// 5xx or 529 until the retries ran out.
    Overloaded,
    /// No connection could be made.
    Unreachable,
    /// Nothing arrived for longer than the idle limit.
    Stalled,
    /// The stream ended before its terminal event.
    CutOff,
    /// The answer was not what the protocol says.
    BadReply,
    /// The provider refused the request as such (4xx).
    BadRequest,
    /// A replayed request is not the one that was recorded.
    NotRecorded,
}
