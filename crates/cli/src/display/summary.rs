//! What is said at the end: how it ended, what it took, what changed.

use std::io;

use posse_engine::reports::{Told, facts_line, files, summary_block};
use posse_protocol::{Ending, Failure, Receipt, Report, SessionId};
use posse_view::{AgentState, SessionView, words};

use super::branches;
use super::mark::mark;
use super::measured;
use crate::output::{self, Style, counted, one_line, trimmed, visible};

/// What is not covered, named one by one; the others are counted.
const LISTED_MAX: usize = 12;
/// Denied calls named one by one; the others are counted.
const DENIALS_SHOWN_MAX: usize = 5;
/// Columns of the reason of a denial.
const REASON_COLUMNS_MAX: usize = 300;
/// Columns of what a server said.
const WORDS_COLUMNS_MAX: usize = 600;
/// Characters of a session's id that are shown.
const ID_CHARS: usize = 13;

/// The final answer and nothing else. What was measured, and what went wrong or does not hold, goes to standard error.
pub(super) fn quiet(report: &Report) -> io::Result<()> {
    if !report.text.is_empty() {
        output::print(&format!("{}\n", visible(trimmed(&report.text))))?;
    }
    if !nothing_done(report) {
        output::print_aside(&format!("posse: measured: {}\n", measured::line(&facts_line(&report.receipt))))?;
    }
    for warning in measured::warnings(report.remarks()) {
        output::print_aside(&format!("posse: warning: {warning}\n"))?;
    }
    match report.ending {
        Ending::Completed if report.blocked => output::print_aside(&format!("posse: {}\n", report.outcome())),
        Ending::Completed => Ok(()),
        _ => output::print_aside(&format!("posse: {}\n", told(&report.ending))),
    }
}

/// The same where agents were left to be resumed.
pub(super) fn quiet_let_go(session: SessionId, words: &str, agents: usize) -> io::Result<()> {
    if !words.trim().is_empty() {
        output::print(&format!("{}\n", visible(trimmed(words))))?;
    }
    output::print_aside(&format!("posse: {}\n", left(session, agents)))
}

/// Says that agents were left where they are, and how to go on.
pub(super) fn left(session: SessionId, agents: usize) -> String {
    // The main agent is one of them.
    let agents = match agents.saturating_sub(1) as u64 {
        1 => "1 sub-agent is left where it is".to_string(),
        n => format!("{} are left where they are", counted(n, "sub-agent")),
    };
    format!("not done: {agents}; go on with: posse resume {}", short(session))
}

/// As much of a session's id as people need.
pub(crate) fn short(session: SessionId) -> String {
    session.to_string().chars().take(ID_CHARS).collect()
}

/// A mark and how it ended.
pub(crate) fn ending_line(style: Style, report: &Report) -> String {
    let text = visible(&report.outcome());
    let mark = mark(style, AgentState::from(&report.ending), report.blocked);
    match report.ending {
        Ending::Cancelled => format!("{mark} stopped: what was done so far stays"),
        _ => format!("{mark} {text}"),
    }
}

/// How it ended, for people: what happened, what the server said and what to do, a line each.
fn told(ending: &Ending) -> String {
    let Ending::Failed { failure: Failure::Model { message, said, advice, .. } } = ending else {
        return visible(&ending.to_string()).replace('\n', "\n  ");
    };
    let mut text = visible(message).replace('\n', "\n  ");
    for (label, words) in
        [("it said", said), ("do", advice)].into_iter().filter(|(_, words)| !words.is_empty())
    {
        text.push_str(&format!("\n  {label:<9}{}", one_line(words, WORDS_COLUMNS_MAX)));
    }
    text
}

fn model_failed(report: &Report) -> bool {
    matches!(report.ending, Ending::Failed { failure: Failure::Model { .. } })
}

/// Whether it ended at the model before anything was done.
fn nothing_done(report: &Report) -> bool {
    let receipt = &report.receipt;
    let nothing =
        receipt.tool_calls == 0 && receipt.usage.total_tokens().is_none() && receipt.below.agents == 0;
    model_failed(report) && nothing
}

