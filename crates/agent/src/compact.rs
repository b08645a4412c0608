//! Making a conversation shorter: by notes the model wrote itself, or by dropping the older part.

use std::collections::BTreeMap;
use std::sync::Arc;

use posse_protocol::Message;

use crate::limits::SUMMARY_BYTES_MAX;
use crate::prompts::{AFTER_SUMMARY, AFTER_TRIM};

/// The conversation after a summary: the task as it was given, what is pinned, and the notes.
pub(crate) fn with_notes(task: &str, pinned: &BTreeMap<String, String>, notes: &str) -> Vec<Arc<Message>> {
    let notes = notes.trim();
    let notes = &notes[..notes.floor_char_boundary(SUMMARY_BYTES_MAX)];
    vec![opening(task, pinned, &format!("{AFTER_SUMMARY}\n{notes}"))]
}

/// The conversation without its older part: the task, what is pinned, and as many of the newest messages as fit.
pub(crate) fn trimmed(
    task: &str,
    messages: &[Arc<Message>],
    pinned: &BTreeMap<String, String>,
    bytes_max: usize,
) -> Vec<Arc<Message>> {
    let mut kept_from = messages.len();
    let mut bytes = task.len();
    for (index, message) in messages.iter().enumerate().skip(1).rev() {
        bytes += message.bytes();
        if bytes > bytes_max {
            break;
        }
        // Results must follow the reply that asked for them, so a kept part begins with a reply.
        if matches!(message.as_ref(), Message::Assistant { .. }) {
            kept_from = index;
        }
    }
    let mut kept = vec![opening(task, pinned, AFTER_TRIM)];
    kept.extend_from_slice(&messages[kept_from..]);
    kept
}

/// One user message, because some models' templates refuse two in a row.
fn opening(task: &str, pinned: &BTreeMap<String, String>, note: &str) -> Arc<Message> {
    let mut text = format!("{task}\n\n{note}");
    for (name, value) in pinned {
        text.push_str(&format!("\n\n{name}:\n{value}"));
    }
    Arc::new(Message::User { text })
}
