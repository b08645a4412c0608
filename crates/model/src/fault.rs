//! What can go wrong in one attempt, told apart. No sockets here, only their results; the words are in `words`.

use posse_protocol::{ModelError, ModelErrorKind};
use secrecy::{ExposeSecret, SecretString};

use crate::limits;

/// One failed attempt.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: ModelErrorKind,
    /// What happened, in one line.
    pub(crate) message: String,
    /// What the server said.
    pub(crate) said: String,
    /// What to do.
    pub(crate) advice: String,
    /// What happened in as few words as possible, for retries.
    pub(crate) brief: String,
    /// Whether nobody listens at the address.
    pub(crate) is_refused: bool,
    /// Whether the server says that it does not have the model.
    pub(crate) names_model: bool,
    /// Whether the same request may well succeed later.
    pub(crate) is_retryable: bool,
    /// Whether the endpoint has too much to do.
    pub(crate) overloaded: bool,
    pub(crate) retry_after_ms: Option<u64>,
}

impl Fault {
    pub(crate) fn new(kind: ModelErrorKind, message: String, advice: String) -> Self {
        Self {
            kind,
            brief: message.clone(),
            message,
            said: String::new(),
            advice,
            is_refused: false,
            names_model: false,
            is_retryable: false,
            overloaded: false,
            retry_after_ms: None,
        }
    }

    pub(crate) fn retryable(self) -> Self {
        Self { is_retryable: true, ..self }
    }

    pub(crate) fn into_error(self, partial: String) -> ModelError {
        let Self { kind, message, said, advice, .. } = self;
        ModelError { kind, message, said, advice, partial }
    }
}

/// What must never be shown, even where a provider repeats it to us.
#[derive(Default)]
pub(crate) struct Secrets(Vec<SecretString>);

impl Secrets {
    pub(crate) fn new(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        // Shorter ones are words that may stand anywhere, and no secrets.
        const CHARS_MIN: usize = 6;
        Self(secrets.into_iter().filter(|s| s.expose_secret().len() >= CHARS_MIN).collect())
    }

    fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.expose_secret(), "[secret]"))
    }
}

/// A bounded piece of somebody else's text in one line, without our secrets.
pub(crate) fn excerpt(text: &str, secrets: &Secrets) -> String {
    let clean = secrets.redact(text);
    let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    let mut chars = line.chars();
    let short: String = chars.by_ref().take(limits::EXCERPT_CHARS_MAX).collect();
    let more = if chars.next().is_some() { "…" } else { "" };
    format!("{}{more}", short.trim_end())
}
