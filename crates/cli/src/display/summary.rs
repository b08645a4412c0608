//! What is said at the end: how it ended, what it took, what changed.

use std::io::{self, Write as _};

use posse_protocol::{Ending, Failure, FileChange, Receipt, Report, SessionId, Usage};

use crate::output::{self, Style, counted, duration, grouped, harmless};

/// Files named one by one; the others are counted.
const FILES_SHOWN_MAX: usize = 12;

pub(super) fn to_stderr(text: &str) -> io::Result<()> {
    io::stderr().write_all(text.as_bytes())
}

/// The final answer and nothing else; what went wrong goes to standard error.
pub(super) fn quiet(report: &Report) -> io::Result<()> {
    if !report.text.is_empty() {
        output::print(&format!("{}\n", harmless(report.text.trim_end())))?;
    }
    match report.ending {
        Ending::Completed => Ok(()),
        _ => to_stderr(&format!("posse: {}\n", harmless(&report.ending.to_string()))),
    }
}

/// A mark and how it ended.
pub(crate) fn ending_line(style: Style, ending: &Ending) -> String {
    let text = harmless(&ending.to_string());
    match ending {
        Ending::Completed => format!("{} {text}", style.green("✓")),
        Ending::Cancelled => format!("{} stopped: what was done so far stays", style.yellow("■")),
        _ => format!("{} {text}", style.red("✗")),
    }
}

/// All that is said after the answer.
pub(crate) fn summary(style: Style, session: SessionId, report: &Report) -> String {
    let ending = ending_line(style, &report.ending);
    // Some failures take several lines to tell.
    let separator = if ending.contains('\n') { "\n  " } else { " · " };
    let mut text = format!("{ending}{}\n", style.dim(&format!("{separator}{}", spent(&report.receipt))));
    if let Some(files) = files(&report.receipt.files) {
        text.push_str(&format!("  changed  {files}\n"));
    }
    if report.receipt.commands_total > 0 {
        let commands = counted(report.receipt.commands_total.into(), "command");
        text.push_str(
            &style.dim(&format!("  ran      {commands}; files changed by commands are not listed\n")),
        );
    }
    // What could not be recorded cannot be shown.
    if !matches!(report.ending, Ending::Failed { failure: Failure::Internal { .. } }) {
        let id = session.to_string();
        text.push_str(&style.dim(&format!("  record   posse sessions show {}\n", &id[..id.len().min(13)])));
    }
    text
}

fn spent(receipt: &Receipt) -> String {
    let mut parts = vec![
        counted(receipt.turns.into(), "turn"),
        counted(receipt.tool_calls.into(), "tool call"),
        tokens(receipt.usage),
    ];
    if let Some(cost) = receipt.cost_usd {
        parts.push(format!("${cost:.4}"));
    }
    parts.push(duration(receipt.duration_ms));
    parts.join(" · ")
}

pub(crate) fn tokens(usage: Usage) -> String {
    match (usage.total_tokens(), usage.cached_tokens) {
        (None, _) => "tokens not reported".to_string(),
        (Some(total), Some(cached)) if cached > 0 => {
            format!("{} ({} cached)", counted(total, "token"), grouped(cached))
        }
        (Some(total), _) => counted(total, "token"),
    }
}

fn files(files: &[FileChange]) -> Option<String> {
    let named = files.iter().take(FILES_SHOWN_MAX).map(|file| {
        let new = if file.created { "new " } else { "" };
        format!("{new}{} (+{} −{})", harmless(&file.path), file.lines_added, file.lines_removed)
    });
    let mut named = named.collect::<Vec<_>>();
    if files.len() > FILES_SHOWN_MAX {
        named.push(format!("and {} more", files.len() - FILES_SHOWN_MAX));
    }
    (!named.is_empty()).then(|| named.join(", "))
}
