//! What can go wrong in one attempt, told apart and put into words. No sockets here, only their results.

use posse_protocol::{ModelError, ModelErrorKind};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::{limits, retry};

/// One failed attempt.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: ModelErrorKind,
    /// Whole sentences: what happened, and what to do.
    pub(crate) message: String,
    /// Whether the same request may well succeed later.
    pub(crate) retryable: bool,
    /// Whether the endpoint has too much to do.
    pub(crate) overloaded: bool,
    pub(crate) retry_after_ms: Option<u64>,
}

impl Fault {
    pub(crate) fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retryable: false, overloaded: false, retry_after_ms: None }
    }

    pub(crate) fn retryable(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { retryable: true, ..Self::new(kind, message) }
    }

    pub(crate) fn into_error(self, partial: String) -> ModelError {
        ModelError { kind: self.kind, message: self.message, partial }
    }
}

/// What a decoder finds wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The provider said so.
    Provider(ProviderError),
    /// The stream is not what the protocol says.
    Malformed(String),
}

impl Trouble {
    pub(crate) fn malformed(what: impl Into<String>) -> Self {
        Self::Malformed(what.into())
    }
}

/// An error in a provider's own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderError {
    pub(crate) status: Option<u16>,
    /// Codes and types, space between.
    pub(crate) code: String,
    pub(crate) message: String,
}

impl ProviderError {
    /// Reads the error out of a JSON document in any of the shapes that providers use.
    pub(crate) fn from_json(document: &Value) -> Self {
        let error = match document.get("error") {
            Some(error) if !error.is_null() => error,
            _ => document,
        };
        let mut code = String::new();
        let mut status = None;
        for field in ["code", "type", "status"] {
            match &error[field] {
                Value::String(word) => {
                    code.push_str(word);
                    code.push(' ');
                }
                Value::Number(number) => {
                    let number = number.as_u64().and_then(|n| u16::try_from(n).ok());
                    status = status.or(number.filter(|n| (400..600).contains(n)));
                }
                _ => {}
            }
        }
        let said = [error, &error["message"], &document["message"], &document["detail"], &error["detail"]]
            .into_iter()
            .find_map(Value::as_str);
        let mut message = said.map_or_else(|| error.to_string(), str::to_owned);
        // OpenRouter says "Provider returned error" and puts the provider's own words here.
        if let Some(raw) = error["metadata"]["raw"].as_str() {
            message = format!("{message}: {raw}");
        }
        Self { status, code: code.trim_end().to_owned(), message }
    }

    /// Reads an error answer's body, JSON or not.
    pub(crate) fn from_body(status: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let mut error = match serde_json::from_str::<Value>(&text) {
            Ok(Value::Array(items)) if !items.is_empty() => Self::from_json(&items[0]),
            Ok(document @ Value::Object(_)) => Self::from_json(&document),
            _ => Self { message: text.into_owned(), ..Self::default() },
        };
        error.status = Some(status);
        error
    }

    /// Decides what it means.
    pub(crate) fn fault(&self, host: &str, secrets: &Secrets) -> Fault {
        let kind = self.kind();
        let status = self.status.map_or_else(String::new, |status| format!(" {status}"));
        let excerpt = excerpt(&self.message, secrets);
        let said = if excerpt.is_empty() { String::new() } else { format!(": {excerpt}") };
        let message =
            format!("{host} answered{status} ({}){said}. {}", meaning(kind), advice(kind, self.status));
        let by_status = self.status.is_none_or(retry::is_retryable);
        Fault {
            retryable: matches!(kind, ModelErrorKind::RateLimited | ModelErrorKind::Overloaded) && by_status,
            overloaded: kind == ModelErrorKind::RateLimited || self.is_overload(),
            ..Fault::new(kind, message)
        }
    }

    fn is_overload(&self) -> bool {
        self.status == Some(529) || self.code.contains("overloaded")
    }

    fn kind(&self) -> ModelErrorKind {
        let code = self.code.to_ascii_lowercase();
        let message = self.message.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| code.contains(word));
        if self.is_about_context(&code, &message) {
            return ModelErrorKind::ContextTooLong;
        }
        if has(&[
            "insufficient_quota",
            "insufficient_balance",
            "billing",
            "authentication",
            "permission",
            "invalid_api_key",
        ]) || (self.status == Some(429) && message.contains("insufficient balance"))
        {
            return ModelErrorKind::NotAuthorised;
        }
        match self.status {
            Some(401..=403) => ModelErrorKind::NotAuthorised,
            Some(429) => ModelErrorKind::RateLimited,
            Some(408 | 409 | 425 | 500..) => ModelErrorKind::Overloaded,
            Some(_) => ModelErrorKind::BadRequest,
            None if has(&["rate_limit", "too_many_requests"]) => ModelErrorKind::RateLimited,
            None if has(&["invalid", "not_found", "unsupported"]) => ModelErrorKind::BadRequest,
            None => ModelErrorKind::Overloaded,
        }
    }

    /// Every provider has its own words for "too long".
    fn is_about_context(&self, code: &str, message: &str) -> bool {
        const CODES: [&str; 4] = [
            "context_length_exceeded",
            "exceed_context_size",
            "context_window_exceeded",
            "request_too_large",
        ];
        const WORDS: [&str; 17] = [
            "maximum context length",
            "max context length",
            "maximum model length",
            "prompt is too long",
            "prompt too long",
            "input is too long",
            "exceeds the available context size",
            "context size has been exceeded",
            "exceed context limit",
            "exceeds the context window",
            "context window exceeds",
            "context_length_exceeded",
            "exceeds the model's context",
            "greater than the context length",
            "exceeds the context length",
            "reduce the length of the messages",
            "input token count exceeds",
        ];
        if CODES.iter().any(|known| code.contains(known)) || self.status == Some(413) {
            return true;
        }
        // A rate limit may speak of tokens too, and waiting is what helps there.
        self.status != Some(429) && WORDS.iter().any(|words| message.contains(words))
    }
}

/// A kind in a few words.
pub(crate) fn meaning(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::ContextTooLong => "the conversation is too long for the model",
        ModelErrorKind::NotAuthorised => "not authorised",
        ModelErrorKind::RateLimited => "too many requests",
        ModelErrorKind::Overloaded => "the server cannot answer now",
        ModelErrorKind::BadRequest => "the request was refused",
        _ => "an error",
    }
}

fn advice(kind: ModelErrorKind, status: Option<u16>) -> &'static str {
    match (kind, status) {
        (ModelErrorKind::NotAuthorised, Some(402)) => "Check the account's credit.",
        (ModelErrorKind::NotAuthorised, _) => "Check the API key and the account's credit.",
        (ModelErrorKind::RateLimited, _) => "Wait, or lower max_concurrent for this endpoint.",
        (ModelErrorKind::Overloaded, _) => "Try again later, or use another model.",
        (ModelErrorKind::ContextTooLong, _) => {
            "Shorten the conversation, or use a model with a larger context."
        }
        (ModelErrorKind::BadRequest, Some(404)) => "Check the model's `endpoint`, `protocol` and `model`.",
        _ => "Check the model's settings.",
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
    format!("{}{more}", short.trim_end_matches('.'))
}
