//! How a model call fails, as data: the agent decides by the kind, people read the message.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A failed model call, after all retries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelError {
    /// What kind of failure it was.
    pub kind: ModelErrorKind,
    /// What happened, and where, in one line. Never holds a key.
    pub message: String,
    /// What the server said about it, shortened and in one line; empty if nothing. Never holds a key.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// What to do about it; empty if there is nothing to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub advice: String,
    /// Text that had already arrived when the call failed; empty if none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub partial: String,
}

impl ModelError {
    /// An error before any output.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        let (said, advice, partial) = Default::default();
        Self { kind, message: message.into(), said, advice, partial }
    }
}

/// All of it in one line.
impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_sentences(f, &self.message, &self.said, &self.advice)
    }
}

/// What happened, what was said and what to do, as sentences. One that stands alone is left as it is.
pub(crate) fn write_sentences(
    f: &mut fmt::Formatter<'_>,
    message: &str,
    said: &str,
    advice: &str,
) -> fmt::Result {
    f.write_str(message)?;
    if said.is_empty() && advice.is_empty() {
        return Ok(());
    }
    f.write_str(if message.ends_with('.') { "" } else { "." })?;
    if !said.is_empty() {
        write!(f, " It said: {said}{}", if said.ends_with(['.', '!', '?', '…']) { "" } else { "." })?;
    }
    let mut chars = advice.chars();
    match chars.next() {
        Some(first) => write!(f, " {}{}.", first.to_uppercase(), chars.as_str().trim_end_matches('.')),
        None => Ok(()),
    }
}

impl std::error::Error for ModelError {}

/// The kinds of failure that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// The conversation does not fit the model's context.
    ContextTooLong,
    /// The key is missing, wrong or not allowed to do this.
    NotAuthorised,
    /// The account has no credit or quota left.
    OutOfCredit,
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
    /// The server is there and does not have this model.
    UnknownModel,
    /// A replayed request is not the one that was recorded.
    NotRecorded,
}
