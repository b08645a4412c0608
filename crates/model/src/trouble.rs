//! Answers that are not replies: what a provider reported, and what that means. The words for it are in `words`.

use posse_protocol::ModelErrorKind;
use serde_json::Value;

use crate::fault::Fault;
use crate::words::ErrorWords;
use crate::{page, retry};

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
    pub(crate) fn fault(&self, words: &ErrorWords<'_>) -> Fault {
        let kind = self.kind();
        let by_status = self.status.is_none_or(retry::is_retryable);
        Fault {
            is_retryable: matches!(kind, ModelErrorKind::RateLimited | ModelErrorKind::Overloaded)
                && by_status,
            overloaded: kind == ModelErrorKind::RateLimited || self.is_overload(),
            names_model: kind == ModelErrorKind::BadRequest && self.is_about_the_model(),
            ..words.answered(kind, self.status, &page::plain(&self.message))
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
        if self.is_about_credit(&code, &message) {
            return ModelErrorKind::OutOfCredit;
        }
        if has(&["authentication", "permission", "invalid_api_key"]) {
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

    /// Waiting does not help there, nor does another key of the same account.
    fn is_about_credit(&self, code: &str, message: &str) -> bool {
        const CODES: [&str; 6] = [
            "insufficient_quota",
            "insufficient_balance",
            "insufficient_credit",
            "billing",
            "out_of_credit",
            "payment_required",
        ];
        const WORDS: [&str; 8] = [
            "insufficient balance",
            "insufficient credit",
            "exceeded your current quota",
            "credit balance is too low",
            "out of credit",
            "not enough credit",
            "requires more credits",
            "no credits",
        ];
        let may_be = matches!(self.status, None | Some(400..=403 | 429));
        self.status == Some(402)
            || CODES.iter().any(|known| code.contains(known))
            || (may_be && WORDS.iter().any(|words| message.contains(words)))
    }

    /// Whether the server may not have the model; its list tells.
    fn is_about_the_model(&self) -> bool {
        let code = self.code.to_ascii_lowercase();
        let message = self.message.to_lowercase();
        const WORDS: [&str; 7] = [
            "not found",
            "does not exist",
            "not a valid model",
            "unknown model",
            "no such model",
            "invalid model",
            "not supported",
        ];
        self.status == Some(404)
            || code.contains("model_not_found")
            || (message.contains("model") && WORDS.iter().any(|words| message.contains(words)))
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
