//! Explaining why a request is not on a cassette: a diff against the recorded request that comes closest.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use posse_protocol::{Message, ToolCall};
use similar::TextDiff;

use super::MessageLog;
use super::log::Head;
use super::recorded::Recorded;
use crate::limits;

/// What a person needs to know about a request that was not found.
pub(super) fn explain(path: &Path, recorded: &[Recorded], log: &MessageLog, with_head: bool) -> String {
    let cassette = path.display();
    let Some(closest) = closest(recorded, log) else {
        return format!("the cassette {cassette} has no exchange left to play. Record it again.");
    };
    let wanted = render(&closest.head, &closest.messages, with_head);
    let actual = render(&log.head, &log.messages, with_head);
    if wanted == actual && closest.is_played() {
        return format!(
            "the request is exchange {} of the cassette {cassette}, which has been played already. It was recorded only once.",
            closest.id
        );
    }
    if wanted == actual {
        return format!(
            "the request is exchange {} of the cassette {cassette}, but its reply calls a tool that is not offered here.",
            closest.id
        );
    }
    let diff = TextDiff::from_lines(bounded(&wanted), bounded(&actual));
    let text = diff.unified_diff().context_radius(3).header("recorded", "actual").to_string();
    let (shown, more) = match text.len() > limits::DIFF_BYTES_MAX {
        true => (&text[..text.floor_char_boundary(limits::DIFF_BYTES_MAX)], "\n[the diff goes on]"),
        false => (text.as_str(), ""),
    };
    format!(
        "the request is not on the cassette {cassette}. Closest is exchange {}:\n{shown}{more}\nRecord the cassette again if the change is meant.",
        closest.id
    )
}

/// The exchange with the longest common beginning; unplayed ones first, then those of the same length.
fn closest<'a>(recorded: &'a [Recorded], log: &MessageLog) -> Option<&'a Recorded> {
    recorded.iter().max_by_key(|exchange| {
        let common = exchange.hashes.iter().zip(log.hashes.iter()).take_while(|(a, b)| a == b).count();
        let same_head = exchange.head.hash == log.head.hash;
        let same_length = exchange.messages.len() == log.messages.len();
        (common, same_length, same_head, !exchange.is_played(), std::cmp::Reverse(exchange.id))
    })
}

fn bounded(text: &str) -> &str {
    // What differs is nearly always at the end: the beginning was matched turn by turn.
    &text[text.ceil_char_boundary(text.len().saturating_sub(limits::DIFF_INPUT_BYTES_MAX))..]
}

/// A request as text with one thing a line.
fn render(head: &Head, messages: &[Arc<Message>], with_head: bool) -> String {
    let mut out = String::new();
    if with_head {
        let _ = writeln!(out, "system:\n{}", head.system.trim_end());
        for tool in &head.tools {
            let _ = writeln!(out, "tool {}: {}\n  {}", tool.name, tool.description, tool.schema);
        }
    }
    for message in messages {
        match &**message {
            Message::User { text, .. } => {
                let _ = writeln!(out, "user:\n{text}");
            }
            Message::Assistant { text, reasoning, calls } => {
                let _ = writeln!(out, "assistant:");
                for piece in reasoning {
                    let _ = writeln!(
                        out,
                        "(reasoning) {} {}",
                        piece.text,
                        piece.opaque.as_deref().unwrap_or_default()
                    );
                }
                if !text.is_empty() {
                    let _ = writeln!(out, "{text}");
                }
                for ToolCall { id, name, arguments } in calls {
                    let _ = writeln!(out, "call {id}: {name} {arguments}");
                }
            }
            Message::Tools { results } => {
                for result in results {
                    let word = if result.ok { "result" } else { "failed" };
                    let _ = writeln!(out, "{word} {}:\n{}", result.id, result.text);
                }
            }
        }
        for attachment in message.attachments() {
            let _ = writeln!(out, "attachment {attachment}");
        }
    }
    out
}
