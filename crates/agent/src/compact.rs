//! Making a conversation shorter: by notes the model wrote itself, or by dropping the older part.

use std::collections::BTreeMap;
use std::sync::Arc;

use posse_protocol::Message;

use crate::limits::SUMMARY_BYTES_MAX;
use crate::prompts::{AFTER_SUMMARY, AFTER_TRIM};

/// A conversation that was made shorter.
pub(crate) struct Shorter {
    /// What it begins with.
    pub(crate) opening: String,
    /// How many of its newest messages follow.
    pub(crate) kept: usize,
}

/// The conversation after a summary: the task as it was given, what is pinned, and the notes. Results that the model
/// has not acted on yet stay as they are, if they are small; so does an answer that nobody has replied to.
pub(crate) fn with_notes(
    task: &str,
    messages: &[Arc<Message>],
    pinned: &BTreeMap<String, String>,
    notes: &str,
    unread_bytes_max: usize,
) -> Shorter {
    let notes = notes.trim();
    let notes = &notes[..notes.floor_char_boundary(SUMMARY_BYTES_MAX)];
    let kept = match messages {
        [_, .., asked, results]
            if matches!(**results, Message::Tools { .. })
                && asked.bytes() + results.bytes() <= unread_bytes_max =>
        {
            2
        }
        // The answer that the person may refer to next.
        [_, .., answer]
            if matches!(**answer, Message::Assistant { .. }) && answer.bytes() <= unread_bytes_max =>
        {
            1
        }
        _ => 0,
    };
    Shorter { opening: opening(task, pinned, &format!("{AFTER_SUMMARY}\n{notes}")), kept }
}

/// The conversation without its older part: the task, what is pinned, and as many of the newest messages as fit.
pub(crate) fn trimmed(
    task: &str,
    messages: &[Arc<Message>],
    pinned: &BTreeMap<String, String>,
    bytes_max: usize,
) -> Shorter {
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
    Shorter { opening: opening(task, pinned, AFTER_TRIM), kept: messages.len() - kept_from }
}

/// One user message, because some models' templates refuse two in a row.
fn opening(task: &str, pinned: &BTreeMap<String, String>, note: &str) -> String {
    let mut text = format!("{task}\n\n{note}");
    for (name, value) in pinned {
        text.push_str(&format!("\n\n{name}:\n{value}"));
    }
    text
}