/// The first lines of what is said after the answer: a mark, how it ended, and what it took unless nothing was done.
fn ended(style: Style, report: &Report) -> String {
    let receipt = &report.receipt;
    if !model_failed(report) {
        let ending = ending_line(style, report);
        // Some failures take several lines to tell.
        let separator = if ending.contains('\n') { "\n  " } else { " · " };
        return format!("{ending}{}\n", style.dim(&format!("{separator}{}", spent(receipt))));
    }
    let text = format!("{} {}\n", style.red("✗"), told(&report.ending));
    if nothing_done(report) {
        text
    } else {
        format!("{text}{}", style.dim(&format!("  so far   {}\n", spent(receipt))))
    }
}

/// All that is said after the answer.
pub(super) fn summary(style: Style, session: SessionId, report: &Report, view: &SessionView) -> String {
    let mut text = ended(style, report);
    let receipt = &report.receipt;
    let in_folder =
        Receipt { files: view.files_in_folder(receipt), files_below: Vec::new(), ..receipt.clone() };
    let recorded = !matches!(report.ending, Ending::Failed { failure: Failure::Internal { .. } });
    if !recorded {
        let facts = measured::line(&facts_line(&in_folder));
        text.push_str(&style.dim(&format!("  not all of it is on record; by then: {facts}\n")));
    } else if !nothing_done(report) {
        text.push_str(&measured::lines(style, &in_folder));
    }
    text.push_str(&branches::told(style, view));
    if !receipt.files_not_certain.is_empty() {
        let files = files(&receipt.files_not_certain);
        text.push_str(&style.yellow(&format!("  not certain whose  {files}\n")));
    }
    let commands = receipt.commands_total.saturating_add(receipt.below.commands);
    if let Some(note) = not_covered(&receipt.not_covered).filter(|_| commands > 0) {
        text.push_str(&style.dim(&format!("  note     {note}\n")));
    }
    for warning in measured::warnings(report.remarks()) {
        text.push_str(&style.yellow(&format!("  warning  {warning}\n")));
    }
    for denial in report.receipt.denied.iter().take(DENIALS_SHOWN_MAX) {
        let what = one_line(&format!("{} {}", denial.tool, denial.what), 100);
        let line = format!(
            "  denied   {}: {what} ({})\n",
            one_line(&denial.agent, 60),
            one_line(&denial.reason, REASON_COLUMNS_MAX)
        );
        text.push_str(&style.yellow(&line));
    }
    if let Some(more @ 1..) = report.receipt.denied.len().checked_sub(DENIALS_SHOWN_MAX) {
        text.push_str(&style.yellow(&format!("  denied   and {more} more\n")));
    }
    // What could not be recorded cannot be shown.
    if recorded {
        text.push_str(&style.dim(&format!("  record   posse sessions show {}\n", short(session))));
    }
    text
}

/// What undoing does not cover, in one line, if there is something.
pub(crate) fn not_covered(what: &[String]) -> Option<String> {
    (!what.is_empty()).then(|| format!("undo does not cover {}", listed(what)))
}

/// What commands cannot write, in one line, if there is something.
pub(crate) fn read_only_for_commands(folders: &[String]) -> Option<String> {
    let why = "read-only for commands, because files in there have other names outside";
    (!folders.is_empty()).then(|| format!("{why}: {}", listed(folders)))
}

fn listed(all: &[String]) -> String {
    let mut shown: Vec<String> = all.iter().take(LISTED_MAX).map(|one| one_line(one, 120)).collect();
    shown.extend(
        all.len().checked_sub(LISTED_MAX).filter(|more| *more > 0).map(|more| format!("{more} more")),
    );
    shown.join("; ")
}

