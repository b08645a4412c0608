//! What is said at the end: how it ended, what it took, what changed.

use std::io;

use posse_protocol::{AgentState, Ending, Failure, Receipt, Report, SessionId};
use posse_report::{facts, facts_line, files};
use posse_view::{AgentView, SessionView, words};

use super::branches;
use super::call::denial_words;
use super::labelled::{labelled, lines};
use super::mark::mark;
use super::measured;
use super::names::NameColumn;
use crate::limits::{
    DENIALS_SHOWN_MAX, ID_CHARS, LISTED_MAX, REASON_COLUMNS_MAX, TITLE_COLUMNS_MAX, WORDS_COLUMNS_MAX,
};
use crate::output::{self, Style, columns, counted, duration, one_line, trimmed, visible};
use crate::prose::{hanging, parted};

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
        _ => output::print_aside(&format!("posse: {}\n", told(&report.ending, usize::MAX))),
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

/// As much of a session's id as people need: its end. The beginning is the time, which sessions of the same minute share.
pub(crate) fn short(session: SessionId) -> String {
    let id = session.to_string();
    id[id.len().saturating_sub(ID_CHARS)..].to_string()
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
fn told(ending: &Ending, width: usize) -> String {
    let Ending::Failed { failure: Failure::Model { message, said, advice, .. } } = ending else {
        return visible(&ending.to_string()).replace('\n', "\n  ");
    };
    let mut text = visible(message).replace('\n', "\n  ");
    for (label, words) in
        [("it said", said), ("do", advice)].into_iter().filter(|(_, words)| !words.is_empty())
    {
        for row in hanging(&format!("  {label:<7}  "), &one_line(words, WORDS_COLUMNS_MAX), width) {
            text.push_str(&format!("\n{row}"));
        }
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
pub(super) fn ended(style: Style, report: &Report, width: usize) -> String {
    let receipt = &report.receipt;
    if !model_failed(report) {
        let ending = ending_line(style, report);
        // Some failures take several lines to tell, and a mark with its colour is longer than it looks.
        let taken = columns(&ending_line(Style::plain(), report));
        if ending.contains('\n') || taken > width / 2 {
            return format!(
                "{ending}\n{}",
                lines(&parted("  ", &words::spent(receipt), width), |row| style.dim(row))
            );
        }
        let spent = parted(&" ".repeat(taken + 3), &words::spent(receipt), width);
        let spent = lines(&spent, |row| style.dim(row));
        // The first row continues the one that tells how it ended.
        let spent = spent.replacen(&" ".repeat(taken + 3), " · ", 1);
        return format!("{ending}{spent}");
    }
    let text = format!("{} {}\n", style.red("✗"), told(&report.ending, width));
    if nothing_done(report) {
        return text;
    }
    let spent = parted("  so far   ", &words::spent(receipt), width);
    format!("{text}{}", lines(&spent, |row| style.dim(row)))
}

/// All that is said after the answer, in rows of at most `width` columns. The last lines say what to type next, where a
/// session is named.
pub(super) fn summary(
    style: Style,
    session: Option<SessionId>,
    report: &Report,
    view: &SessionView,
    width: usize,
) -> String {
    let mut text = ended(style, report, width);
    let receipt = &report.receipt;
    let in_folder =
        Receipt { files: view.files_in_folder(receipt), files_below: Vec::new(), ..receipt.clone() };
    let recorded = !matches!(report.ending, Ending::Failed { failure: Failure::Internal { .. } });
    if !recorded {
        let facts = measured::line(&facts_line(&in_folder));
        text.push_str(&style.dim(&format!("  not all of it is on record; by then: {facts}\n")));
    } else if !nothing_done(report) {
        text.push_str(&measured::lines(style, &in_folder, width));
    }
    text.push_str(&branches::told(style, view));
    let yellow = |row: &str| style.yellow(row);
    if !receipt.files_not_certain.is_empty() {
        text.push_str(&labelled("unsure", &unsure(&files(&receipt.files_not_certain)), width, yellow));
    }
    let commands = receipt.commands_total.saturating_add(receipt.below.commands);
    if let Some(note) = not_covered(&receipt.not_covered).filter(|_| commands > 0) {
        text.push_str(&labelled("note", &note, width, |row| style.dim(row)));
    }
    for warning in measured::warnings(report.remarks()) {
        text.push_str(&labelled("warning", &warning, width, yellow));
    }
    text.push_str(&denials(style, receipt, width));
    // What could not be recorded cannot be shown.
    if let Some(session) = session.filter(|_| recorded) {
        let changed = !in_folder.files.is_empty();
        text.push_str(&next_steps(style, &short(session), &report.ending, changed));
    }
    text
}

fn unsure(files: &str) -> String {
    format!("{files}: changed while a command ran, by it or by somebody else")
}

fn denials(style: Style, receipt: &Receipt, width: usize) -> String {
    let mut text = String::new();
    for denial in receipt.denied.iter().take(DENIALS_SHOWN_MAX) {
        let what = one_line(&format!("{} {}", denial.tool, denial.what), 100);
        let (agent, reason) =
            (one_line(&denial.agent, 60), one_line(&denial_words(&denial.reason), REASON_COLUMNS_MAX));
        let line = format!("{agent}: {what} ({reason})");
        text.push_str(&labelled("denied", &line, width, |row| style.yellow(row)));
    }
    if let Some(more @ 1..) = receipt.denied.len().checked_sub(DENIALS_SHOWN_MAX) {
        text.push_str(&style.yellow(&format!("  denied   and {more} more\n")));
    }
    text
}

/// What to type next.
fn next_steps(style: Style, id: &str, ending: &Ending, changed: bool) -> String {
    let steps = [
        (*ending != Ending::Completed, "go on", "resume"),
        (changed, "see", "diff"),
        (changed, "undo", "undo"),
        (true, "record", "sessions show"),
    ];
    let steps = steps.iter().filter(|(wanted, ..)| *wanted);
    steps.map(|(_, label, command)| style.dim(&format!("  {label:<7}  posse {command} {id}\n"))).collect()
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

/// What a sub-agent did, in a few lines behind its name: how it ended, what it took, what was measured, what it says.
pub(super) fn sub_agent_block(
    style: Style,
    name: &NameColumn,
    agent: &AgentView,
    report: &Report,
    width: usize,
) -> String {
    let mark = mark(style, AgentState::from(&report.ending), report.blocked);
    let indent = " ".repeat(name.columns);
    let outcome = (!report.is_success()).then(|| ending_words(report));
    let mut parts = outcome.into_iter().collect::<Vec<_>>();
    parts.extend(agent.title.as_deref().map(|title| one_line(title, TITLE_COLUMNS_MAX)));
    let receipt = &report.receipt;
    parts.push(counted(receipt.turns.into(), "turn"));
    parts.push(counted(receipt.tool_calls.into(), "tool call"));
    parts.push(duration(receipt.duration_ms));
    let head = format!("{indent}  ");
    let first = lines(&parted(&head, &parts, width), |row| style.dim(row));
    let mut text = first.replacen(&head, &format!("{}{mark} ", name.painted), 1);
    let (there, missing): (Vec<_>, Vec<_>) = facts(receipt).into_iter().partition(|fact| fact.any);
    let missing = missing.iter().map(|fact| fact.text.as_str()).collect::<Vec<_>>().join("; ");
    let told =
        there.iter().map(|fact| fact.text.as_str()).chain((!missing.is_empty()).then_some(missing.as_str()));
    for fact in told {
        text.push_str(&lines(&hanging(&head, &measured::line(fact), width), |row| style.dim(row)));
    }
    for warning in measured::warnings(report.remarks()) {
        let rows = hanging(&head, &format!("warning: {warning}"), width);
        text.push_str(&lines(&rows, |row| style.yellow(row)));
    }
    // Where an agent said nothing, its summary is how it ended.
    let summary = agent.report.as_ref().filter(|_| !report.text.trim().is_empty());
    let summary = summary.map(|report| report.summary.split_whitespace().collect::<Vec<_>>().join(" "));
    if let Some(summary) = summary.map(|summary| one_line(&summary, WORDS_COLUMNS_MAX)) {
        text.push_str(&lines(&hanging(&head, &summary, width), str::to_string));
    }
    text
}

/// How it ended, in words and in one line.
fn ending_words(report: &Report) -> String {
    one_line(&report.outcome(), WORDS_COLUMNS_MAX)
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
    use posse_protocol::{Below, EventKind, Usage};

    use super::super::names;
    use super::super::sample::{admitted, event, id, report, started, view};
    use super::*;

    fn block(report: &Report, width: usize) -> String {
        let mut events =
            vec![event(1, 0, started(0, None)), event(2, 1, admitted("tester-1", 1, "tests for auth"))];
        events.push(event(2, 1, EventKind::AgentSettled { report: report.clone() }));
        let view = view(events);
        let agent = view.agents.get(id(2)).unwrap();
        sub_agent_block(Style::plain(), &names::column(Style::plain(), &view, agent), agent, report, width)
    }

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
tester-1  ✓ tests for auth · 6 turns · 8 tool calls · 34 s
            tests failed: `cargo test` (exit code 101, 4 of 5
            passed)
            1 file changed (+82 -0): tests/auth.rs (+82 lines,
            new file)
            no commands run; no commits; no sub-agents
            Five cases for \\u{1b}[2Jlogin.
",
            ),
            (
                failed,
                "\
tester-1  ✗ out of turns · tests for auth · 6 turns
            8 tool calls · 34 s
            no commands run; no tests run; no commits; no
            sub-agents; no files changed
            warning: a.rs:99 does not exist
",
            ),
        ];
        assert_eq!(cases.len(), 2);
        for (report, expected) in cases {
            assert_eq!(block(&report, 62), expected);
        }
    }

    #[test]
    fn what_to_type_next_follows_how_it_ended() {
        let (resume, see, undo, record) = (
            "  go on    posse resume 1a2b\n",
            "  see      posse diff 1a2b\n",
            "  undo     posse undo 1a2b\n",
            "  record   posse sessions show 1a2b\n",
        );
        let cases = [
            (Ending::Completed, false, vec![record]),
            (Ending::Completed, true, vec![see, undo, record]),
            (Ending::Cancelled, false, vec![resume, record]),
            (Ending::OutOfTurns, true, vec![resume, see, undo, record]),
        ];
        assert_eq!(cases.len(), 4);
        for (ending, changed, expected) in cases {
            assert_eq!(next_steps(Style::plain(), "1a2b", &ending, changed), expected.concat(), "{ending:?}");
        }
    }

    #[test]
    fn warnings_are_told_wherever_an_agents_end_is() {
        let mut report = report(Ending::Completed, "");
        let note = "No checkout of its own: this is not a git repository. It works in the shared folder.";
        report.warnings = vec![note.to_string()];
        assert!(settled_line(Style::plain(), &report).ends_with(&format!(" · warning: {note}")));
        assert!(block(&report, usize::MAX).contains(note));
        let id = "00000000-0000-7000-8000-000000000001".parse().unwrap();
        let told = summary(Style::plain(), Some(id), &report, &SessionView::default(), usize::MAX);
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
