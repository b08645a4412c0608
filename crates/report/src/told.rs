//! A report as text: for the model of the agent that asked for the work, and for a person at a terminal. Facts come
//! first, in Posse's own words; the agent's words come last, wrapped and within a size.

use std::borrow::Cow;
use std::fmt::Write as _;

use posse_protocol::visible::joined_lines;
use posse_protocol::words::{counted, duration, plural};
use posse_protocol::{Ending, Receipt, Report};

use crate::{
    cut,
    facts::{About, facts, facts_line, files, joined},
    limits,
    sections::{Sections, sections},
    visible::clip,
    wrap::{quote, quote_within, word},
};

/// A report, worded for the agent or person that asked for the work.
#[derive(Clone, Copy, Debug)]
pub struct ToldReport<'a> {
    /// What the agent is called.
    pub name: &'a str,
    /// Its role.
    pub role: &'a str,
    /// What it was asked to do, in a few words.
    pub title: &'a str,
    /// The report.
    pub report: &'a Report,
    /// How long the text may be; never less than `limits::TOLD_BYTES_MIN`.
    pub bytes_max: usize,
    /// The handle by which the whole text can be read.
    pub handle: &'a str,
}

impl ToldReport<'_> {
    pub(crate) fn room_bytes(&self) -> usize {
        self.bytes_max.max(limits::TOLD_BYTES_MIN)
    }

    /// Where all of the agent's words are.
    pub(crate) fn whole(&self) -> String {
        let handle = joined_lines(self.handle, limits::HANDLE_CHARS_MAX);
        format!("All of its words: handle_read {handle}")
    }

    /// What is said where words were cut.
    pub(crate) fn more(&self, chars: usize) -> String {
        let handle = joined_lines(self.handle, limits::HANDLE_CHARS_MAX);
        format!("… {chars} more {}: handle_read {handle}", plural(chars as u64, "character"))
    }
}

/// The report for the parent's model: what it took, the facts, the warnings, the agent's words.
pub fn to_text(told: &ToldReport<'_>) -> String {
    let report = told.report;
    let head = format!(
        "{} ({}) \"{}\": {}; {}\nMeasured: {}.",
        word(told.name, "agent"),
        word(told.role, "agent"),
        joined_lines(told.title, limits::TITLE_CHARS_MAX),
        joined_lines(&report.outcome(), limits::WARNING_CHARS_MAX),
        spent(&report.receipt),
        facts_line(&report.receipt),
    );
    with_words(told, &head, 3)
}

/// Where the work is, and what was not allowed, one line each.
fn notices(told: &ToldReport<'_>) -> Vec<String> {
    let receipt = &told.report.receipt;
    let mut lines = Vec::new();
    if let Some(branch) = &receipt.branch {
        lines.push(format!(
            "Its changes are in a checkout of its own, committed to the branch {}. They are not in the workspace before \
             they are merged.",
            joined_lines(&branch.name, limits::HANDLE_CHARS_MAX)
        ));
    }
    for denial in receipt.denied.iter().take(limits::DENIALS_TOLD_MAX) {
        let what = joined_lines(&denial.what, limits::TITLE_CHARS_MAX);
        let reason = joined_lines(&denial.reason, limits::WARNING_CHARS_MAX);
        lines.push(format!("denied to {}: {} {what} ({reason})", word(&denial.agent, "agent"), denial.tool));
    }
    if let Some(more @ 1..) = receipt.denied.len().checked_sub(limits::DENIALS_TOLD_MAX) {
        lines.push(format!("denied: and {more} more"));
    }
    if !receipt.files_not_certain.is_empty() {
        let changed = files(&receipt.files_not_certain);
        lines.push(format!("changed while its commands ran, not certain by whom: {changed}"));
    }
    lines
}

/// What the branch changes, as far as there is room.
fn branch_diff(told: &ToldReport<'_>, room_bytes: usize) -> Option<String> {
    let branch = told.report.receipt.branch.as_ref().filter(|branch| !branch.diff.is_empty())?;
    let (diff, left_out) = quote_within("diff", told.name, branch.diff.trim_end(), room_bytes);
    let more = format!("\n… {left_out} more {}", plural(left_out as u64, "character"));
    Some(if left_out > 0 { format!("{diff}{more}") } else { diff })
}

/// The block of a finished agent for the parent's model: what it was, how long it took, which files it changed, what was
/// measured, and all of the agent's words, wrapped.
pub fn spawn_text(told: &ToldReport<'_>) -> String {
    with_words(told, &block(told), 6)
}

