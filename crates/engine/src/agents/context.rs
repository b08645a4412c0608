//! What an agent knows when it begins: its task, the files it is given, and what it is told of its parent's conversation.
//! Everything that comes from files or from another conversation is quoted, and has a cap.

use std::fmt::Write as _;

use posse_protocol::{Message, Task};
use posse_report::quote;
use posse_workspace::{Workspace, text::is_binary};

use crate::agents::conversation::Conversation;
use crate::limits::{CONTEXT_CHARS_MAX, CONTEXT_FILE_CHARS_MAX, CONTEXT_FILES_MAX, DIGEST_CHARS_MAX};

/// An agent's conversation at the moment it delegates. Pointers, not copies.
pub(crate) struct Snapshot {
    /// Its last request as it was sent.
    pub(crate) conversation: Conversation,
    pub(crate) task: String,
    pub(crate) todo: Option<String>,
    /// Paths of files it has changed.
    pub(crate) changed: Vec<String>,
    /// What it said while it delegated.
    pub(crate) words: String,
}

/// The words an agent begins with.
pub(crate) fn first_words(task: &Task, parent: &str) -> String {
    let mut text = task.prompt.trim().to_string();
    if let Some(criteria) = &task.success_criteria {
        let _ = write!(text, "\n\nIt is done when: {}", criteria.trim());
    }
    if !task.deliverables.is_empty() {
        let _ = write!(text, "\n\nFiles that must be there at the end: {}", task.deliverables.join(", "));
    }
    if !parent.is_empty() {
        let _ = write!(text, "\n\n{parent}");
    }
    text
}

/// The contents of files, within the caps; what is left out is listed with the reason.
pub(crate) fn files(workspace: &Workspace, paths: &[String]) -> String {
    let mut text = String::new();
    let mut skipped = Vec::new();
    let mut chars_left = CONTEXT_CHARS_MAX;
    for (index, path) in paths.iter().enumerate() {
        if index >= CONTEXT_FILES_MAX {
            skipped.push(format!("{path} (more than {CONTEXT_FILES_MAX} files)"));
            continue;
        }
        if chars_left == 0 {
            skipped
                .push(format!("{path} (the files before fill the {CONTEXT_CHARS_MAX} characters there are)"));
            continue;
        }
        match read(workspace, path) {
            Err(why) => skipped.push(format!("{path} ({why})")),
            Ok(content) => {
                let cap = CONTEXT_FILE_CHARS_MAX.min(chars_left);
                let (shown, cut) = first_chars(&content, cap);
                chars_left -= shown.chars().count();
                let cut = if cut {
                    format!("\n… cut after {cap} characters; read the file for the rest")
                } else {
                    String::new()
                };
                let _ = writeln!(text, "{}", quote("file", path, &format!("{shown}{cut}")));
            }
        }
    }
    if !skipped.is_empty() {
        let _ = write!(text, "Not included: {}", skipped.join("; "));
    }
    text.trim_end().to_string()
}

