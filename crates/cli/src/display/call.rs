//! One answered tool call in one line. Pure.

use posse_protocol::Effect;

use crate::output::{duration, one_line, trimmed};

/// A mark, what the call was about, and what is worth knowing of how it went.
pub(crate) fn call_text(title: &str, ok: bool, text: &str, effects: &[Effect], duration_ms: u64) -> String {
    let mut facts = Vec::new();
    for effect in effects {
        match effect {
            Effect::File(change) => facts.push(format!("+{} −{}", change.lines_added, change.lines_removed)),
            Effect::Command(run) => match run.exit_code {
                Some(0) | None => {}
                Some(code) => facts.push(format!("exit {code}")),
            },
            Effect::NotCertain(_)
            | Effect::Background { .. }
            | Effect::TestFile(_)
            | Effect::Commit(_)
            | Effect::Todo { .. }
            | Effect::Denied(_)
            | Effect::Noted(_) => {}
        }
    }
    if !ok && facts.is_empty() {
        facts.push(one_line(trimmed(text), 120));
    }
    if duration_ms >= 1000 {
        facts.push(duration(duration_ms));
    }
    let mark = if ok { "•" } else { "✗" };
    let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
    format!("{mark} {title}{facts}")
}
