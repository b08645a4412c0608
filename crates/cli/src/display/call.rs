//! One answered tool call: a line, and below a command that failed the end of what it printed. Pure.

use posse_protocol::{Effect, Event, EventKind};
use posse_view::Folded;

use crate::limits::{OUTPUT_LINES_MAX, TEXT_COLUMNS_MAX, TITLE_COLUMNS_MIN};
use crate::output::{columns, duration, one_line, trimmed};

/// A mark, what the call was about, and what is worth knowing of how it went. The title gives way to the outcome.
pub(crate) fn call_text(title: &str, finished: &EventKind, columns_max: usize) -> String {
    let EventKind::ToolFinished { ok, text, effects, duration_ms, .. } = finished else {
        return String::new();
    };
    let mut facts = effects.iter().filter_map(fact).collect::<Vec<_>>();
    if !ok && facts.is_empty() {
        facts.push(one_line(what_happened(text), 120));
    }
    if *duration_ms >= 1000 {
        facts.push(duration(*duration_ms));
    }
    let mark = if *ok { "•" } else { "✗" };
    let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
    let room = columns_max.saturating_sub(columns(&facts) + 2).max(TITLE_COLUMNS_MIN);
    one_line(&format!("{mark} {}{facts}", one_line(title, room)), columns_max)
}

/// What a failed call says of what happened. What to do next is meant for the model.
fn what_happened(text: &str) -> &str {
    let line = trimmed(text).lines().next().unwrap_or_default();
    let end = [". ", "; "].iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
    line[..end].trim_end_matches(['.', ':'])
}

fn fact(effect: &Effect) -> Option<String> {
    match effect {
        Effect::File(change) => Some(format!("+{} -{}", change.lines_added, change.lines_removed)),
        Effect::Command(run) => run.exit_code.filter(|code| *code != 0).map(|code| format!("exit {code}")),
        // What the model is told of it is not for the person.
        Effect::Denied(denial) => {
            let reason = denial_words(&denial.reason);
            let denied = if reason == denial.reason { "not allowed: " } else { "" };
            Some(one_line(&format!("{denied}{reason}"), 100))
        }
        Effect::NotCertain(_)
        | Effect::Background { .. }
        | Effect::TestFile(_)
        | Effect::Commit(_)
        | Effect::Todo { .. }
        | Effect::Noted(_) => None,
    }
}

/// Why a call was denied, to the person who may have done it.
pub(super) fn denial_words(reason: &str) -> String {
    match reason.strip_prefix("the person said no") {
        Some(rest) => format!("you said no{rest}"),
        None => reason.to_string(),
    }
}

/// The last lines that a failed command printed.
pub(crate) fn last_lines(finished: &EventKind, columns_max: usize) -> Vec<String> {
    let EventKind::ToolFinished { text, effects, .. } = finished else { return Vec::new() };
    let failed = |effect: &Effect| matches!(effect, Effect::Command(run) if run.exit_code != Some(0));
    if !effects.iter().any(failed) {
        return Vec::new();
    }
    // The first line is Posse's own, about the exit.
    let lines = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let lines = lines.map(|line| one_line(line.trim_end(), columns_max)).collect::<Vec<_>>();
    lines[lines.len().saturating_sub(OUTPUT_LINES_MAX)..].to_vec()
}

/// What the call that ends was about. One that was refused never began.
pub(super) fn title(event: &Event, folded: &Folded) -> String {
    match (&folded.call, &event.kind) {
        (Some(call), _) => one_line(&call.title, TEXT_COLUMNS_MAX),
        (None, EventKind::ToolFinished { tool, .. }) => one_line(tool, 60),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use posse_protocol::{CallId, CommandRun, Denial};

    use super::*;

    fn finished(ok: bool, text: &str, effects: Vec<Effect>) -> EventKind {
        let (call, tool) = (CallId("c".into()), "shell".into());
        EventKind::ToolFinished {
            call,
            tool,
            ok,
            text: text.into(),
            attachments: Vec::new(),
            effects,
            duration_ms: 0,
        }
    }

    #[test]
    fn the_outcome_is_never_cut_off() {
        let run = CommandRun { command: "x".into(), exit_code: Some(3), ..CommandRun::default() };
        let failed = finished(false, "exit code 3\none\ntwo\n\nthree\nfour\n", vec![Effect::Command(run)]);
        let title = format!("shell for i in {}", "1 2 3 ".repeat(40));
        for columns_max in [40, 77] {
            let line = call_text(&title, &failed, columns_max);
            assert!(line.ends_with("… (exit 3)") && columns(&line) <= columns_max, "{line}");
        }
        assert_eq!(last_lines(&failed, 80), ["two", "three", "four"]);
        assert!(last_lines(&finished(true, "exit code 0\none\n", Vec::new()), 80).is_empty());
    }

    #[test]
    fn what_the_model_is_to_do_next_is_not_told() {
        let cases = [
            (
                "No line matches in files like *.rs. Call grep again without glob.",
                "No line matches in files like *.rs",
            ),
            (
                "old_text is in a.py 2 times, on lines 1, 2; call edit_file again",
                "old_text is in a.py 2 times, on lines 1, 2",
            ),
            ("edit_file: no such field\nNothing was run. Correct the arguments.", "edit_file: no such field"),
            ("a.py is not as you saw it:\n1: x\nCall edit_file again.", "a.py is not as you saw it"),
            ("There is no file v1.2.txt.", "There is no file v1.2.txt"),
            ("", ""),
        ];
        assert_eq!(cases.len(), 6);
        for (text, told) in cases {
            let line = call_text("x", &finished(false, text, Vec::new()), 100);
            assert_eq!(line, format!("✗ x ({told})"));
        }
    }

    #[test]
    fn a_denial_is_told_in_words_for_people() {
        let denial = Denial {
            agent: "main".into(),
            tool: "write_file".into(),
            what: "a.py".into(),
            reason: "the person said no: use pathlib".into(),
        };
        let text = "Not allowed: the person said no. Nothing was done. Do not look for another way.";
        let line = call_text("write_file a.py", &finished(false, text, vec![Effect::Denied(denial)]), 100);
        assert_eq!(line, "✗ write_file a.py (you said no: use pathlib)");
    }
}
