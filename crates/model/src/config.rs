//! What a model is, as configured. Plain data: it must not know files, environment or sockets.

use std::fmt;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::clouds;
use crate::endpoint;
use crate::limits;

/// How to talk to an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Chat Completions: nearly everything speaks it.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Anthropic,
    /// A recorded cassette instead of an endpoint.
    Replay,
}

/// How a model makes its tool calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallMode {
    /// By the protocol; a reply that is nothing but calls written as text is read as calls too, where no model has made one by
    /// the protocol yet and the endpoint is no known provider.
    #[default]
    Auto,
    /// By the protocol only.
    Native,
    /// As text only: tools are described in the system prompt.
    Text,
}

/// How much a model is told and offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// A short prompt and few tools in few words: for small models, and where reading a prompt takes long.
    Lean,
    /// Everything there is.
    Full,
}

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeouts {
    /// Making the connection.
    pub connect_ms: u64,
    /// From sending the request to the first event.
    pub first_byte_ms: u64,
    /// Silence in the middle of a stream.
    pub idle_ms: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect_ms: limits::CONNECT_MS,
            first_byte_ms: limits::FIRST_BYTE_MS,
            idle_ms: limits::IDLE_MS,
        }
    }
}

/// How a failed call is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Retry {
    /// How often it is tried in all, the first time included.
    pub attempts_max: u32,
    /// The delay before retry n is random in 0 ..= min(cap, base · 2ⁿ).
    pub base_ms: u64,
    /// See `base_ms`.
    pub cap_ms: u64,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts_max: limits::ATTEMPTS_MAX,
            base_ms: limits::BACKOFF_BASE_MS,
            cap_ms: limits::BACKOFF_CAP_MS,
        }
    }
}

/// One configured model.
#[derive(Clone)]
pub struct ModelConfig {
    /// The name it is configured under.
    pub name: String,
    /// The provider's id of it.
    pub model: String,
    /// How to talk to it.
    pub protocol: Protocol,
    /// Where it is, up to and including the version (`…/v1`).
    pub base_url: String,
    /// The key, if the endpoint wants one.
    pub api_key: Option<SecretString>,
    /// The name of the variable that the key came from, for messages.
    pub key_name: Option<String>,
    /// Where it is described, such as `[models.NAME]`, for messages.
    pub section: Option<String>,
    /// Headers sent with every request. Values are treated as secrets.
    pub headers: Vec<(String, String)>,
    /// Tokens the model can see at once, if known.
    pub context_window: Option<u64>,
    /// How much it is told and offered; by the size of its window where `None`.
    pub profile: Option<Profile>,
    /// Whether it takes images.
    pub images: bool,
    /// Whether it takes PDF documents; by its images and its protocol where `None`.
    pub documents: Option<bool>,
    /// The most tokens of one reply.
    pub max_output_tokens: Option<u32>,
    /// Concurrent requests to this endpoint. Of the models of one endpoint that are used, the smallest counts.
    pub max_concurrent: usize,
    /// How it makes tool calls.
    pub tool_calls: ToolCallMode,
    /// The provider's word for how hard to think; for Anthropic also a number of tokens.
    pub reasoning_effort: Option<String>,
    /// Sampling temperature; the provider's own where `None`.
    pub temperature: Option<f64>,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// How failed calls are tried again.
    pub retry: Retry,
    /// The cassette that `Protocol::Replay` plays.
    pub cassette: Option<PathBuf>,
    /// What is replaced in requests before they are compared with a cassette, and put back into its replies:
    /// (the real text here, the placeholder in the cassette), applied in order.
    pub substitutions: Vec<(String, String)>,
    /// How long a replay waits between two pieces of text.
    pub replay_pace_ms: u64,
}

