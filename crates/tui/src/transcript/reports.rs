//! How an agent ended, in a few lines: what was measured, what it came to, and what does not hold of it.

use posse_protocol::{Ending, FileChange, Report};
use posse_terminal::{Ink, Look, TextLine};
use posse_view::{AgentView, words};

use crate::limits::{REPORT_LINES_MAX, WARNINGS_MAX};

/// The end of a prompt or of the session: how, what it took, what changed.
pub(crate) fn ended(report: &Report) -> Vec<TextLine> {
    let mut parts = words::spent(&report.receipt);
    parts.extend(changed(&report.receipt.files, &report.receipt.files_below));
    let mut lines = vec![head(report).with(&parts.join(" · "), Ink::Quiet)];
    if let Ending::Failed { failure } = &report.ending {
        lines.push(TextLine::of(&format!("  {failure}"), Ink::Bad));
    }
    lines.extend(remarks(report));
    lines
}

/// The end of a sub-agent, with what it came to.
pub(crate) fn settled(agent: &AgentView, number: u8, report: &Report) -> Vec<TextLine> {
    let mut line = head(report);
    line.push(&agent.name, Look::of(Ink::Agent(number)).bold());
    if let Some(title) = agent.title.as_deref().filter(|title| !title.is_empty()) {
        line.push(&format!("  {title}"), Look::PLAIN);
    }
    let receipt = &report.receipt;
    let mut parts = vec![words::counted(receipt.turns.into(), "turn"), words::duration(receipt.duration_ms)];
    parts.extend(receipt.usage.total_tokens().map(|tokens| words::counted(tokens, "token")));
    parts.extend(receipt.cost_usd.map(|usd| words::cost(usd, false)));
    parts.extend(changed(&receipt.files, &receipt.files_below));
    line.push(&format!("  {}", parts.join(" · ")), Ink::Quiet);
    let summary = posse_report::summary(report);
    let told = summary.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>();
    let mut lines = vec![line];
    if let Ending::Failed { failure } = &report.ending {
        lines.push(TextLine::of(&format!("    {failure}"), Ink::Bad));
    }
    lines.extend(
        told.iter().take(REPORT_LINES_MAX).map(|text| TextLine::of(&format!("    {text}"), Ink::Quiet)),
    );
    if let Some(more @ 1..) = told.len().checked_sub(REPORT_LINES_MAX) {
        let more = words::counted(more as u64, "more line");
        lines.push(TextLine::of(&format!("    … {more} (/tasks opens the report)"), Ink::Quiet));
    }
    lines.extend(remarks(report));
    lines
}

/// A mark for how it ended.
fn head(report: &Report) -> TextLine {
    match &report.ending {
        Ending::Completed if report.blocked => TextLine::of("! completed with blockers · ", Ink::Warning),
        Ending::Completed => TextLine::of("✓ ", Ink::Good),
        Ending::Cancelled => TextLine::of("■ stopped · ", Ink::Warning),
        Ending::Failed { .. } => TextLine::of("✗ failed · ", Ink::Bad),
        ending => TextLine::of(&format!("✗ {ending} · "), Ink::Bad),
    }
}

fn changed(own: &[FileChange], below: &[FileChange]) -> Option<String> {
    let all = || own.iter().chain(below);
    let sum = |count: fn(&FileChange) -> u32| all().map(|file| u64::from(count(file))).sum::<u64>();
    let files = all().map(|file| &file.path).collect::<std::collections::BTreeSet<_>>().len() as u64;
    let (added, removed) = (sum(|file| file.lines_added), sum(|file| file.lines_removed));
    (files > 0).then(|| format!("{} changed (+{added} −{removed})", words::counted(files, "file")))
}

fn remarks(report: &Report) -> Vec<TextLine> {
    let mut lines: Vec<_> = report
        .remarks()
        .take(WARNINGS_MAX)
        .map(|text| TextLine::of(&format!("  ! {}", text.replace('\n', " ")), Ink::Warning))
        .collect();
    if let Some(more @ 1..) = report.remarks().count().checked_sub(WARNINGS_MAX) {
        lines.push(TextLine::of(&format!("  ! and {more} more"), Ink::Warning));
    }
    lines
}
