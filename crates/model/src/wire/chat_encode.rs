//! Conversations as Chat Completions requests.

use std::borrow::Cow;

use posse_protocol::{Attachment, Message, Reasoning, ReasoningOrigin, ToolCall, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{Items, description, named, or_unparseable, raw, safe};
use crate::{ModelConfig, endpoint};

/// What `Reasoning::opaque` says when it came as `reasoning` instead of `reasoning_content`.
pub(super) const REASONING_FIELD: &str = "\"reasoning\"";

/// Goes before what tools show.
const SHOWN_BY_TOOLS: &str = "[Shown by the tools that were called:]";

pub(super) fn settings(config: &ModelConfig, tools: &[ToolSpec]) -> Map<String, Value> {
    let mut settings = Map::new();
    settings.insert("model".into(), config.model.clone().into());
    settings.insert("stream".into(), true.into());
    settings.insert("stream_options".into(), json!({"include_usage": true}));
    if let Some(max) = config.max_output_tokens {
        settings.insert(max_tokens_field(config).into(), max.into());
    }
    if let Some(temperature) = config.temperature {
        settings.insert("temperature".into(), temperature.into());
    }
    if let Some(effort) = &config.reasoning_effort {
        settings.insert("reasoning_effort".into(), effort.clone().into());
    }
    if !tools.is_empty() {
        settings.insert("tools".into(), tools.iter().map(tool).collect());
    }
    settings
}

pub(super) fn head(system: &str) -> Items {
    let mut items = Items::fields(None::<(&str, &String)>, "messages");
    if !system.is_empty() {
        items.push(&Plain { role: "system", content: system });
    }
    items
}

/// OpenAI itself has given the setting a new name; everybody else knows the old one.
fn max_tokens_field(config: &ModelConfig) -> &'static str {
    let openai =
        endpoint::parse(&config.base_url).is_some_and(|url| url.host_str() == Some("api.openai.com"));
    if openai { "max_completion_tokens" } else { "max_tokens" }
}

fn tool(spec: &ToolSpec) -> Value {
    json!({"type": "function", "function":
        {"name": spec.name, "description": description::fitting(&spec.description), "parameters": spec.schema}})
}

pub(super) fn message(message: &Message, items: &mut Items) {
    match message {
        Message::User { text, attachments } if attachments.is_empty() => {
            items.push(&Plain { role: "user", content: text });
        }
        Message::User { text, attachments } => {
            items.push(&Shown { role: "user", content: parts(text, attachments.iter()) });
        }
        Message::Assistant { text, reasoning, calls } => items.push(&assistant(text, reasoning, calls)),
        Message::Tools { results } => {
            for result in results {
                items.push(&Result {
                    role: "tool",
                    tool_call_id: safe::id(&result.id.0),
                    content: &result.text,
                });
            }
            // Results are text here, so what is shown follows them as a message.
            if message.attachments().next().is_some() {
                items.push(&Shown { role: "user", content: parts(SHOWN_BY_TOOLS, message.attachments()) });
            }
        }
    }
}

/// The parts of a message that shows something.
fn parts<'a>(text: &'a str, attachments: impl Iterator<Item = &'a Attachment>) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    if !text.is_empty() {
        parts.push(Part::Text { text: text.into() });
    }
    for attachment in attachments {
        if attachment.media_type.is_image() {
            parts.push(Part::Text { text: named(attachment).into() });
            parts.push(Part::ImageUrl { image_url: ImageUrl { url: attachment.data_url() } });
        } else {
            let (filename, file_data) = (&attachment.name, attachment.data_url());
            parts.push(Part::File { file: File { filename, file_data } });
        }
    }
    parts
}

#[derive(Serialize)]
struct Shown<'a> {
    role: &'static str,
    content: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
    File { file: File<'a> },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct File<'a> {
    filename: &'a str,
    file_data: String,
}

#[derive(Serialize)]
struct Plain<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct Result<'a> {
    role: &'static str,
    tool_call_id: Cow<'a, str>,
    content: &'a str,
}

#[derive(Serialize)]
struct Assistant<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    reasoning_content: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    reasoning: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

fn assistant<'a>(text: &'a str, reasoning: &'a [Reasoning], calls: &'a [ToolCall]) -> Assistant<'a> {
    let details = reasoning
        .iter()
        .find(|piece| piece.origin == ReasoningOrigin::ChatDetails)
        .and_then(|piece| raw(piece.opaque.as_ref()));
    // Plain reasoning is wanted back only while the model works with tools; some servers refuse it otherwise.
    let plain = |as_reasoning: bool| -> String {
        if details.is_some() || calls.is_empty() {
            return String::new();
        }
        let of_chat = reasoning.iter().filter(|piece| piece.origin == ReasoningOrigin::Chat);
        of_chat
            .filter(|piece| (piece.opaque.as_deref() == Some(REASONING_FIELD)) == as_reasoning)
            .map(|piece| piece.text.as_str())
            .collect()
    };
    let function = |call: &'a ToolCall| Function {
        name: safe::name(&call.name),
        arguments: or_unparseable(&call.arguments),
    };
    Assistant {
        role: "assistant",
        content: (!text.is_empty() || calls.is_empty()).then_some(text),
        reasoning_content: plain(false),
        reasoning: plain(true),
        reasoning_details: details,
        tool_calls: calls
            .iter()
            .map(|call| Call { id: safe::id(&call.id.0), kind: "function", function: function(call) })
            .collect(),
    }
}
