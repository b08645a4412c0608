//! How an entry of a transcript looks: one line, or all of it.

use posse_protocol::{Report, Sender, words::counted};
use posse_terminal::{Ink, Look, Markdown, TextLine};
use posse_view::OpenCall;

use super::entries::{CallResult, EntryContent, TranscriptEntry};
use crate::limits::{ENTRY_LINES_MAX, FOLDED_LINES_MAX, THOUGHT_COLUMNS_MAX};
use crate::questions;
use crate::transcript::{ended, finished_call};

impl TranscriptEntry {
    /// Its lines in so many columns; they are not wrapped yet.
    pub(super) fn lines(&self, columns: usize, shows_thoughts: bool) -> Vec<TextLine> {
        let open = self.open;
        let mut lines = match &self.what {
            EntryContent::Task(text) => said("Task", text, Ink::Heading, open),
            EntryContent::Told { from: Sender::Person, text } => said("›", text, Ink::Person, true),
            EntryContent::Told { from, text } => said(sender_words(*from), text, Ink::Heading, open),
            EntryContent::Words(text) => {
                let mut markdown = Markdown::new(columns);
                let mut lines = markdown.push(text);
                lines.extend(markdown.finish());
                lines
            }
            EntryContent::Thought(text) => thought(text, open || shows_thoughts),
            EntryContent::Call { call, arguments, result } => called(call, arguments, result.as_ref(), open),
            EntryContent::Asks(question) => {
                let head = if question.asks.is_some() { "? asks you" } else { "? asks whether it may" };
                let mut lines = vec![TextLine::of(head, Look::of(Ink::Warning).bold())];
                lines.extend(cut_lines(questions::body(question, ENTRY_LINES_MAX), open));
                lines
            }
            EntryContent::Note(line) => vec![line.clone()],
            EntryContent::Report(report) => reported(report, columns, open),
        };
        // What is read stands apart; calls and notes stand together.
        if matches!(self.what, EntryContent::Task(_) | EntryContent::Told { .. } | EntryContent::Words(_)) {
            lines.push(TextLine::default());
        }
        lines
    }

    /// Its text, whether it is shown or not, to be searched.
    pub(super) fn text(&self) -> String {
        let own = match &self.what {
            EntryContent::Task(text)
            | EntryContent::Told { text, .. }
            | EntryContent::Words(text)
            | EntryContent::Thought(text) => text.clone(),
            EntryContent::Call { call, arguments, result } => {
                let result = result.as_ref().map_or("", |result| result.text.as_str());
                format!("{} {} {arguments} {result}", call.tool, call.title)
            }
            EntryContent::Asks(question) => format!("{} {}", question.what, question.why),
            EntryContent::Note(line) => line.text(),
            EntryContent::Report(report) => {
                let remarks = report.remarks().cloned().collect::<Vec<_>>().join(" ");
                format!("{} {} {remarks}", report.outcome(), report.text)
            }
        };
        self.who.as_ref().map_or_else(|| own.clone(), |who| format!("{who} {own}"))
    }

    /// Whether it is what an agent wrote.
    pub(super) fn is_words(&self) -> bool {
        matches!(self.what, EntryContent::Words(_))
    }

    /// Whether there is more of it than its folded form shows.
    pub(super) fn folds(&self) -> bool {
        match &self.what {
            EntryContent::Task(text) | EntryContent::Told { text, .. } => {
                text.lines().count() > FOLDED_LINES_MAX
            }
            EntryContent::Thought(_)
            | EntryContent::Call { .. }
            | EntryContent::Asks(_)
            | EntryContent::Report(_) => true,
            EntryContent::Words(_) | EntryContent::Note(_) => false,
        }
    }
}

fn sender_words(from: Sender) -> &'static str {
    match from {
        Sender::Person => "You",
        Sender::Posse => "Posse",
        Sender::Parent => "Its parent",
        Sender::Reports => "Reports",
        Sender::Peer => "Another agent",
    }
}

