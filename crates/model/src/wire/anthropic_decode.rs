//! Replies out of Anthropic Messages streams.

use std::collections::BTreeMap;

use posse_protocol::{CallId, Reasoning, ReasoningOrigin, Reply, StopReason, ToolCall};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Decode, Delta, usage};
use crate::limits;
use crate::sse::Frame;
use crate::trouble::{ProviderError, Trouble};

#[derive(Default)]
pub(super) struct AnthropicDecoder {
    blocks: BTreeMap<u64, Block>,
    /// All text so far, for errors that come in the middle.
    text: String,
    stop: Option<String>,
    stopped: bool,
    usage: usage::Anthropic,
    model: String,
}

/// One block of content under construction.
enum Block {
    Text,
    Thinking { text: String, signature: String },
    Redacted(Value),
    Use { id: String, name: String, start: Value, json: String },
    Unknown,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: Option<String>,
    index: Option<u64>,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    content_block: Value,
    #[serde(default)]
    delta: Value,
    #[serde(default)]
    usage: Value,
}

impl Decode for AnthropicDecoder {
    fn frame(&mut self, frame: &Frame, on: &mut dyn FnMut(Delta<'_>)) -> Result<(), Trouble> {
        let data = frame.data.trim();
        if data == "[DONE]" {
            // Of another protocol; some proxies send it in place of the last event.
            self.stopped |= self.stop.is_some();
        }
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let event: Event = read(data)?;
        let index = event.index.unwrap_or(0);
        match event.kind.as_deref().unwrap_or(&frame.event) {
            "message_start" => self.start(&event.message),
            "content_block_start" => self.begin(index, event.content_block, on)?,
            "content_block_delta" => self.more(index, &event.delta, on)?,
            "message_delta" => {
                if let Some(word) = event.delta["stop_reason"].as_str() {
                    self.stop = Some(word.to_owned());
                }
                self.update(&event.usage);
            }
            "message_stop" => self.stopped = true,
            "error" => return Err(Trouble::Provider(ProviderError::from_json(&read(data)?))),
            // A whole message instead of a stream, or an error where a stream should be.
            "message" => self.whole(&read(data)?, on)?,
            "" => {
                let value: Value = read(data)?;
                let error = !value["error"].is_null();
                return Err(if error {
                    Trouble::Provider(ProviderError::from_json(&value))
                } else {
                    Trouble::malformed("an event of the stream has no type")
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// The reason to stop comes behind all content, so with it the reply is all there.
    fn is_complete(&self) -> bool {
        self.stopped || self.stop.is_some()
    }

    fn is_over(&self) -> bool {
        self.stopped
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn reply(self: Box<Self>) -> Reply {
        let mut reasoning = Vec::new();
        let mut calls = Vec::new();
        let piece = |text: String, block: &Value| Reasoning {
            text,
            origin: ReasoningOrigin::Anthropic,
            opaque: Some(block.to_string()),
        };
        for block in self.blocks.into_values() {
            match block {
                Block::Text | Block::Unknown => {}
                Block::Redacted(raw) => reasoning.push(piece(String::new(), &raw)),
                Block::Thinking { text, signature } => {
                    let raw = json!({"type": "thinking", "thinking": text, "signature": signature});
                    reasoning.push(piece(text, &raw));
                }
                Block::Use { id, name, start, json } => {
                    // A block that names no input has none.
                    let arguments =
                        if json.is_empty() && !start.is_null() { start.to_string() } else { json };
                    calls.push(ToolCall { id: CallId(id), name, arguments });
                }
            }
        }
        let stop = match self.stop.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::MaxTokens,
            Some("refusal") => StopReason::Refusal,
            None | Some("end_turn" | "stop_sequence" | "tool_use") => {
                if calls.is_empty() {
                    StopReason::EndTurn
                } else {
                    StopReason::ToolCalls
                }
            }
            Some(word) => StopReason::Other(word.to_owned()),
        };
        Reply { text: self.text, reasoning, calls, stop, usage: self.usage.total(), model: self.model }
    }
}

impl AnthropicDecoder {
    fn start(&mut self, message: &Value) {
        self.model = message["model"].as_str().unwrap_or_default().to_owned();
        self.update(&message["usage"]);
    }

    fn update(&mut self, reported: &Value) {
        self.usage.update(reported);
    }

    fn begin(&mut self, index: u64, mut start: Value, on: &mut dyn FnMut(Delta<'_>)) -> Result<(), Trouble> {
        if self.blocks.len() >= limits::BLOCKS_MAX {
            return Err(Trouble::malformed("the reply holds too many blocks"));
        }
        let calls = self.blocks.values().filter(|block| matches!(block, Block::Use { .. })).count();
        if calls >= limits::CALLS_MAX {
            return Err(Trouble::malformed(format!(
                "the reply holds more than {} tool calls",
                limits::CALLS_MAX
            )));
        }
        let text = |field: &str| start[field].as_str().unwrap_or_default().to_owned();
        let block = match start["type"].as_str().unwrap_or_default() {
            "text" => {
                let first = text("text");
                if !first.is_empty() {
                    self.add_text(&first, on);
                }
                Block::Text
            }
            "thinking" => {
                let first = text("thinking");
                on(Delta::Reasoning(&first));
                Block::Thinking { text: first, signature: text("signature") }
            }
            "redacted_thinking" => {
                on(Delta::Other);
                Block::Redacted(start)
            }
            "tool_use" => {
                let name = text("name");
                on(Delta::Calling(&name));
                Block::Use { id: text("id"), name, start: start["input"].take(), json: String::new() }
            }
            _ => Block::Unknown,
        };
        self.blocks.insert(index, block);
        Ok(())
    }

    fn more(&mut self, index: u64, delta: &Value, on: &mut dyn FnMut(Delta<'_>)) -> Result<(), Trouble> {
        let Some(block) = self.blocks.get_mut(&index) else {
            return Err(Trouble::malformed("a delta came for a block that was not begun"));
        };
        let part = |field: &str| delta[field].as_str().unwrap_or_default();
        match (block, delta["type"].as_str().unwrap_or_default()) {
            (Block::Text, "text_delta") => self.add_text(part("text"), on),
            (Block::Thinking { text, .. }, "thinking_delta") => {
                on(Delta::Reasoning(part("thinking")));
                text.push_str(part("thinking"));
            }
            (Block::Thinking { signature, .. }, "signature_delta") => signature.push_str(part("signature")),
            (Block::Use { json, .. }, "input_json_delta") => {
                on(Delta::Other);
                json.push_str(part("partial_json"));
            }
            _ => {}
        }
        Ok(())
    }

    fn add_text(&mut self, text: &str, on: &mut dyn FnMut(Delta<'_>)) {
        on(Delta::Text(text));
        self.text.push_str(text);
    }

    fn whole(&mut self, message: &Value, on: &mut dyn FnMut(Delta<'_>)) -> Result<(), Trouble> {
        self.start(message);
        for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            self.begin(index as u64, block.clone(), on)?;
        }
        self.stop = message["stop_reason"].as_str().map(str::to_owned);
        self.stopped = true;
        Ok(())
    }
}

fn read<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, Trouble> {
    serde_json::from_str(data)
        .map_err(|error| Trouble::malformed(format!("an event of the stream cannot be read: {error}")))
}