fn read(workspace: &Workspace, path: &str) -> Result<String, String> {
    let resolved = workspace.resolve(path).map_err(|e| e.to_string())?;
    // A character takes four bytes at most.
    let opened = workspace.open_file(&resolved).map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    let wanted = (CONTEXT_FILE_CHARS_MAX as u64 + 1) * 4;
    std::io::Read::read_to_end(&mut std::io::Read::take(opened.file, wanted), &mut bytes)
        .map_err(|e| e.to_string())?;
    if is_binary(&bytes) {
        return Err("not text".to_string());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a fork is told of the moment it was made in.
pub(crate) fn state(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    if !snapshot.words.trim().is_empty() {
        let _ = write!(
            text,
            "\n{}",
            quote("said", "parent", first_chars(snapshot.words.trim(), DIGEST_CHARS_MAX).0)
        );
    }
    if let Some(todo) = &snapshot.todo {
        let _ = write!(text, "\n{}", quote("to-do", "parent", todo));
    }
    if !snapshot.changed.is_empty() {
        let _ = write!(text, "\nFiles changed so far: {}", snapshot.changed.join(", "));
    }
    text.trim().to_string()
}

/// A short account of the parent's conversation, made without a model: its task, its list, its files, and the last things
/// it said.
pub(crate) fn digest(snapshot: &Snapshot) -> String {
    let said = snapshot.conversation.messages().iter().rev().filter_map(|message| match &**message {
        Message::Assistant { text, .. } if !text.trim().is_empty() => Some(text.trim()),
        _ => None,
    });
    let (task, _) = first_chars(&snapshot.task, DIGEST_CHARS_MAX / 4);
    let mut left = DIGEST_CHARS_MAX - DIGEST_CHARS_MAX / 4;
    let mut last = Vec::new();
    for text in said {
        let (shown, _) = first_chars(text, left.min(DIGEST_CHARS_MAX / 4));
        left -= shown.chars().count();
        last.push(shown);
        if left == 0 {
            break;
        }
    }
    last.reverse();
    let body = format!("Task:\n{task}\n\nSaid so far:\n{}", last.join("\n\n"));
    format!("What your parent is doing, in short:\n{}\n{}", quote("digest", "parent", &body), state(snapshot))
}

/// Whether a conversation has all of these turns; the error says which there are.
pub(crate) fn has_turns(snapshot: &Snapshot, wanted: &[u32]) -> Result<(), String> {
    let replies = snapshot
        .conversation
        .messages()
        .iter()
        .filter(|message| matches!(&***message, Message::Assistant { .. }));
    let turns = u32::try_from(replies.count()).unwrap_or(u32::MAX);
    let missing = wanted.iter().filter(|turn| **turn == 0 || **turn > turns).map(u32::to_string);
    let missing = missing.collect::<Vec<_>>();
    if missing.is_empty() {
        return Ok(());
    }
    let there = match turns {
        0 => "it has none yet; put what it needs into the prompt, or use context \"summary\"".to_string(),
        1 => "it has turn 1".to_string(),
        turns => format!("it has turns 1 to {turns}"),
    };
    Err(format!("There are no turns {} in your conversation: {there}.", missing.join(", ")))
}

/// Some turns of the parent's conversation, by number.
pub(crate) fn turns(snapshot: &Snapshot, wanted: &[u32]) -> String {
    let mut text = String::new();
    let (mut turn, mut left) = (0, CONTEXT_CHARS_MAX);
    for message in snapshot.conversation.messages() {
        let shown = match &**message {
            Message::Assistant { text, calls, .. } => {
                turn += 1;
                let calls = calls.iter().map(|call| format!("\n[calls {} {}]", call.name, call.arguments));
                format!("{text}{}", calls.collect::<String>())
            }
            Message::Tools { results } => {
                results.iter().map(|result| format!("[result] {}\n", result.text)).collect()
            }
            Message::User { .. } => continue,
        };
        if turn > 0 && wanted.contains(&turn) && left > 0 {
            let (shown, _) = first_chars(&shown, CONTEXT_FILE_CHARS_MAX.min(left));
            left -= shown.chars().count();
            let _ = writeln!(text, "{}", quote("turn", &turn.to_string(), shown));
        }
    }
    let missing = wanted.iter().filter(|n| **n == 0 || **n > turn).map(u32::to_string).collect::<Vec<_>>();
    if !missing.is_empty() {
        let _ = write!(text, "There are no turns {} in it.", missing.join(", "));
    }
    if text.is_empty() { text } else { format!("From your parent's conversation:\n{}", text.trim_end()) }
}

/// The first characters, and whether there are more.
pub(crate) fn first_chars(text: &str, chars_max: usize) -> (&str, bool) {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => (&text[..at], true),
        None => (text, false),
    }
}
