//! One line for a call of a tool, with its path and its outcome; a few more where it failed.

use posse_protocol::{CallKind, Effect, words::duration};
use posse_terminal::{Ink, TextLine};
use posse_view::OpenCall;

use crate::limits::{FAILED_LINES_MAX, TITLE_COLUMNS_MAX};

/// The lines of a call that has a result.
pub(crate) fn finished_call(
    call: Option<&OpenCall>,
    tool: &str,
    ok: bool,
    text: &str,
    duration_ms: u64,
    effects: &[Effect],
) -> Vec<TextLine> {
    let title = call.map_or(tool, |call| call.title.as_str());
    let kind = call.map_or(CallKind::Other, |call| call.kind);
    if ok && kind == CallKind::Delegate {
        // The agents tell the rest themselves.
        return Vec::new();
    }
    let (mark, ink) = if ok { (mark(kind), Ink::Quiet) } else { ("✗", Ink::Bad) };
    let mut line = TextLine::of(&format!("{mark} "), if ok { Ink::Accent } else { ink });
    line.append(TextLine::of(title, Ink::Quiet).cut(TITLE_COLUMNS_MAX));
    if let Some(outcome) = outcome(ok, effects) {
        line.push(&format!("  {outcome}"), ink);
    }
    if duration_ms >= 1000 {
        line.push(&format!("  {}", duration(duration_ms)), Ink::Quiet);
    }
    let mut lines = vec![line];
    if !ok {
        lines.extend(last_lines(text).map(|text| TextLine::of(&format!("    {text}"), Ink::Quiet)));
    }
    lines
}

fn mark(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Edit => "✎",
        CallKind::Run => "$",
        CallKind::Fetch => "↓",
        CallKind::Ask => "?",
        _ => "•",
    }
}

/// What came of a command.
fn outcome(ok: bool, effects: &[Effect]) -> Option<String> {
    let code = effects.iter().find_map(|effect| match effect {
        Effect::Command(run) => Some(run.exit_code),
        _ => None,
    })?;
    match code {
        Some(0) if ok => None,
        Some(code) => Some(format!("exit {code}")),
        None => Some("stopped".to_owned()),
    }
}

/// The last lines of an output that say something.
fn last_lines(text: &str) -> impl Iterator<Item = &str> {
    let told = text.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>();
    let skipped = told.len().saturating_sub(FAILED_LINES_MAX);
    told.into_iter().skip(skipped)
}