/// The head, the warnings and the agent's words, within the size. No line of the head takes more than a part of it.
fn with_words(told: &ToldReport<'_>, head: &str, parts: usize) -> String {
    let room_bytes = told.room_bytes();
    let mut out = String::new();
    for line in head.lines() {
        let _ = writeln!(out, "{}", clip(line, room_bytes / parts));
    }
    for notice in notices(told) {
        let _ = writeln!(out, "{}", clip(&notice, room_bytes / 8));
    }
    let warnings = told.report.warnings.iter().map(|warning| ("warning", warning));
    let remarks: Vec<_> = warnings.chain(told.report.notes.iter().map(|note| ("note", note))).collect();
    for (at, (kind, remark)) in remarks.iter().enumerate() {
        let line = clip(&joined_lines(remark, limits::WARNING_CHARS_MAX), room_bytes / 8);
        // Half of the room is for the words.
        if out.len() + line.len() > room_bytes / 2 && at > 0 {
            let _ = writeln!(out, "{kind}: and {} more", remarks.len() - at);
            break;
        }
        let _ = writeln!(out, "{kind}: {line}");
    }
    let text = told.report.text.trim();
    if text.is_empty() {
        out.push_str("It said nothing.");
        return out;
    }
    let used = out.len() + told.more(text.len()).len() + 1;
    let (words, left_out) = quote_cut(told.name, &words(told.report), room_bytes.saturating_sub(used));
    out.push_str(&words);
    if told.report.short.is_some() {
        let _ = write!(out, "\nSummed up by the agent itself. {}", told.whole());
    } else if left_out > 0 {
        let _ = write!(out, "\n{}", told.more(left_out));
    }
    // Only the room that the words leave: the whole of it is on the branch.
    let room_bytes = room_bytes.saturating_sub(out.len() + limits::DIFF_MARGIN_BYTES);
    if room_bytes >= limits::DIFF_BYTES_MIN
        && let Some(diff) = branch_diff(told, room_bytes)
    {
        let _ = write!(out, "\n{diff}");
    }
    out
}

/// The agent's words, or where they were summed up that and what must not be lost of them, word for word.
pub(crate) fn words(report: &Report) -> Cow<'_, str> {
    let Some(short) = &report.short else { return Cow::Borrowed(report.text.trim()) };
    let Sections { risks, blockers, .. } = sections(&report.text);
    let mut words = short.trim().to_owned();
    for (heading, section) in [("RISKS", risks), ("BLOCKERS", blockers)] {
        if !section.is_empty() {
            let _ = write!(words, "\n\n{heading}: {section}");
        }
    }
    Cow::Owned(words)
}

/// Words in their wrapper within a size, cut inside their sections, and how many characters were left out.
fn quote_cut(name: &str, text: &str, bytes_max: usize) -> (String, usize) {
    // The marks of lines and what is made visible take room, too: how much is known once it is there.
    let mut room = bytes_max;
    for _ in 0..limits::CUT_TRIES_MAX {
        let (kept, left_out) = cut::within(text, room);
        let quoted = quote("report", name, &kept);
        if quoted.len() <= bytes_max {
            return (quoted, left_out);
        }
        room = (room * bytes_max / quoted.len()).min(room.saturating_sub(quoted.len() - bytes_max));
    }
    quote_within("report", name, text, bytes_max)
}

fn block(told: &ToldReport<'_>) -> String {
    let (report, receipt) = (told.report, &told.report.receipt);
    let title = joined_lines(told.title, limits::TITLE_CHARS_MAX);
    let name = word(told.name, "agent");
    let mut out = format!("[sub-agent {name}] {}: \"{title}\"\n", headline(report));
    let _ = writeln!(
        out,
        "  Duration: {} ({}, {})",
        duration(receipt.duration_ms),
        counted(receipt.turns.into(), "turn"),
        counted(receipt.tool_calls.into(), "tool call"),
    );
    if let Ending::Failed { .. } | Ending::Interrupted { .. } = &report.ending {
        let reason = report.ending.to_string();
        let _ = writeln!(out, "  Reason: {}", joined_lines(&reason, limits::WARNING_CHARS_MAX));
    }
    let changed = receipt.files_in_all();
    if !changed.is_empty() {
        let _ = writeln!(out, "  Files modified: {}", files(&changed));
    }
    let shown = facts(receipt).into_iter().filter(|fact| fact.about != About::Files || !fact.any);
    let _ = writeln!(out, "  Measured: {}", joined(&shown.collect::<Vec<_>>()));
    out
}

fn headline(report: &Report) -> &'static str {
    match report.ending {
        Ending::Completed if report.blocked => "Completed with blockers",
        Ending::Completed => "Completed",
        Ending::Failed { .. } => "Failed",
        Ending::Cancelled => "Cancelled",
        Ending::Interrupted { .. } => "Interrupted",
        Ending::TimedOut => "Out of time",
        Ending::OutOfTurns => "Out of turns",
        Ending::OutOfTokens => "Out of tokens",
        Ending::OutOfMoney => "Out of money",
        Ending::Refused => "Refused by the model",
    }
}

/// What it took, in one line.
fn spent(receipt: &Receipt) -> String {
    let mut out = format!(
        "{}, {}, ",
        counted(receipt.turns.into(), "turn"),
        counted(receipt.tool_calls.into(), "tool call")
    );
    let _ = match receipt.usage.total_tokens() {
        // Digits that a model reads are not grouped.
        Some(tokens) => write!(out, "{tokens} tokens"),
        None => write!(out, "tokens not reported"),
    };
    if receipt.below.agents > 0 {
        let agents = counted(receipt.below.agents.into(), "sub-agent");
        let _ = match receipt.tokens_in_all() {
            Some(tokens) => write!(out, " ({tokens} with {agents})"),
            None => write!(out, " (with {agents})"),
        };
    }
    let _ = write!(out, ", {}", duration(receipt.duration_ms));
    out
}
