//! What the status line shows, and what a status line command of the person is told: the same JSON that Claude Code gives to
//! such commands, so that theirs work here.

use posse_terminal::{Ink, Look, TextLine};
use posse_view::words;
use serde_json::{Value, json};

use super::Chat;
use crate::short_number::short;

/// Columns from which on numbers are written out.
const NARROW_COLUMNS: usize = 60;

/// The JSON for a status line command.
pub(crate) fn input(chat: &Chat) -> String {
    let session = chat.session.as_ref();
    let view = session.map(|session| &session.view);
    let model =
        view.and_then(|view| view.model.clone()).or_else(|| chat.facts.model.clone()).unwrap_or_default();
    let window = window(chat);
    let used = session.and_then(|session| session.window_tokens);
    let percent = used.zip(window).map(|(used, window)| used.saturating_mul(100) / window.max(1));
    let value: Value = json!({
        "hook_event_name": "Status",
        "session_id": session.map(|session| session.id.to_string()).unwrap_or_default(),
        "cwd": chat.facts.folder,
        "model": { "id": model, "display_name": model },
        "workspace": { "current_dir": chat.facts.folder, "project_dir": chat.facts.folder },
        "version": chat.facts.version,
        "permission_mode": chat.mode_name(),
        "output_style": { "name": "default" },
        "cost": {
            "total_cost_usd": view.and_then(|view| view.in_all.cost_usd).unwrap_or(0.0),
            "total_duration_ms": view.map_or(0, |view| view.last_at_ms.saturating_sub(view.started_at_ms)),
        },
        "context_window": {
            "context_window_size": window,
            "used_tokens": used,
            "used_percentage": percent,
        },
        "exceeds_200k_tokens": used.is_some_and(|used| used > 200_000),
    });
    value.to_string()
}

/// Tokens that the model's window has.
pub(crate) fn window(chat: &Chat) -> Option<u64> {
    let of_session = chat.session.as_ref().and_then(|session| session.view.model.as_deref());
    let name = of_session.or(chat.facts.model.as_deref())?;
    chat.facts.models.iter().find(|model| model.name == name)?.context_window
}

/// The status line. Where room is short, what matters least goes first.
pub(crate) fn line(chat: &Chat, width: usize) -> TextLine {
    if let Some((note, _)) = &chat.note {
        return TextLine::of(&format!("  {note}"), Ink::Accent);
    }
    if let Some(text) = &chat.status_line {
        return TextLine::of(&format!("  {}", text.lines().next().unwrap_or_default()), Ink::Quiet);
    }
    let view = chat.session.as_ref().map(|session| &session.view);
    let model = view.and_then(|view| view.model.as_deref()).or(chat.facts.model.as_deref());
    let effort = chat.session.as_ref().and_then(|session| session.effort.as_ref());
    let mut parts = vec![(0, model.unwrap_or("no model").to_owned())];
    parts.extend(effort.map(|effort| (5, format!("effort {effort}"))));
    let used = chat.session.as_ref().and_then(|session| session.window_tokens);
    match (used, window(chat)) {
        (Some(used), Some(window)) => {
            let percent = used.saturating_mul(100) / window.max(1);
            parts.push(match width {
                NARROW_COLUMNS.. => (2, format!("{} of {} ({percent}%)", short(used), short(window))),
                _ => (2, format!("{percent}% of {}", short(window))),
            });
        }
        (Some(used), None) => parts.push((2, format!("{} in the window", short(used)))),
        _ => {}
    }
    if let Some(view) = view {
        parts.extend(view.in_all.usage.total_tokens().map(|tokens| (4, format!("{} tokens", short(tokens)))));
        parts.extend(view.in_all.cost_usd.map(|usd| (3, words::cost(usd, view.in_all.cost_unknown > 0))));
    }
    parts.push((1, format!("mode {}", chat.mode_name())));
    parts.extend(chat.facts.branch.clone().map(|branch| (6, branch)));
    loop {
        let told = parts.iter().map(|(_, part)| part.as_str()).collect::<Vec<_>>().join(" · ");
        let line = TextLine::of(&format!("  {told}"), Look::of(Ink::Quiet));
        let least = parts.iter().map(|(rank, _)| *rank).max().filter(|rank| *rank > 1);
        let Some(least) = least.filter(|_| line.columns() > width) else { return line };
        parts.retain(|(rank, _)| *rank != least);
    }
}
