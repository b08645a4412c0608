//! All that is known of one agent.

use posse_protocol::words::{counted, duration};
use posse_terminal::{Ink, Look, Markdown, TextLine};
use posse_view::{AgentView, BranchState, ReportView, SessionView, words};

use super::super::frame::state_ink;
use super::tree::{doing, figures, todo};
use crate::limits::{DETAIL_ITEMS_MAX, DETAIL_TODO_ROWS_MAX};

/// The details in rows of so many columns.
pub(super) fn details(
    agent: &AgentView,
    number: u8,
    view: &SessionView,
    columns: usize,
    now_ms: u64,
) -> Vec<TextLine> {
    let mut lines = heading(agent, number);
    if let Some(error) = &agent.error {
        lines.push(TextLine::of(&format!("✗ {}", error.replace('\n', " ")), Ink::Bad));
    }
    if !agent.has_ended() {
        lines.extend(at_work(agent, view, now_ms));
    }
    if let Some(report) = &agent.report {
        lines.extend(reported(report, columns));
    } else if agent.has_ended() {
        lines.push(TextLine::of("It left no report.", Ink::Quiet));
    }
    lines.push(TextLine::default());
    lines.extend(about(agent, view, now_ms));
    lines.iter().flat_map(|line| line.wrapped(columns, 2)).collect()
}

/// Who it is and how it does.
fn heading(agent: &AgentView, number: u8) -> Vec<TextLine> {
    let blocked = agent.report.as_ref().is_some_and(|report| report.blocked);
    let ink = state_ink(agent.state, blocked);
    let head = TextLine::of(&format!("{} ", words::mark(agent.state, blocked)), ink)
        .with(&agent.name, Look::of(Ink::Agent(number)).bold())
        .with(&format!("  {}", words::state(agent.state)), ink);
    let title = agent.title.as_deref().filter(|title| !title.is_empty());
    std::iter::once(head).chain(title.map(|title| TextLine::of(title, Look::PLAIN.bold()))).collect()
}

/// What it is, where it works and what it took so far.
fn about(agent: &AgentView, view: &SessionView, now_ms: u64) -> Vec<TextLine> {
    let quiet = |text: &str| TextLine::of(text, Ink::Quiet);
    let mut lines = vec![TextLine::of("About", Look::of(Ink::Heading).bold())];
    let parent = agent.parent.and_then(|id| view.agents.get(id));
    let parent = parent.map(|parent| format!(" of {}", parent.name)).unwrap_or_default();
    lines.push(quiet(&format!("{}{parent}", agent.role)));
    lines.push(quiet(&model(agent)));
    lines.extend(words::on(agent).map(|on| quiet(&format!("runs {on}"))));
    lines.push(quiet(&figures(agent, now_ms).join(" · ")));
    lines.push(quiet(&counted(agent.own.tool_calls, "tool call")));
    if agent.below.agents > 0 {
        lines.push(quiet(&format!("{} below it", counted(agent.below.agents, "agent"))));
    }
    if let Some(branch) = &agent.branch {
        let state = match branch.state {
            BranchState::Working => "at work on it",
            BranchState::Unmerged => "not merged (g merges it)",
            BranchState::Merged => "merged",
            BranchState::Conflicts => "merged, but for conflicts",
        };
        lines.push(quiet(&format!("branch {}: {state}", branch.name)));
    }
    if agent.denied_calls > 0 {
        lines.push(TextLine::of(
            &format!("! {} not allowed", counted(agent.denied_calls, "call")),
            Ink::Warning,
        ));
    }
    lines
}

fn model(agent: &AgentView) -> String {
    let Some(model) = &agent.model else { return "no model yet".to_owned() };
    let id = agent.model_id.as_deref().filter(|id| !id.is_empty() && *id != model);
    let id = id.map(|id| format!(" ({id})")).unwrap_or_default();
    let asked = agent.missing_model().map(|asked| format!(", asked for {asked}")).unwrap_or_default();
    format!("model {model}{id}{asked}")
}

/// What it does now.
fn at_work(agent: &AgentView, view: &SessionView, now_ms: u64) -> Vec<TextLine> {
    let heading = |text: &str| TextLine::of(text, Look::of(Ink::Heading).bold());
    let mut lines = vec![heading("Now"), TextLine::plain(&doing(agent, now_ms).join(" · "))];
    for call in agent.calls.iter().take(DETAIL_ITEMS_MAX) {
        let time = duration(now_ms.saturating_sub(call.started_at_ms));
        let line = TextLine::of("● ", Ink::Accent).with(&call.title, Look::PLAIN);
        lines.push(line.with(&format!("  {time}"), Ink::Quiet));
    }
    if let Some(more @ 1..) = agent.calls.len().checked_sub(DETAIL_ITEMS_MAX) {
        lines.push(TextLine::of(&format!("… {}", counted(more as u64, "more call")), Ink::Quiet));
    }
    for open in view.questions.iter().filter(|open| open.agent == agent.id).take(DETAIL_ITEMS_MAX) {
        let what = open.question.what.replace('\n', " ");
        lines.push(TextLine::of(&format!("? {} {what}", open.question.tool), Ink::Warning));
    }
    if !agent.mail.is_empty() {
        lines.push(heading("Not told yet"));
        let mail = agent.mail.iter().take(DETAIL_ITEMS_MAX);
        lines.extend(
            mail.map(|mail| TextLine::of(&format!("› {}", mail.text.replace('\n', " ")), Ink::Person)),
        );
    }
    if agent.parent.is_some() {
        lines.extend(todo(agent, DETAIL_TODO_ROWS_MAX));
    }
    lines
}

/// What it came to: its words, the facts, and what does not hold.
fn reported(report: &ReportView, columns: usize) -> Vec<TextLine> {
    let head = if report.blocked { "completed with blockers".to_owned() } else { report.ending.to_string() };
    let mut lines = vec![TextLine::of("Report ", Look::of(Ink::Heading).bold()).with(&head, Ink::Quiet)];
    lines.extend(
        report.remarks().map(|text| TextLine::of(&format!("! {}", text.replace('\n', " ")), Ink::Warning)),
    );
    for denial in report.denied.iter().take(DETAIL_ITEMS_MAX) {
        let text = format!("✗ not allowed: {} {}: {}", denial.tool, denial.what, denial.reason);
        lines.push(TextLine::of(&text.replace('\n', " "), Ink::Warning));
    }
    lines.extend(report.facts.iter().map(|fact| TextLine::of(&format!("· {}", fact.text), Ink::Quiet)));
    lines.push(TextLine::default());
    let mut markdown = Markdown::new(columns);
    lines.extend(markdown.push(&report.summary));
    lines.extend(markdown.finish());
    lines
}
