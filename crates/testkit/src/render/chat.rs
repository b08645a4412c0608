//! Chat Completions chunks.

use posse_protocol::{StopReason, Usage};
use serde_json::{Value, json};

use super::{data, deltas, set};
use crate::turn::{MODEL_ID, Script};

pub(super) fn events(script: &Script) -> Vec<String> {
    let mut out = vec![chunk(&json!({"role": "assistant", "content": null}), None)];
    for part in deltas(&script.reasoning) {
        out.push(chunk(&json!({"reasoning_content": part}), None));
    }
    for part in deltas(&script.text) {
        out.push(chunk(&json!({"content": part}), None));
    }
    for (index, call) in script.calls.iter().enumerate() {
        let head = json!({"index": index, "id": call.id, "type": "function",
            "function": {"name": call.name, "arguments": ""}});
        out.push(chunk(&json!({"tool_calls": [head]}), None));
        for part in deltas(&call.arguments) {
            let more = json!({"index": index, "function": {"arguments": part}});
            out.push(chunk(&json!({"tool_calls": [more]}), None));
        }
    }
    out.push(chunk(&json!({}), Some(&stop_word(script.stop_reason()))));
    if let Some(usage) = &script.usage {
        out.push(data(&json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": MODEL_ID,
            "choices": [], "usage": usage_value(usage)})));
    }
    out.push("data: [DONE]\n\n".into());
    out
}

fn chunk(delta: &Value, finish: Option<&str>) -> String {
    data(&json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL_ID,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
}

fn stop_word(stop: StopReason) -> String {
    match stop {
        StopReason::EndTurn => "stop".into(),
        StopReason::ToolCalls => "tool_calls".into(),
        StopReason::MaxTokens => "length".into(),
        StopReason::Refusal => "content_filter".into(),
        StopReason::Other(word) => word,
    }
}

fn usage_value(usage: &Usage) -> Value {
    let mut value = json!({});
    set(&mut value, "prompt_tokens", usage.input_tokens);
    set(&mut value, "completion_tokens", usage.output_tokens);
    set(&mut value, "total_tokens", usage.total_tokens());
    if usage.cached_tokens.is_some() {
        value["prompt_tokens_details"] = json!({"cached_tokens": usage.cached_tokens});
    }
    if usage.reasoning_tokens.is_some() {
        value["completion_tokens_details"] = json!({"reasoning_tokens": usage.reasoning_tokens});
    }
    value
}
