//! What was measured, in plain words: the same few sentences wherever a report is told, in whatever language its
//! agent writes. What was not there is said as well: a missing fact is what contradicts a claim.

use std::{collections::BTreeMap, fmt::Write as _};

use posse_protocol::visible::{joined_lines, one_line};
use posse_protocol::words::{counted, plural};
use posse_protocol::{CommandRun, FileChange, Receipt, TestFileChange, TestVerdict, TestsSeen};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{limits, wrap::word};

/// What a fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// Commands run.
    Commands,
    /// Tests seen, and test files changed.
    Tests,
    /// Commits made.
    Commits,
    /// Sub-agents started.
    SubAgents,
    /// Files changed.
    Files,
}

/// One measured fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// What it is about.
    pub about: About,
    /// The fact itself, on one line, with nothing hidden in it.
    pub text: String,
    /// Whether there was any of it.
    pub any: bool,
}

/// The facts of a receipt, one of each kind, always in the same order.
pub fn facts(receipt: &Receipt) -> Vec<Fact> {
    let files = receipt.files_in_all();
    let commands = receipt.commands_total > 0 || receipt.below.commands > 0;
    let tests = receipt.tests_in_all().is_some() || !receipt.test_files.is_empty();
    let agents = receipt.children_total > 0 || receipt.below.agents > 0;
    let fact = |about, any, text| Fact { about, text, any };
    vec![
        fact(About::Commands, commands, commands_run(receipt)),
        fact(About::Tests, tests, tests_seen(receipt)),
        fact(About::Commits, receipt.commits_total > 0, commits_made(receipt)),
        fact(About::SubAgents, agents, sub_agents(receipt)),
        // Where a line must be cut, it is the end of this one.
        fact(About::Files, !files.is_empty(), files_changed(&files)),
    ]
}

/// All facts on one line.
pub fn facts_line(receipt: &Receipt) -> String {
    joined(&facts(receipt))
}

pub(crate) fn joined(facts: &[Fact]) -> String {
    facts.iter().map(|fact| fact.text.as_str()).collect::<Vec<_>>().join("; ")
}

fn commands_run(receipt: &Receipt) -> String {
    let below = match (receipt.below.commands, receipt.below.commands_failed) {
        (0, _) => String::new(),
        (all, 0) => format!(", {all} by sub-agents"),
        (all, failed) => format!(", {all} by sub-agents ({failed} failed)"),
    };
    let total = receipt.commands_total;
    if total == 0 {
        return format!("no commands run{below}");
    }
    // Earlier records have the list only.
    let (last, failed) = match &receipt.last_command {
        Some(last) => (Some(last), receipt.commands_failed),
        None => (receipt.commands.last(), receipt.commands.iter().filter(|run| run.failed()).count() as u32),
    };
    let last = last.map(|run| format!("{} ({})", quoted(&run.command), ended(run))).unwrap_or_default();
    if total == 1 {
        return format!("1 command run: {last}{below}");
    }
    let failed = if failed == 0 { "none".to_owned() } else { failed.to_string() };
    format!("{total} commands run, {failed} failed, the last: {last}{below}")
}

fn ended(run: &CommandRun) -> String {
    match run.exit_code {
        Some(code) => format!("exit code {code}"),
        None => "no exit code".to_owned(),
    }
}

fn tests_seen(receipt: &Receipt) -> String {
    let mut text = match receipt.tests_in_all() {
        None => "no tests run".to_owned(),
        Some(tests) => seen(tests),
    };
    if !receipt.test_files.is_empty() {
        let shown = receipt.test_files.iter().take(limits::TEST_FILES_NAMED_MAX).map(test_file);
        let _ = write!(text, "; test files changed: {}", shown.collect::<Vec<_>>().join(", "));
        if let Some(more @ 1..) = receipt.test_files.len().checked_sub(limits::TEST_FILES_NAMED_MAX) {
            let _ = write!(text, ", and {more} more");
        }
    }
    text
}

fn seen(tests: &TestsSeen) -> String {
    let by = tests.by.as_deref().map(|name| format!(" by {}", word(name, "agent"))).unwrap_or_default();
    let when = if tests.edited_after { " before the last edit" } else { "" };
    let how = match tests.verdict() {
        TestVerdict::Passed => format!("tests{by} passed{when}"),
        TestVerdict::Failed => format!("tests{by} failed{when}"),
        TestVerdict::NoneRan => format!("a test command{by} ran no tests{when}"),
        TestVerdict::Own => format!("its own test script{by} ran{when}"),
        TestVerdict::Unknown => format!("a test command{by} ran{when}, result not known"),
    };
    let code = match (&tests.hidden_by, tests.exit_code) {
        (Some(by), _) => Some(format!("exit code hidden by {}", quoted(by))),
        (None, Some(code)) => Some(format!("exit code {code}")),
        (None, None) => (!tests.command.is_empty()).then(|| "no exit code".to_owned()),
    };
    let counts = tests.counts.map(|counts| format!("{} of {} passed", counts.passed, counts.run));
    let details = code.into_iter().chain(counts).collect::<Vec<_>>().join(", ");
    match tests.command.as_str() {
        "" => format!("{how} ({details})"),
        command => format!("{how}: {} ({details})", quoted(command)),
    }
}

