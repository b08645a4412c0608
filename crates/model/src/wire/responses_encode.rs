//! Conversations as Responses requests. Nothing is stored on the provider's side: every request is whole.

use std::borrow::Cow;

use posse_protocol::{Attachment, Message, ReasoningOrigin, ToolSpec};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{Items, description, named, or_unparseable, raw, safe};
use crate::ModelConfig;

pub(super) fn settings(config: &ModelConfig, tools: &[ToolSpec]) -> Map<String, Value> {
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
    settings
}

pub(super) fn head(system: &str) -> Items {
    Items::fields((!system.is_empty()).then_some(("instructions", &system)), "input")
}

fn tool(spec: &ToolSpec) -> Value {
    json!({"type": "function", "name": spec.name, "description": description::fitting(&spec.description), "parameters": spec.schema,
        "strict": false})
}

pub(super) fn message(message: &Message, number: usize, items: &mut Items) {
    match message {
        Message::User { text, attachments } => {
            items.push(&json!({"type": "message", "role": "user", "content": parts(text, attachments)}));
        }
        Message::Assistant { text, reasoning, calls } => {
            let ours = reasoning.iter().filter(|piece| piece.origin == ReasoningOrigin::Responses);
            for (index, item) in ours.filter_map(|piece| raw(piece.opaque.as_ref())).enumerate() {
                items.push(&whole(item, number, index));
            }
            if !text.is_empty() || calls.is_empty() {
                items.push(&json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant",
                    "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}));
            }
            for call in calls {
                items.push(&json!({"type": "function_call", "call_id": safe::id(&call.id.0),
                    "name": safe::name(&call.name), "arguments": or_unparseable(&call.arguments)}));
            }
        }
        Message::Tools { results } => {
            for result in results {
                let output = match result.attachments.as_slice() {
                    [] => Value::from(result.text.as_str()),
                    attachments => parts(&result.text, attachments).into(),
                };
                items.push(&json!({"type": "function_call_output", "call_id": safe::id(&result.id.0),
                    "output": output}));
            }
        }
    }
}

/// A text and what is shown with it.
fn parts(text: &str, attachments: &[Attachment]) -> Vec<Value> {
    let mut parts = vec![json!({"type": "input_text", "text": text})];
    for attachment in attachments {
        let url = attachment.data_url();
        if attachment.media_type.is_image() {
            parts.push(json!({"type": "input_text", "text": named(attachment)}));
            parts.push(json!({"type": "input_image", "image_url": url}));
        } else {
            parts.push(json!({"type": "input_file", "filename": attachment.name, "file_data": url}));
        }
    }
    parts
}

/// A piece of reasoning as it came, with what the protocol demands of one and some servers leave out.
fn whole(item: &RawValue, number: usize, index: usize) -> Cow<'_, RawValue> {
    let Ok(mut fields) = serde_json::from_str::<Map<String, Value>>(item.get()) else {
        return Cow::Borrowed(item);
    };
    if fields.get("id").is_some_and(Value::is_string) && fields.get("summary").is_some_and(Value::is_array) {
        return Cow::Borrowed(item);
    }
    if !fields.get("id").is_some_and(Value::is_string) {
        fields.insert("id".into(), format!("rs_{number}_{index}").into());
    }
    if !fields.get("summary").is_some_and(Value::is_array) {
        fields.insert("summary".into(), json!([]));
    }
    RawValue::from_string(Value::Object(fields).to_string()).map_or(Cow::Borrowed(item), Cow::Owned)
}
