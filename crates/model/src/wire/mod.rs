//! The three wire formats: a conversation as request bytes, and a reply out of stream frames.
//!
//! Encoding is done once per message and never looks back; decoding is a state machine fed with frames. Neither
//! knows sockets, time or retries.

mod anthropic_decode;
mod anthropic_encode;
mod arguments;
mod borrowed;
mod chat_calls;
mod chat_decode;
mod chat_encode;
mod description;
mod responses_decode;
mod responses_encode;
mod safe;
mod usage;

use posse_protocol::{Attachment, Message, Reply, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;

pub(crate) use arguments::{is_object, or_unparseable};

use crate::sse::Frame;
use crate::trouble::Trouble;
use crate::{ModelConfig, Protocol};

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Chat,
    Responses,
    Anthropic,
}

impl Wire {
    /// The format of a protocol; none for replay.
    pub(crate) fn of(protocol: Protocol) -> Option<Self> {
        match protocol {
            Protocol::Chat => Some(Self::Chat),
            Protocol::Responses => Some(Self::Responses),
            Protocol::Anthropic => Some(Self::Anthropic),
            Protocol::Replay => None,
        }
    }

    /// What is asked for, below the base address.
    pub(crate) fn operation(self) -> &'static str {
        match self {
            Self::Chat => "chat/completions",
            Self::Responses => "responses",
            Self::Anthropic => "messages",
        }
    }

    /// The beginning of a body: settings and tools. It is the same for all agents that have the same tools.
    pub(crate) fn opening(self, config: &ModelConfig, tools: &[ToolSpec]) -> Vec<u8> {
        let settings = match self {
            Self::Chat => chat_encode::settings(config, tools),
            Self::Responses => responses_encode::settings(config, tools),
            Self::Anthropic => anthropic_encode::settings(config, tools),
        };
        let mut bytes = encoded(&settings);
        // More fields follow.
        bytes.pop();
        bytes
    }

    /// What follows it before the messages: the system prompt, and the opening bracket of their list.
    pub(crate) fn head(self, system: &str) -> Items {
        match self {
            Self::Chat => chat_encode::head(system),
            Self::Responses => responses_encode::head(system),
            Self::Anthropic => anthropic_encode::head(system),
        }
    }

    /// One message as elements of the list. `number` is its place in the conversation.
    pub(crate) fn message(self, message: &Message, number: usize, items: &mut Items) {
        match self {
            Self::Chat => chat_encode::message(message, items),
            Self::Responses => responses_encode::message(message, number, items),
            Self::Anthropic => anthropic_encode::message(message, items),
        }
    }

    /// A reader for one reply.
    pub(crate) fn decoder(self) -> Box<dyn Decode> {
        match self {
            Self::Chat => Box::<chat_decode::ChatDecoder>::default(),
            Self::Responses => Box::<responses_decode::ResponsesDecoder>::default(),
            Self::Anthropic => Box::<anthropic_decode::AnthropicDecoder>::default(),
        }
    }
}

/// What goes between the last message and the end of the body.
pub(crate) const TAIL: &[u8] = b"]}";

/// Where in the last message's bytes Anthropic's cache marker goes: before the end of its last block.
pub(crate) const CACHE_MARKER_FROM_END: usize = b"}]}".len();

/// Anthropic's cache marker.
pub(crate) const CACHE_MARKER: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;

/// Something that came in while a reply is read.
pub(crate) enum Delta<'a> {
    Text(&'a str),
    Reasoning(&'a str),
    /// A call of this tool has begun.
    Calling(&'a str),
    /// Output that is not worth showing, such as more of a call's arguments.
    Other,
}

/// Reads one reply, frame by frame.
pub(crate) trait Decode: Send {
    /// Takes one frame.
    fn frame(&mut self, frame: &Frame, on: &mut dyn FnMut(Delta<'_>)) -> Result<(), Trouble>;
    /// Whether the reply is all there, so that a stream that ends now ends well.
    fn is_complete(&self) -> bool;
    /// Whether nothing more can come.
    fn is_over(&self) -> bool;
    /// The text so far.
    fn text(&self) -> &str;
    /// The reply. Call ids may be empty or double.
    fn reply(self: Box<Self>) -> Reply;
}

/// Elements of a JSON list under construction.
#[derive(Debug, Default)]
pub(crate) struct Items {
    pub(crate) bytes: Vec<u8>,
    /// Whether the list has an element already, here or in bytes before.
    pub(crate) any: bool,
}

impl Items {
    /// The last fields of a body: one more where there is something to say, then the list that follows.
    fn fields(field: Option<(&str, &impl Serialize)>, list: &str) -> Self {
        let mut bytes = Vec::new();
        if let Some((name, value)) = field {
            bytes.extend_from_slice(format!(",\"{name}\":").as_bytes());
            bytes.extend(encoded(value));
        }
        bytes.extend_from_slice(format!(",\"{list}\":[").as_bytes());
        Self { bytes, any: false }
    }

    fn push(&mut self, element: &impl Serialize) {
        self.comma();
        self.bytes.extend(encoded(element));
    }

    fn comma(&mut self) {
        if std::mem::replace(&mut self.any, true) {
            self.bytes.push(b',');
        }
    }
}

/// Our own plain structs always encode; should one not, it is missing rather than half there.
fn encoded(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec())
}

/// What goes before an image, so that a model can speak of it by its name.
fn named(attachment: &Attachment) -> String {
    format!("[{}:]", attachment.name)
}

/// A provider's JSON from an earlier reply, if it still is JSON.
fn raw(opaque: Option<&String>) -> Option<&RawValue> {
    opaque.and_then(|text| serde_json::from_str(text).ok())
}
