//! What was said, in the form that the conventions want; and words for values.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use posse_protocol::{CallId, Reply, Usage};
use serde::Serialize;
use serde_json::{Value, json};

use crate::attributes::number;
use crate::limits::MESSAGES_MAX;
use crate::names;

/// The one word of a value that is written as one.
pub(crate) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(Value::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

pub(crate) fn usage(usage: &Usage) -> impl Iterator<Item = KeyValue> + use<> {
    let known = [
        (names::INPUT_TOKENS, usage.input_tokens),
        (names::OUTPUT_TOKENS, usage.output_tokens),
        (names::CACHE_READ_TOKENS, usage.cached_tokens),
        (names::CACHE_WRITE_TOKENS, usage.cache_write_tokens),
        (names::REASONING_TOKENS, usage.reasoning_tokens),
    ];
    known.into_iter().filter_map(|(name, tokens)| Some(number(name, tokens?)))
}

pub(crate) fn system(text: &str) -> String {
    json!([{"type": "text", "content": text}]).to_string()
}

pub(crate) fn told(text: &str) -> Value {
    json!({"role": "user", "parts": [{"type": "text", "content": text}]})
}

pub(crate) fn result(call: &CallId, text: &str) -> Value {
    json!({"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": text}]})
}

pub(crate) fn reply(reply: &Reply, finish_reason: &str) -> String {
    let text = (!reply.text.is_empty()).then(|| json!({"type": "text", "content": reply.text}));
    let calls = reply.calls.iter().map(|call| {
        // Models may write what is no JSON.
        let arguments = serde_json::from_str(&call.arguments).unwrap_or(Value::from(call.arguments.as_str()));
        json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
    });
    let parts: Vec<Value> = text.into_iter().chain(calls).collect();
    json!([{"role": "assistant", "parts": parts, "finish_reason": finish_reason}]).to_string()
}

/// Adds a message to those that the next model call is told.
pub(crate) fn push(news: &mut Vec<Value>, message: Value) {
    if news.len() >= MESSAGES_MAX {
        news.remove(0);
    }
    news.push(message);
}
