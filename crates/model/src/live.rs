//! An endpoint as a model uses it: address, headers, secrets. What is fixed before the first request.

use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use secrecy::{ExposeSecret, SecretString};

use crate::fault::{Fault, Secrets};
use crate::governors::{GovernedEndpoint, Governors};
use crate::wire::Wire;
use crate::words::ErrorWords;
use crate::{ModelConfig, Protocol, SetupError, ToolCallMode, Transcript, clouds, endpoint, limits};
use posse_protocol::ModelErrorKind;

/// The version of Anthropic's protocol that is spoken here.
const ANTHROPIC_VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// A model behind an endpoint.
pub(crate) struct LiveModel {
    pub(crate) wire: Wire,
    pub(crate) url: Url,
    /// Host and port, for messages.
    pub(crate) host: String,
    pub(crate) headers: HeaderMap,
    pub(crate) secrets: Secrets,
    pub(crate) endpoint: GovernedEndpoint,
    /// Whether it is a known provider, whose models make calls by the protocol.
    is_cloud: bool,
    connect_ms: u64,
    /// Whether it has ever answered.
    has_answered: AtomicBool,
    governors: Governors,
}

impl LiveModel {
    pub(crate) fn new(config: &ModelConfig, wire: Wire, governors: &Governors) -> Result<Self, SetupError> {
        let base = base(&config.name, &config.base_url)?;
        check(config)?;
        let key = config.api_key.as_ref();
        let mut headers = headers(&config.name, key, config.protocol)?;
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut secrets: Vec<SecretString> = key.cloned().into_iter().collect();
        for (name, value) in &config.headers {
            let wrong = || SetupError::Header { name: config.name.clone(), what: format!("header `{name}`") };
            let header = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
            headers.insert(header, sensitive(value).ok_or_else(wrong)?);
            secrets.push(value.clone().into());
        }
        secrets.extend(endpoint::secrets(&base));
        Ok(Self {
            wire,
            host: endpoint::host(&base),
            headers,
            secrets: Secrets::new(secrets),
            is_cloud: clouds::is_known(&base),
            endpoint: governors.endpoint(&endpoint::key(&base)),
            connect_ms: config.timeouts.connect_ms,
            has_answered: AtomicBool::new(false),
            governors: governors.clone(),
            url: endpoint::join(&base, wire.operation()),
        })
    }

    /// How replies are read: calls written as text count only where nobody has ever made one by the protocol, unless the
    /// person says that calls are text.
    pub(crate) fn reads(&self, configured: ToolCallMode, transcript: &Transcript) -> ToolCallMode {
        let is_native = self.is_cloud || self.endpoint.makes_calls() || transcript.has_native_calls();
        match configured {
            ToolCallMode::Auto if is_native => ToolCallMode::Native,
            mode => mode,
        }
    }

    /// Who is spoken of when something goes wrong.
    pub(crate) fn words<'a>(&'a self, config: &'a ModelConfig) -> ErrorWords<'a> {
        ErrorWords { host: &self.host, secrets: &self.secrets, config: Some(config) }
    }

    /// The server has answered, whatever it said.
    pub(crate) fn answered(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    /// How often a call is tried after this fault.
    pub(crate) fn attempts_max(&self, fault: &Fault, configured: u32) -> u32 {
        let nobody_started_it = fault.is_refused
            && endpoint::url_is_loopback(&self.url)
            && !self.has_answered.load(Ordering::Relaxed);
        if nobody_started_it { configured.min(limits::REFUSED_ATTEMPTS_MAX) } else { configured }
    }

    pub(crate) fn client(&self) -> Result<Client, Fault> {
        self.governors.clients().get(&self.url, self.connect_ms).map_err(|problem| {
            let message = format!("the HTTP client cannot be set up: {problem}");
            Fault::new(
                ModelErrorKind::Unreachable,
                message,
                "look at the certificates of this machine".to_owned(),
            )
        })
    }
}

fn check(config: &ModelConfig) -> Result<(), SetupError> {
    let wrong = |field, wanted| Err(SetupError::Number { name: config.name.clone(), field, wanted });
    if config.max_concurrent == 0 || config.max_concurrent > limits::CONCURRENT_MAX {
        return wrong("max_concurrent", "from 1 to 1024");
    }
    if config.retry.attempts_max == 0 {
        return wrong("attempts_max", "at least 1");
    }
    let timeouts = &config.timeouts;
    if timeouts.connect_ms == 0 || timeouts.first_byte_ms == 0 || timeouts.idle_ms == 0 {
        return wrong("every timeout", "at least 1 ms");
    }
    if config.temperature.is_some_and(|temperature| !temperature.is_finite()) {
        return wrong("temperature", "a finite number");
    }
    Ok(())
}

/// A base address, checked.
pub(crate) fn base(name: &str, base_url: &str) -> Result<Url, SetupError> {
    endpoint::parse(base_url)
        .ok_or_else(|| SetupError::Address { name: name.to_owned(), url: endpoint::shown(base_url) })
}

/// The headers that carry the key, in the protocol's way.
pub(crate) fn headers(
    name: &str,
    key: Option<&SecretString>,
    protocol: Protocol,
) -> Result<HeaderMap, SetupError> {
    let mut headers = HeaderMap::new();
    if protocol == Protocol::Anthropic {
        headers.insert("anthropic-version", ANTHROPIC_VERSION);
    }
    let Some(key) = key.map(ExposeSecret::expose_secret).filter(|key| !key.is_empty()) else {
        return Ok(headers);
    };
    let wrong = || SetupError::Header { name: name.to_owned(), what: "API key".to_owned() };
    if protocol == Protocol::Anthropic {
        headers.insert("x-api-key", sensitive(key).ok_or_else(wrong)?);
    } else {
        headers.insert(AUTHORIZATION, sensitive(&format!("Bearer {key}")).ok_or_else(wrong)?);
    }
    Ok(headers)
}

fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}