fn said(who: &str, text: &str, ink: Ink, open: bool) -> Vec<TextLine> {
    let look = if ink == Ink::Person { Look::of(ink) } else { Look::PLAIN };
    let mut lines = Vec::new();
    let indent = " ".repeat(if ink == Ink::Person { 2 } else { 0 });
    if ink != Ink::Person {
        lines.push(TextLine::of(who, Look::of(ink).bold()));
    }
    for (number, line) in text.lines().enumerate() {
        let lead = if number == 0 && ink == Ink::Person { format!("{who} ") } else { indent.clone() };
        lines.push(TextLine::of(&lead, Look::of(ink).bold()).with(line, look));
    }
    cut_lines(lines, open)
}

/// As many lines as are shown, and how many more there are.
fn cut_lines(mut lines: Vec<TextLine>, open: bool) -> Vec<TextLine> {
    let max = if open { ENTRY_LINES_MAX } else { FOLDED_LINES_MAX };
    if let Some(more @ 1..) = lines.len().checked_sub(max) {
        lines.truncate(max);
        let how = if open { "" } else { " (Enter)" };
        let more = counted(more as u64, "more line");
        lines.push(TextLine::of(&format!("… {more}{how}"), Ink::Quiet));
    }
    lines
}

fn thought(text: &str, open: bool) -> Vec<TextLine> {
    let look = Look::of(Ink::Quiet).italic();
    if open {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        return cut_lines(lines.map(|line| TextLine::of(&format!("┊ {line}"), look)).collect(), true);
    }
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let more = match text.lines().filter(|line| !line.trim().is_empty()).count() {
        0 | 1 => String::new(),
        count => format!(" (+{}, r)", counted(count as u64 - 1, "line")),
    };
    vec![TextLine::of(&format!("┊ {}", first.trim()), look).cut(THOUGHT_COLUMNS_MAX).with(&more, Ink::Quiet)]
}

fn called(call: &OpenCall, arguments: &str, result: Option<&CallResult>, open: bool) -> Vec<TextLine> {
    let Some(result) = result else {
        let mut lines =
            vec![TextLine::of("● ", Ink::Accent).with(&call.title, Look::PLAIN).with(" …", Ink::Quiet)];
        if open {
            lines.extend(part("arguments", &pretty(arguments)));
        }
        return lines;
    };
    let CallResult { ok, text, duration_ms, effects } = result;
    let mut lines = finished_call(Some(call), &call.tool, *ok, text, *duration_ms, effects);
    if lines.is_empty() {
        lines.push(TextLine::of("→ ", Ink::Accent).with(&call.title, Ink::Quiet));
    }
    if !call.paths.is_empty() && !call.paths.iter().all(|path| call.title.contains(path)) {
        lines[0].push(&format!("  {}", call.paths.join(", ")), Ink::Quiet);
    }
    if open {
        lines.truncate(1);
        lines.extend(part("arguments", &pretty(arguments)));
        lines.extend(part("result", text));
    }
    lines
}

/// Arguments as people read them, where they are JSON.
fn pretty(arguments: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(arguments).ok();
    value.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| arguments.to_owned())
}

fn part(name: &str, text: &str) -> Vec<TextLine> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let lines = text.lines().map(|line| TextLine::of("  ", Look::PLAIN).with(line, Ink::Code)).collect();
    let mut out = vec![TextLine::of(&format!("  {name}"), Look::of(Ink::Quiet).bold())];
    out.extend(cut_lines(lines, true));
    out
}

/// How it ended, what was measured, what does not hold, and its words.
fn reported(report: &Report, columns: usize, open: bool) -> Vec<TextLine> {
    let mut lines = ended(report);
    let facts = posse_report::facts(&report.receipt);
    lines.extend(
        facts
            .iter()
            .filter(|fact| fact.any)
            .map(|fact| TextLine::of(&format!("  {}", fact.text), Ink::Quiet)),
    );
    for denial in report.receipt.denied.iter().take(FOLDED_LINES_MAX) {
        let text = format!("  ✗ not allowed: {} {}: {}", denial.tool, denial.what, denial.reason);
        lines.push(TextLine::of(&text.replace('\n', " "), Ink::Warning));
    }
    if open {
        lines.push(TextLine::default());
        let mut markdown = Markdown::new(columns);
        lines.extend(markdown.push(&report.text));
        lines.extend(markdown.finish());
    }
    lines
}
