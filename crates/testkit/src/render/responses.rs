//! Responses events.

use posse_protocol::{StopReason, Usage};
use serde_json::{Value, json};

use super::{deltas, named, set};
use crate::turn::{MODEL_ID, Script};

pub(super) fn events(script: &Script) -> Vec<String> {
    let mut stream = Stream { out: Vec::new(), items: Vec::new() };
    let created = json!({"id": "resp_1", "status": "in_progress", "model": MODEL_ID, "output": []});
    stream.send("response.created", json!({"response": created}));
    if !script.reasoning.is_empty() {
        stream.reasoning(&script.reasoning);
    }
    if !script.text.is_empty() {
        stream.text(&script.text);
    }
    for (number, call) in script.calls.iter().enumerate() {
        stream.call(number, &call.id, &call.name, &call.arguments);
    }
    stream.end(script);
    stream.out
}

struct Stream {
    out: Vec<String>,
    items: Vec<Value>,
}

impl Stream {
    fn send(&mut self, event: &str, mut value: Value) {
        value["type"] = event.into();
        value["sequence_number"] = self.out.len().into();
        self.out.push(named(event, &value));
    }

    fn done(&mut self, item: Value) {
        let index = self.items.len();
        self.send("response.output_item.done", json!({"output_index": index, "item": item}));
        self.items.push(item);
    }

    fn reasoning(&mut self, text: &str) {
        let index = self.items.len();
        let item = json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": text}],
            "encrypted_content": "c2VhbGVk"});
        let started = json!({"type": "reasoning", "id": "rs_1", "summary": []});
        self.send("response.output_item.added", json!({"output_index": index, "item": started}));
        for part in deltas(text) {
            let delta = json!({"item_id": "rs_1", "output_index": index, "summary_index": 0, "delta": part});
            self.send("response.reasoning_summary_text.delta", delta);
        }
        self.done(item);
    }

    fn text(&mut self, text: &str) {
        let index = self.items.len();
        let started = json!({"type": "message", "id": "msg_1", "role": "assistant", "content": []});
        self.send("response.output_item.added", json!({"output_index": index, "item": started}));
        for part in deltas(text) {
            let delta = json!({"item_id": "msg_1", "output_index": index, "content_index": 0, "delta": part});
            self.send("response.output_text.delta", delta);
        }
        self.done(json!({"type": "message", "id": "msg_1", "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}]}));
    }

    fn call(&mut self, number: usize, id: &str, name: &str, arguments: &str) {
        let index = self.items.len();
        let item_id = format!("fc_{number}");
        let mut item = json!({"type": "function_call", "id": item_id, "call_id": id, "name": name,
            "arguments": "", "status": "in_progress"});
        self.send("response.output_item.added", json!({"output_index": index, "item": item}));
        for part in deltas(arguments) {
            let delta = json!({"item_id": item_id, "output_index": index, "delta": part});
            self.send("response.function_call_arguments.delta", delta);
        }
        let whole = json!({"item_id": item_id, "output_index": index, "arguments": arguments});
        self.send("response.function_call_arguments.done", whole);
        item["arguments"] = arguments.into();
        item["status"] = "completed".into();
        self.done(item);
    }

    fn end(&mut self, script: &Script) {
        let (event, status, details) = match script.stop_reason() {
            StopReason::MaxTokens => {
                ("response.incomplete", "incomplete", json!({"reason": "max_output_tokens"}))
            }
            StopReason::Refusal => ("response.incomplete", "incomplete", json!({"reason": "content_filter"})),
            StopReason::Other(word) => ("response.incomplete", "incomplete", json!({"reason": word})),
            StopReason::EndTurn | StopReason::ToolCalls => ("response.completed", "completed", Value::Null),
        };
        let response = json!({"id": "resp_1", "status": status, "model": MODEL_ID, "incomplete_details": details,
            "output": self.items, "usage": script.usage.as_ref().map(usage_value)});
        self.send(event, json!({"response": response}));
    }
}

fn usage_value(usage: &Usage) -> Value {
    let mut value = json!({});
    set(&mut value, "input_tokens", usage.input_tokens);
    set(&mut value, "output_tokens", usage.output_tokens);
    if usage.cached_tokens.is_some() {
        value["input_tokens_details"] = json!({"cached_tokens": usage.cached_tokens});
    }
    if usage.reasoning_tokens.is_some() {
        value["output_tokens_details"] = json!({"reasoning_tokens": usage.reasoning_tokens});
    }
    value
}
