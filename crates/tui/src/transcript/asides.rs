//! What is told in one line, whoever it happened to.

use posse_protocol::{Answer, EventKind, words::counted};
use posse_terminal::{Ink, TextLine};
use posse_view::words;

use super::cut;

/// The line of an event; none for those that are told in another way, or not at all. `who` stands before it; `asked` is what
/// a question was about that is closed now.
pub(crate) fn aside(kind: &EventKind, who: &str, asked: Option<&str>) -> Option<TextLine> {
    let text = match kind {
        EventKind::PersonAnswered { answer, .. } => return Some(answered(answer, who, asked)),
        EventKind::ModelFailed { error, .. } => {
            return Some(TextLine::of(&format!("✗ {who}{}", cut(&error.to_string())), Ink::Bad));
        }
        EventKind::Compacted { bytes_before, bytes_after, .. } => {
            let (before, after) = (bytes_before / 1024, bytes_after / 1024);
            format!("· {who}conversation shortened: {before} → {after} KB")
        }
        // Where it began is in its row.
        EventKind::AgentPlaced { worker, epoch, .. } if who.is_empty() || *epoch > 1 => {
            format!("· {who}{}", words::placed(worker, *epoch))
        }
        EventKind::SettingsChanged { model, approval, effort, .. } if who.is_empty() => {
            let effort = effort.as_ref().map(|effort| format!(" · effort {effort}")).unwrap_or_default();
            format!("· model {model} · mode {}{effort}", approval.word())
        }
        EventKind::Merged { branch, changes, conflicts, .. } => {
            let conflicts = match conflicts.len() {
                0 => String::new(),
                count => format!(", {count} in conflict"),
            };
            let changed = counted(changes.len() as u64, "file");
            format!("· {who}merged {branch}: {changed} changed{conflicts}")
        }
        EventKind::Undone { what, changes, conflicts, .. } => {
            let conflicts = match conflicts.len() {
                0 => String::new(),
                count => format!(", {} left as they are", counted(count as u64, "conflict")),
            };
            format!("· undone: {what} ({}{conflicts})", counted(changes.len() as u64, "file"))
        }
        EventKind::BackgroundStarted { name, command } => {
            format!("· {who}{name} runs in the background: {}", cut(command))
        }
        EventKind::BackgroundEnded { name, exit_code, .. } => {
            format!("· {who}{name} ended: {}", words::command_ended(*exit_code))
        }
        EventKind::SessionInterrupted { agents, detached } => {
            format!("· {}", words::was_interrupted(agents.len() as u64, *detached))
        }
        EventKind::HookRan { hook, hook_event, decision, message, .. } => {
            format!("· {}", words::hook_ran(hook, hook_event, *decision, message)?)
        }
        EventKind::SessionResumed { .. } => "· the session goes on".to_owned(),
        EventKind::NotCovered { what, .. } if !what.is_empty() => {
            format!("· undo does not cover {}", cut(&what.join(", ")))
        }
        EventKind::Closing { ending } => format!("· {who}{ending}: asked for a last report"),
        _ => return None,
    };
    Some(TextLine::of(&text, Ink::Quiet))
}

fn answered(answer: &Answer, who: &str, asked: Option<&str>) -> TextLine {
    let what = asked.map(|what| format!("{}: ", cut(what))).unwrap_or_default().replace('\n', " ");
    match (words::answer(answer), answer) {
        (_, Answer::No { reason }) => {
            let why = if reason.is_empty() { String::new() } else { format!(", {reason}") };
            TextLine::of(&format!("✗ {who}{what}"), Ink::Quiet).with(&format!("no{why}"), Ink::Bad)
        }
        (Some(said), _) => TextLine::of(&format!("✓ {who}{what}"), Ink::Quiet).with(&said, Ink::Person),
        (None, _) => TextLine::of(&format!("· {who}{what}nobody answered"), Ink::Quiet),
    }
}