/// What a sub-agent came to, in a few lines: how it ended, what it took, what it changed, what it says.
pub(super) fn sub_agent_block(style: Style, name: &str, title: &str, report: &Report) -> String {
    let mark = mark(style, AgentState::from(&report.ending), report.blocked);
    let told = Told { name, role: "", title, report, bytes_max: 0, handle: "" };
    let block = visible(&summary_block(&told));
    let (first, rest) = block.split_once('\n').unwrap_or((&block, ""));
    format!("{mark} {first}\n{}\n", style.dim(rest))
}

/// The same in one line.
pub(super) fn settled_line(style: Style, report: &Report) -> String {
    let ending = ending_line(style, report).replace('\n', " ");
    let mut text =
        format!("{ending} · {} · {}", spent(&report.receipt), measured::line(&facts_line(&report.receipt)));
    for warning in measured::warnings(report.remarks()) {
        text.push_str(&style.yellow(&format!(" · warning: {warning}")));
    }
    text
}

fn spent(receipt: &Receipt) -> String {
    words::spent(receipt).join(" · ")
}

#[cfg(test)]
mod tests {
    use posse_protocol::{Below, Usage};

    use super::super::sample::report;
    use super::*;

    #[test]
    fn a_sub_agent_is_summed_up_in_a_block() {
        let done = report(Ending::Completed, "Five cases\nfor \x1b[2Jlogin.\n\nDetails.");
        let mut failed = report(Ending::OutOfTurns, "");
        failed.receipt.files.clear();
        failed.receipt.tests = None;
        failed.warnings = vec!["a.rs:99 does not exist".to_string()];
        let cases = [
            (
                done,
                "\
✓ [sub-agent tester-1] Completed: \"tests for auth\"
  Duration: 34 s (6 turns, 8 tool calls)
  Files modified: tests/auth.rs (+82 lines, new file)
  Measured: no commands run; tests failed: `cargo test` (exit code 101, 4 of 5 passed); no commits; no sub-agents
  Result: Five cases for \\u{1b}[2Jlogin.
",
            ),
            (
                failed,
                "\
✗ [sub-agent tester-1] Out of turns: \"tests for auth\"
  Duration: 34 s (6 turns, 8 tool calls)
  Measured: no commands run; no tests run; no commits; no sub-agents; no files changed
  Warning: a.rs:99 does not exist
",
            ),
        ];
        assert_eq!(cases.len(), 2);
        for (report, expected) in cases {
            assert_eq!(sub_agent_block(Style::plain(), "tester-1", "tests for auth", &report), expected);
        }
    }

    #[test]
    fn warnings_are_told_wherever_an_agents_end_is() {
        let mut report = report(Ending::Completed, "");
        let note = "No checkout of its own: this is not a git repository. It works in the shared folder.";
        report.warnings = vec![note.to_string()];
        assert!(settled_line(Style::plain(), &report).ends_with(&format!(" · warning: {note}")));
        assert!(sub_agent_block(Style::plain(), "tester-1", "", &report).contains(note));
        let id = "00000000-0000-7000-8000-000000000001".parse().unwrap();
        let told = summary(Style::plain(), id, &report, &SessionView::default());
        assert!(told.contains(&format!("  warning  {note}\n")), "{told}");
    }

    #[test]
    fn what_sub_agents_took_is_told_beside_the_agents_own() {
        let mut report = report(Ending::Completed, "");
        report.receipt.usage.input_tokens = Some(1_000);
        let alone = "✓ completed · 6 turns · 8 tool calls · 1,000 tokens · 34 s · no commands run; ";
        let told = settled_line(Style::plain(), &report);
        assert!(told.starts_with(alone), "{told}");
        let usage = Usage { input_tokens: Some(500), ..Usage::default() };
        report.receipt.below = Below { agents: 2, usage, cost_usd: Some(0.5), ..Below::default() };
        let together = "✓ completed · 6 turns · 8 tool calls · 1,000 tokens · 2 sub-agents: 1,500 tokens in all, $0.5000 · 34 s · no commands run; ";
        let told = settled_line(Style::plain(), &report);
        assert!(told.starts_with(together), "{told}");
    }
}
