//! Anthropic Messages events.

use posse_protocol::{StopReason, Usage};
use serde_json::{Value, json};

use super::{deltas, named, set};
use crate::turn::{MODEL_ID, Script};

pub(super) fn events(script: &Script) -> Vec<String> {
    let mut stream = Stream { out: Vec::new(), index: 0 };
    stream.start(script);
    if !script.reasoning.is_empty() {
        let parts =
            deltas(&script.reasoning).into_iter().map(|p| json!({"type": "thinking_delta", "thinking": p}));
        let signed = parts.chain([json!({"type": "signature_delta", "signature": "c2lnbmVk"})]);
        stream.block(&json!({"type": "thinking", "thinking": "", "signature": ""}), signed);
    }
    if !script.text.is_empty() {
        let parts = deltas(&script.text).into_iter().map(|p| json!({"type": "text_delta", "text": p}));
        stream.block(&json!({"type": "text", "text": ""}), parts);
    }
    for call in &script.calls {
        let parts = deltas(&call.arguments)
            .into_iter()
            .map(|p| json!({"type": "input_json_delta", "partial_json": p}));
        stream.block(&json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}), parts);
    }
    stream.end(script);
    stream.out
}

struct Stream {
    out: Vec<String>,
    index: usize,
}

impl Stream {
    fn send(&mut self, event: &str, mut value: Value) {
        value["type"] = event.into();
        self.out.push(named(event, &value));
    }

    fn start(&mut self, script: &Script) {
        let mut message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL_ID,
            "content": [], "stop_reason": null});
        if let Some(usage) = &script.usage {
            message["usage"] = input_usage(usage);
        }
        self.send("message_start", json!({"message": message}));
        self.send("ping", json!({}));
    }

    fn block(&mut self, start: &Value, deltas: impl Iterator<Item = Value>) {
        let index = self.index;
        self.index += 1;
        self.send("content_block_start", json!({"index": index, "content_block": start}));
        for delta in deltas {
            self.send("content_block_delta", json!({"index": index, "delta": delta}));
        }
        self.send("content_block_stop", json!({"index": index}));
    }

    fn end(&mut self, script: &Script) {
        let word = match script.stop_reason() {
            StopReason::EndTurn => "end_turn".into(),
            StopReason::ToolCalls => "tool_use".into(),
            StopReason::MaxTokens => "max_tokens".into(),
            StopReason::Refusal => "refusal".into(),
            StopReason::Other(word) => word,
        };
        let mut value = json!({"delta": {"stop_reason": word, "stop_sequence": null}});
        if let Some(output) = script.usage.and_then(|u| u.output_tokens) {
            value["usage"] = json!({"output_tokens": output});
        }
        self.send("message_delta", value);
        self.send("message_stop", json!({}));
    }
}

/// Anthropic counts cached tokens beside the others, not among them.
fn input_usage(usage: &Usage) -> Value {
    let beside = usage.cached_tokens.unwrap_or(0) + usage.cache_write_tokens.unwrap_or(0);
    let mut value = json!({});
    set(&mut value, "input_tokens", usage.input_tokens.map(|all| all.saturating_sub(beside)));
    set(&mut value, "cache_read_input_tokens", usage.cached_tokens);
    set(&mut value, "cache_creation_input_tokens", usage.cache_write_tokens);
    value
}
