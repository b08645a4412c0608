//! The words of errors, all in one place: what happened, and what to do about it. What kind of error it is, is decided
//! elsewhere.

use posse_protocol::ModelErrorKind::{self, *};

use crate::fault::{Fault, Secrets, excerpt};
use crate::{ModelConfig, endpoint, http};

/// Who is spoken of: a server, and how the model behind it is configured.
#[derive(Clone, Copy)]
pub(crate) struct ErrorWords<'a> {
    pub(crate) host: &'a str,
    pub(crate) secrets: &'a Secrets,
    /// None where only the address is known.
    pub(crate) config: Option<&'a ModelConfig>,
}

impl ErrorWords<'_> {
    /// An error that the server reports, with its own words.
    pub(crate) fn answered(&self, kind: ModelErrorKind, status: Option<u16>, said: &str) -> Fault {
        let number = status.map_or_else(String::new, |status| format!(" ({status})"));
        let host = self.host;
        let has_key = self.config.is_none_or(|config| config.api_key.is_some());
        let (what, short) = match kind {
            NotAuthorised if status == Some(403) => (format!("{host} does not allow this"), "not allowed"),
            NotAuthorised if has_key => (format!("{host} refused the key"), "refused the key"),
            NotAuthorised => (format!("{host} wants a key"), "wants a key"),
            OutOfCredit => (format!("the account at {host} is out of credit"), "out of credit"),
            RateLimited => (format!("{host} gets too many requests"), "too many requests"),
            Overloaded => (format!("{host} cannot answer now"), "cannot answer now"),
            ContextTooLong => (format!("the conversation is too long for the model at {host}"), "too long"),
            BadRequest if status == Some(404) => {
                (format!("{host} has no such model or address"), "no such model or address")
            }
            _ => (format!("{host} refused the request"), "refused the request"),
        };
        Fault {
            said: excerpt(said, self.secrets),
            brief: format!("{host}: {short}{number}"),
            ..Fault::new(kind, format!("{what}{number}"), self.advice(kind, status))
        }
    }

    /// The server is there and does not have the model.
    pub(crate) fn unknown_model(&self, model: &str, names: &[String], total: usize) -> (String, String) {
        let shown = names.join(", ");
        let more = total.saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = format!("{} has no model `{model}`; it has {shown}{more}", self.host);
        let advice = match self.config.and_then(|config| config.section.as_ref()) {
            Some(section) => format!("set `model` in {section} to one of these"),
            None => "name one of these with -m".to_owned(),
        };
        (message, advice)
    }

    /// The request did not get as far as an answer.
    pub(crate) fn unsent(&self, error: reqwest::Error) -> Fault {
        let host = self.host;
        let error = error.without_url();
        let cause = plain_cause(&http::describe(&error));
        if error.is_connect() || error.is_timeout() {
            let is_refused = http::is_refused(&error);
            let what = format!("no connection to {host}: {cause}");
            let fault = Fault {
                brief: format!("{host}: {cause}"),
                is_refused,
                ..Fault::new(Unreachable, what, self.unreachable())
            };
            return fault.retryable();
        }
        if error.is_builder() {
            let what = format!("the request to {host} cannot be made: {cause}");
            return Fault::new(BadRequest, what, format!("check the settings of {}", self.place()));
        }
        let what = format!("{host} broke the connection before it answered: {cause}");
        let brief = format!("{host}: {cause}");
        Fault { brief, ..Fault::new(CutOff, what, self.again()) }.retryable()
    }

    pub(crate) fn silent(&self, limit_ms: u64, what: &str) -> Fault {
        let (host, seconds) = (self.host, limit_ms as f64 / 1_000.0);
        let advice = format!("check the server, or raise `idle_timeout` in {}", self.place());
        let message = format!("{host} was silent for {seconds} s before {what}");
        Fault { brief: format!("{host}: no answer for {seconds} s"), ..Fault::new(Stalled, message, advice) }
            .retryable()
    }

    pub(crate) fn redirected(&self, status: u16, to: &str) -> Fault {
        let to = excerpt(to, self.secrets);
        let message = format!("{} redirects to {to} ({status}), which is not followed", self.host);
        Fault::new(BadRequest, message, format!("set `endpoint` in {} to the final address", self.place()))
    }

    /// The answer is not what the protocol says.
    pub(crate) fn malformed(&self, protocol: &str, what: &str) -> Fault {
        let what = excerpt(what, self.secrets);
        let message = format!("{} sent something that is not the {protocol} protocol: {what}", self.host);
        Fault::new(BadReply, message, format!("check `protocol` and `endpoint` of {}", self.place()))
    }

    pub(crate) fn cut(&self) -> Fault {
        let host = self.host;
        let message = format!("{host} ended the stream before the reply was complete");
        let brief = format!("{host}: the reply broke off");
        Fault { brief, ..Fault::new(CutOff, message, self.again()) }.retryable()
    }

    fn advice(&self, kind: ModelErrorKind, status: Option<u16>) -> String {
        let place = self.place();
        match kind {
            NotAuthorised => self.about_the_key(),
            OutOfCredit => match self.config.and_then(|config| config.key_name.as_ref()) {
                Some(name) => format!("add credit to the account of {name}, or use another model (-m NAME)"),
                None => "add credit to the account, or use another model (-m NAME)".to_owned(),
            },
            RateLimited => format!("wait a while, or lower `max_concurrent` in {place}"),
            Overloaded => "try again later, or use another model (-m NAME)".to_owned(),
            ContextTooLong => "give it less text, or use a model with a larger context".to_owned(),
            BadRequest if status == Some(404) => {
                format!("check `endpoint`, `protocol` and `model` of {place}")
            }
            _ => format!("check the settings of {place}"),
        }
    }

    fn about_the_key(&self) -> String {
        let Some(config) = self.config else { return "check the key".to_owned() };
        match (&config.key_name, &config.section) {
            (Some(name), Some(section)) => format!("check {name}, which {section} uses"),
            (Some(name), None) => format!("check {name}"),
            (None, _) if config.api_key.is_some() => "check the key".to_owned(),
            (None, _) => format!(
                "set `api_key_env` in {} to the name of the variable that holds the key",
                self.place()
            ),
        }
    }

    fn unreachable(&self) -> String {
        let place = self.place();
        match self.config {
            Some(config) if !endpoint::is_loopback(&config.base_url) => {
                format!("check the network, and `endpoint` in {place}")
            }
            _ => format!("start the server, or fix `endpoint` in {place}"),
        }
    }

    fn again(&self) -> String {
        "look at the server, then try again: posse resume".to_owned()
    }

    /// Where the model's settings are.
    fn place(&self) -> String {
        let config = self.config;
        let section = config.and_then(|config| config.section.clone());
        section.unwrap_or_else(|| {
            config.map_or("[models.NAME]".to_owned(), |config| format!("`{}`", config.name))
        })
    }
}

/// `Connection refused (os error 111)` as people say it.
fn plain_cause(cause: &str) -> String {
    let cause = cause.split(" (os error").next().unwrap_or(cause);
    let mut chars = cause.chars();
    let first = chars.next().map(|first| first.to_lowercase().to_string());
    // A name in capitals stays one.
    match (first, chars.as_str()) {
        (Some(first), rest) if rest.starts_with(|c: char| c.is_lowercase()) => format!("{first}{rest}"),
        _ => cause.to_owned(),
    }
}
