//! What was measured of an agent's work, and what does not hold of what it says: the same lines wherever an ending is
//! shown. The facts themselves are made elsewhere, once for everybody.

use posse_protocol::Receipt;
use posse_report::{About, facts};

use super::labelled::labelled;
use crate::limits::{FACTS_COLUMNS_MAX, WARNING_COLUMNS_MAX, WARNINGS_SHOWN_MAX};
use crate::output::{Style, one_line};

/// The facts under one another; those of which there was nothing share a line.
pub(super) fn lines(style: Style, receipt: &Receipt, width: usize) -> String {
    let (there, missing): (Vec<_>, Vec<_>) = facts(receipt).into_iter().partition(|fact| fact.any);
    let label = |about| match about {
        About::Commands => "ran",
        About::Tests => "tests",
        About::Commits => "commits",
        About::SubAgents => "agents",
        About::Files => "changed",
    };
    let mut text = String::new();
    for fact in &there {
        let shown = one_line(&fact.text, FACTS_COLUMNS_MAX);
        let paint = |row: &str| if fact.about == About::Files { row.to_string() } else { style.dim(row) };
        text.push_str(&labelled(label(fact.about), &shown, width, paint));
    }
    if !missing.is_empty() {
        let missing = missing.iter().map(|fact| fact.text.as_str()).collect::<Vec<_>>().join("; ");
        let label = if there.is_empty() { "facts" } else { "else" };
        let missing = one_line(&missing, FACTS_COLUMNS_MAX);
        text.push_str(&labelled(label, &missing, width, |row| style.dim(row)));
    }
    text
}

/// All facts on one line.
pub(crate) fn line(facts: &str) -> String {
    one_line(facts, FACTS_COLUMNS_MAX)
}

/// The warnings and notes of a report, each on a line of its own, and how many more there are.
pub(crate) fn warnings<'a>(remarks: impl Iterator<Item = &'a String>) -> Vec<String> {
    let remarks = remarks.collect::<Vec<_>>();
    let shown = remarks.iter().take(WARNINGS_SHOWN_MAX);
    let mut lines = shown.map(|warning| one_line(warning, WARNING_COLUMNS_MAX)).collect::<Vec<_>>();
    if let Some(more @ 1..) = remarks.len().checked_sub(WARNINGS_SHOWN_MAX) {
        lines.push(format!("and {more} more"));
    }
    lines
}