impl ModelConfig {
    /// A model with defaults for everything that has one.
    pub fn new(
        name: impl Into<String>,
        model: impl Into<String>,
        protocol: Protocol,
        base_url: impl Into<String>,
    ) -> Self {
        let base_url = base_url.into();
        let local = endpoint::is_loopback(&base_url);
        Self {
            name: name.into(),
            model: model.into(),
            protocol,
            api_key: None,
            key_name: None,
            section: None,
            headers: Vec::new(),
            context_window: None,
            profile: None,
            images: false,
            documents: None,
            max_output_tokens: None,
            max_concurrent: if local { limits::CONCURRENT_LOCAL } else { limits::CONCURRENT_REMOTE },
            tool_calls: ToolCallMode::Auto,
            reasoning_effort: None,
            temperature: None,
            timeouts: Timeouts::default(),
            retry: Retry::default(),
            cassette: None,
            substitutions: Vec::new(),
            replay_pace_ms: 0,
            base_url,
        }
    }

    /// Whether it gets the lean profile: as configured, or because its window is small.
    pub fn is_lean(&self) -> bool {
        let small = self.context_window.is_some_and(|tokens| tokens <= limits::LEAN_WINDOW_TOKENS_MAX);
        self.profile.map_or(small, |profile| profile == Profile::Lean)
    }

    /// Whether it takes PDF documents: as configured. Otherwise a model that takes images does, except on servers of Chat
    /// Completions that are not known to: most refuse a request with a part that they do not know.
    pub fn takes_documents(&self) -> bool {
        let usual = || self.protocol != Protocol::Chat || clouds::takes_documents(&self.base_url);
        self.documents.unwrap_or_else(|| self.images && usual())
    }

    /// Where it is, without credentials: what may be told and recorded.
    pub fn endpoint(&self) -> String {
        endpoint::shown(&self.base_url)
    }

    /// The machine it is on, without the port; its own name where that is no machine.
    pub fn host(&self) -> String {
        let url = endpoint::parse(&self.base_url);
        url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_else(|| self.name.clone())
    }

    /// A model that is a recording.
    pub fn replay(name: impl Into<String>, cassette: impl Into<PathBuf>) -> Self {
        let cassette = Some(cassette.into());
        Self {
            cassette,
            max_concurrent: limits::CONCURRENT_MAX,
            ..Self::new(name, "replay", Protocol::Replay, "")
        }
    }
}

/// Shows neither the key nor the values of headers, nor a password in the address.
impl fmt::Debug for ModelConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header_names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ModelConfig")
            .field("name", &self.name)
            .field("model", &self.model)
            .field("protocol", &self.protocol)
            .field("endpoint", &endpoint::shown(&self.base_url))
            .field("has_key", &self.api_key.is_some())
            .field("header_names", &header_names)
            .field("context_window", &self.context_window)
            .field("profile", &self.profile)
            .field("images", &self.images)
            .field("documents", &self.documents)
            .field("max_output_tokens", &self.max_output_tokens)
            .field("max_concurrent", &self.max_concurrent)
            .field("tool_calls", &self.tool_calls)
            .field("reasoning_effort", &self.reasoning_effort)
            .field("temperature", &self.temperature)
            .field("timeouts", &self.timeouts)
            .field("retry", &self.retry)
            .field("cassette", &self.cassette)
            .field("replay_pace_ms", &self.replay_pace_ms)
            .finish_non_exhaustive()
    }
}

/// A model that cannot be set up as configured.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The address is not one.
    #[error(
        "model `{name}`: `{url}` is not an http(s) address; set `endpoint` to something like http://127.0.0.1:8080/v1"
    )]
    Address {
        /// The configured name.
        name: String,
        /// The address without credentials.
        url: String,
    },
    /// A header or the key cannot be sent.
    #[error(
        "model `{name}`: the {what} holds characters that cannot be sent in a header; remove line breaks and control characters"
    )]
    Header {
        /// The configured name.
        name: String,
        /// Which header, or the key.
        what: String,
    },
    /// A number makes no sense.
    #[error("model `{name}`: {field} must be {wanted}")]
    Number {
        /// The configured name.
        name: String,
        /// Which setting.
        field: &'static str,
        /// What would do.
        wanted: &'static str,
    },
    /// Replay without a cassette.
    #[error("model `{name}`: protocol \"replay\" needs `cassette`, the file to play")]
    NoCassette {
        /// The configured name.
        name: String,
    },
    /// The cassette cannot be used.
    #[error(transparent)]
    Cassette(#[from] crate::CassetteError),
    /// The HTTP client or its TLS cannot be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(String),
}
