//! A conversation in the shape that hooks of other programs read: one JSON object per message.

use posse_protocol::{Message, ToolCall, ToolResult};
use serde_json::{Value, json};

use crate::tool_input::{foreign_input, foreign_name};

/// One line of a transcript.
pub fn transcript_line(message: &Message, session: &str, folder: &str) -> Value {
    let (role, content) = match message {
        Message::Assistant { text, calls, .. } => {
            let said =
                Some(text).filter(|text| !text.is_empty()).map(|text| json!({"type": "text", "text": text}));
            ("assistant", said.into_iter().chain(calls.iter().map(|call| asked(call, folder))).collect())
        }
        Message::User { text, .. } => ("user", vec![json!({"type": "text", "text": text})]),
        Message::Tools { results } => ("user", results.iter().map(answered).collect::<Vec<_>>()),
    };
    json!({"type": role, "sessionId": session, "cwd": folder, "message": {"role": role, "content": content}})
}

fn asked(call: &ToolCall, folder: &str) -> Value {
    let arguments = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
    let input = foreign_input(&call.name, &arguments, folder);
    json!({"type": "tool_use", "id": call.id.0, "name": foreign_name(&call.name), "input": input})
}

fn answered(result: &ToolResult) -> Value {
    json!({"type": "tool_result", "tool_use_id": result.id.0, "content": result.text, "is_error": !result.ok})
}