fn test_file(file: &TestFileChange) -> String {
    let lost = [(file.tests_removed, "test"), (file.assertions_removed, "assertion")];
    let lost = lost.iter().filter(|(count, _)| *count > 0);
    let mut what: Vec<String> =
        lost.map(|(count, noun)| format!("{} removed", counted((*count).into(), noun))).collect();
    if file.skips_added > 0 {
        what.push(format!("{} added", counted(file.skips_added.into(), "skip")));
    }
    if file.deleted {
        what.insert(0, "deleted".to_owned());
    } else if file.created {
        what.insert(0, "new file".to_owned());
    }
    let path = path(&file.path);
    if what.is_empty() { path } else { format!("{path} ({})", what.join(", ")) }
}

fn files_changed(changed: &[FileChange]) -> String {
    if changed.is_empty() {
        return "no files changed".to_owned();
    }
    let sum = |lines: fn(&FileChange) -> u32| changed.iter().map(|f| u64::from(lines(f))).sum::<u64>();
    let (added, removed) = (sum(|f| f.lines_added), sum(|f| f.lines_removed));
    let count = counted(changed.len() as u64, "file");
    format!("{count} changed (+{added} -{removed}): {}", files(changed))
}

/// The first files with their lines, and how many more there are.
pub fn files(changes: &[FileChange]) -> String {
    let shown = changes.iter().take(limits::FILES_NAMED_MAX).map(|file| {
        let lines = match (file.lines_added, file.lines_removed) {
            (added, 0) => format!("+{added} {}", plural(added.into(), "line")),
            (0, removed) => format!("-{removed} {}", plural(removed.into(), "line")),
            (added, removed) => format!("+{added} -{removed} lines"),
        };
        format!("{} ({lines}{})", path(&file.path), if file.created { ", new file" } else { "" })
    });
    let mut out = shown.collect::<Vec<_>>().join(", ");
    if let Some(more) = changes.len().checked_sub(limits::FILES_NAMED_MAX).filter(|more| *more > 0) {
        let _ = write!(out, ", and {more} more");
    }
    out
}

fn commits_made(receipt: &Receipt) -> String {
    let total = receipt.commits_total;
    if total == 0 {
        return "no commits".to_owned();
    }
    let skipped = receipt.commits.len().saturating_sub(limits::COMMITS_NAMED_MAX);
    let named = receipt.commits.iter().skip(skipped).map(|commit| {
        let id: String = commit.id.chars().filter(char::is_ascii_hexdigit).take(7).collect();
        format!("{id} {}", quoted(&commit.subject))
    });
    let named = named.collect::<Vec<_>>();
    let count = counted(total.into(), "commit");
    match (named.len() as u64) < u64::from(total) {
        true => format!("{count}, the last: {}", named.join(", ")),
        false => format!("{count}: {}", named.join(", ")),
    }
}

fn sub_agents(receipt: &Receipt) -> String {
    let (own, all) = (receipt.children_total, receipt.below.agents);
    if own.max(all) == 0 {
        return "no sub-agents".to_owned();
    }
    let count = counted(own.max(if own == 0 { all } else { 0 }).into(), "sub-agent");
    let deeper = if own > 0 && all > own { format!(" ({all} with those below them)") } else { String::new() };
    let children = &receipt.children;
    let named = if children.is_empty() {
        String::new()
    } else if children.len() <= limits::CHILDREN_NAMED_MAX && children.len() as u64 == u64::from(own) {
        let named = children
            .iter()
            .map(|child| format!("{} {}", word(&child.name, "agent"), child.ending.in_a_word()));
        format!(": {}", named.collect::<Vec<_>>().join(", "))
    } else {
        let mut endings: BTreeMap<&str, u32> = BTreeMap::new();
        children.iter().for_each(|child| *endings.entry(child.ending.in_a_word()).or_default() += 1);
        let counts = endings.iter().map(|(word, count)| format!("{count} {word}"));
        let of = if (children.len() as u64) < u64::from(own) { ", of the first: " } else { ": " };
        format!("{of}{}", counts.collect::<Vec<_>>().join(", "))
    };
    format!("{count}{deeper}{named}")
}

/// Words that an agent chose, within a fact: they can neither end their quotes nor be long.
fn quoted(text: &str) -> String {
    format!("`{}`", joined_lines(text, limits::QUOTED_CHARS_MAX).replace('`', "'"))
}

/// A name with line ends must not become several words.
fn path(path: &str) -> String {
    one_line(path, limits::PATH_SHOWN_CHARS_MAX)
}
