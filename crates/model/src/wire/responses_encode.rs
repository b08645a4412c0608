//! Conversations as Responses requests. Nothing is stored on the provider's side: every request is whole.

use posse_protocol::{Message, ReasoningOrigin, ToolSpec};
use serde_json::{Map, Value, json};

use super::{Items, or_unparseable, raw};
use crate::ModelConfig;

pub(super) fn head(config: &ModelConfig, system: &str, tools: &[ToolSpec]) -> Items {
    let mut settings = Map::new();
    settings.insert("model".into(), config.model.clone().into());
    settings.insert("stream".into(), true.into());
    settings.insert("store".into(), false.into());
    settings.insert("include".into(), json!(["reasoning.encrypted_content"]));
    if let Some(max) = config.max_output_tokens {
        settings.insert("max_output_tokens".into(), max.into());
    }
    if let Some(temperature) = config.temperature {
        settings.insert("temperature".into(), temperature.into());
    }
    if let Some(effort) = &config.reasoning_effort {
        settings.insert("reasoning".into(), json!({"effort": effort}));
    }
    if !tools.is_empty() {
        settings.insert("tools".into(), tools.iter().map(tool).collect());
    }
    if !system.is_empty() {
        settings.insert("instructions".into(), system.into());
    }
    Items::opening(&settings, "input")
}

fn tool(spec: &ToolSpec) -> Value {
    json!({"type": "function", "name": spec.name, "description": spec.description, "parameters": spec.schema,
        "strict": false})
}

pub(super) fn message(message: &Message, items: &mut Items) {
    match message {
        Message::User { text } => {
            items.push(&json!({"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": text}]}));
        }
        Message::Assistant { text, reasoning, calls } => {
            let ours = reasoning.iter().filter(|piece| piece.origin == ReasoningOrigin::Responses);
            for item in ours.filter_map(|piece| raw(piece.opaque.as_ref())) {
                items.push_raw(item);
            }
            if !text.is_empty() || calls.is_empty() {
                items.push(&json!({"type": "message", "role": "assistant",
                    "content": [{"type": "output_text", "text": text}]}));
            }
            for call in calls {
                items.push(&json!({"type": "function_call", "call_id": call.id, "name": call.name,
                    "arguments": or_unparseable(&call.arguments)}));
            }
        }
        Message::Tools { results } => {
            for result in results {
                items.push(
                    &json!({"type": "function_call_output", "call_id": result.id, "output": result.text}),
                );
            }
        }
    }
}
