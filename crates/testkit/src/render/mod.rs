//! Scripted replies as each provider's event stream. One string an event, blank line included.

mod anthropic;
mod chat;
mod responses;

use serde_json::Value;

use crate::turn::Script;

/// The events of a reply, in the format of the endpoint that was asked.
pub(crate) fn events(path: &str, script: &Script) -> Vec<String> {
    if path.ends_with("/responses") {
        responses::events(script)
    } else if path.ends_with("/messages") {
        anthropic::events(script)
    } else {
        chat::events(script)
    }
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn named(event: &str, value: &Value) -> String {
    format!("event: {event}\ndata: {value}\n\n")
}

/// Cuts text into deltas as a model would send them, never inside a character.
fn deltas(text: &str) -> Vec<&str> {
    const CHARS: usize = 12;
    let mut rest = text;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let cut = rest.char_indices().nth(CHARS).map_or(rest.len(), |(at, _)| at);
        let (part, after) = rest.split_at(cut);
        parts.push(part);
        rest = after;
    }
    parts
}

/// Sets a field only if there is a value for it.
fn set(object: &mut Value, field: &str, value: Option<u64>) {
    if let Some(value) = value {
        object[field] = value.into();
    }
}
