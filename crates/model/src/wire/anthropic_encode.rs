//! Conversations as Anthropic Messages requests.
//!
//! Cache markers stand after the tools, after the system prompt and, put in when a request is sent, after the last
//! message. Every message ends in `}]}`: the end of its last block, of its list, of itself.

use std::borrow::Cow;

use posse_protocol::{Attachment, Message, Reasoning, ReasoningOrigin, ToolCall, ToolResult, ToolSpec};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{Items, description, named, or_unparseable, raw, safe};
use crate::{ModelConfig, limits};

/// Stands where the protocol refuses an empty text.
const NO_TEXT: &str = "(no text)";

pub(super) fn settings(config: &ModelConfig, tools: &[ToolSpec]) -> Map<String, Value> {
    let mut settings = Map::new();
    let mut max_tokens = config.max_output_tokens.unwrap_or(limits::ANTHROPIC_OUTPUT_TOKENS);
    settings.insert("model".into(), config.model.clone().into());
    settings.insert("stream".into(), true.into());
    match config.reasoning_effort.as_deref().map(|effort| (effort, effort.parse::<u32>())) {
        Some((_, Ok(budget))) => {
            settings.insert("thinking".into(), json!({"type": "enabled", "budget_tokens": budget}));
            // The budget is part of the output and must leave room for the rest of it.
            if max_tokens <= budget {
                max_tokens = budget.saturating_add(limits::ANTHROPIC_OUTPUT_TOKENS);
            }
        }
        Some((word, Err(_))) => {
            settings.insert("thinking".into(), json!({"type": "adaptive"}));
            settings.insert("output_config".into(), json!({"effort": word}));
        }
        // A temperature may not be set together with thinking.
        None => {
            if let Some(temperature) = config.temperature {
                settings.insert("temperature".into(), temperature.into());
            }
        }
    }
    settings.insert("max_tokens".into(), max_tokens.into());
    if !tools.is_empty() {
        settings.insert("tools".into(), tools_value(tools));
    }
    settings
}

pub(super) fn head(system: &str) -> Items {
    let blocks = json!([{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]);
    Items::fields((!system.is_empty()).then_some(("system", &blocks)), "messages")
}

fn tools_value(tools: &[ToolSpec]) -> Value {
    let mut list: Vec<Value> = tools
        .iter()
        .map(|t| json!({"name": t.name, "description": description::fitting(&t.description), "input_schema": t.schema}))
        .collect();
    if let Some(last) = list.last_mut() {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
    list.into()
}

#[derive(Serialize)]
struct Envelope<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Raw(&'a RawValue),
    Said(Inner<'a>),
    Use {
        #[serde(rename = "type")]
        kind: &'static str,
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Box<RawValue>,
    },
    Result {
        #[serde(rename = "type")]
        kind: &'static str,
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        content: Vec<Inner<'a>>,
    },
}

/// What a message or a tool result says and shows.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Inner<'a> {
    Text { text: Cow<'a, str> },
    Image { source: Source<'a> },
    Document { source: Source<'a>, title: &'a str },
}

#[derive(Serialize)]
struct Source<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'static str,
    data: &'a str,
}

pub(super) fn message(message: &Message, items: &mut Items) {
    let (role, content) = match message {
        Message::User { text, attachments } => {
            ("user", said_and_shown(text, attachments).into_iter().map(Block::Said).collect())
        }
        Message::Assistant { text, reasoning, calls } => ("assistant", assistant(text, reasoning, calls)),
        Message::Tools { results } => ("user", results.iter().map(result).collect()),
    };
    // A message of no blocks is refused; it can only come of a tool message without results.
    if !content.is_empty() {
        items.push(&Envelope { role, content });
    }
}

fn assistant<'a>(text: &'a str, reasoning: &'a [Reasoning], calls: &'a [ToolCall]) -> Vec<Block<'a>> {
    let ours = reasoning.iter().filter(|piece| piece.origin == ReasoningOrigin::Anthropic);
    let mut blocks: Vec<Block<'_>> =
        ours.filter_map(|piece| raw(piece.opaque.as_ref())).map(Block::Raw).collect();
    if !text.trim().is_empty() || calls.is_empty() {
        blocks.push(text_block(text));
    }
    blocks.extend(calls.iter().map(|call| {
        let input = RawValue::from_string(or_unparseable(&call.arguments).into_owned()).unwrap_or_default();
        Block::Use { kind: "tool_use", id: safe::id(&call.id.0), name: safe::name(&call.name), input }
    }));
    blocks
}

fn text_block(text: &str) -> Block<'_> {
    Block::Said(said(text))
}

fn said(text: &str) -> Inner<'_> {
    Inner::Text { text: if text.trim().is_empty() { NO_TEXT } else { text }.into() }
}

/// A text and what is shown with it.
fn said_and_shown<'a>(text: &'a str, attachments: &'a [Attachment]) -> Vec<Inner<'a>> {
    let mut inner = vec![said(text)];
    for attachment in attachments {
        let media_type = attachment.media_type.as_str();
        let source = Source { kind: "base64", media_type, data: &attachment.data };
        if attachment.media_type.is_image() {
            inner.push(Inner::Text { text: named(attachment).into() });
            inner.push(Inner::Image { source });
        } else {
            inner.push(Inner::Document { source, title: &attachment.name });
        }
    }
    inner
}

fn result(result: &ToolResult) -> Block<'_> {
    Block::Result {
        kind: "tool_result",
        tool_use_id: safe::id(&result.id.0),
        is_error: (!result.ok).then_some(true),
        content: said_and_shown(&result.text, &result.attachments),
    }
}
