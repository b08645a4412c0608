//! Compares what a report says with what was measured. What does not hold becomes a warning in plain words; who reads
//! it decides what it is worth.

use posse_protocol::{Report, TestRun, limits::RECEIPT_FILES_MAX};

use crate::{Citation, citations, claimed_changes, limits};

/// Looks up files for a check.
pub trait Facts {
    /// What is known of a file; `None` if there is no such file in the workspace.
    fn file(&self, path: &str) -> Option<FileFacts>;
}

/// What is known of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// Its length.
    pub bytes: u64,
    /// How many lines it has; `None` where it is binary or too large to count.
    pub lines: Option<u64>,
}

/// What the words of a report say and the facts do not, the weightiest first.
pub fn check(report: &Report, deliverables: &[String], facts: &dyn Facts) -> Vec<String> {
    let mut warnings: Vec<String> = deliverables.iter().filter_map(|path| missing(path, facts)).collect();
    warnings.extend(unmeasured_changes(report));
    warnings.extend(untrue_tests(report));
    warnings.extend(bad_citations(report, facts));
    let more = warnings.len().saturating_sub(limits::WARNINGS_MAX);
    if more > 0 {
        warnings.truncate(limits::WARNINGS_MAX);
        warnings.push(format!("and {more} more"));
    }
    warnings
}

fn missing(path: &str, facts: &dyn Facts) -> Option<String> {
    match facts.file(path) {
        None => Some(format!("the promised file `{path}` does not exist")),
        Some(FileFacts { bytes: 0, .. }) => Some(format!("the promised file `{path}` is empty")),
        Some(_) => None,
    }
}

fn unmeasured_changes(report: &Report) -> Vec<String> {
    let receipt = &report.receipt;
    let files = receipt.files_in_all();
    // Past its cap the list is not all there was.
    if files.len() >= RECEIPT_FILES_MAX || receipt.files_below.len() >= RECEIPT_FILES_MAX {
        return Vec::new();
    }
    let claimed = claimed_changes(&report.text).into_iter();
    let untrue = claimed.filter(|claim| !files.iter().any(|file| same_file(claim, &file.path)));
    let why = if files.is_empty() { "it changed no file at all" } else { "it did not change that file" };
    untrue.map(|path| format!("it says that it changed `{path}`, but {why}")).collect()
}

/// Whether two paths mean the same file, when one of them may be shortened or absolute.
fn same_file(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim_start_matches("./"), other.trim_start_matches("./"));
    let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'));
    one == other || ends(one, other) || ends(other, one)
}

fn untrue_tests(report: &Report) -> Option<String> {
    let receipt = &report.receipt;
    if !says_tests_pass(&report.text) {
        return None;
    } else if receipt.commands_total == 0 && receipt.tests.is_none() {
        let alone = receipt.below.agents == 0;
        return alone.then(|| "it says that tests pass, but it ran no command".to_owned());
    }
    // The last run counts; where the receipt does not list it, all of them do.
    let all_listed = receipt.commands.len() as u64 >= u64::from(receipt.commands_total);
    let last = receipt.commands.iter().rev().find_map(|run| run.tests.as_ref()?.counts);
    let seen = receipt.tests.as_ref().and_then(|tests| tests.counts);
    let TestRun { run, passed } = last.filter(|_| all_listed).or(seen)?;
    (passed < run).then(|| {
        format!("it says that tests pass, but {} of {run} failed when they were last counted", run - passed)
    })
}

fn says_tests_pass(text: &str) -> bool {
    const PHRASES: &[&str] = &[
        "tests pass",
        "tests are passing",
        "tests now pass",
        "tests still pass",
        "tests all pass",
        "tests are green",
        "tests succeed",
        "test suite passes",
        "test suite is green",
    ];
    let text = text.to_lowercase();
    PHRASES.iter().any(|phrase| {
        text.match_indices(phrase).any(|(at, _)| {
            let near = text.floor_char_boundary(at.saturating_sub(limits::DOUBT_BYTES_MAX));
            let before = text[near..at].rsplit(['.', '\n', ';']).next().unwrap_or_default();
            let after = &text[at + phrase.len()..];
            let hedged =
                ["not ", "n't ", "n’t ", "if ", "whether ", "until ", "once ", "should ", "make ", "some "];
            !hedged.iter().any(|word| before.contains(word)) && !after.starts_with("ing")
        })
    })
}

fn bad_citations(report: &Report, facts: &dyn Facts) -> Vec<String> {
    let cited = citations(&report.text);
    let files = report.receipt.files_in_all();
    let changed = files.iter().map(|file| file.path.as_str());
    let known: Vec<&str> = cited.iter().map(|citation| citation.path.as_str()).chain(changed).collect();
    let look = |path: &str| {
        // After its first mention a file is often called by its last name.
        let end = format!("/{path}");
        let longer = || known.iter().filter(|long| long.ends_with(&end)).find_map(|path| facts.file(path));
        facts.file(path).or_else(longer)
    };
    cited.iter().filter_map(|citation| bad_citation(citation, look(&citation.path))).collect()
}

fn bad_citation(citation: &Citation, file: Option<FileFacts>) -> Option<String> {
    let Citation { path, from, to } = citation;
    let place = if from == to { format!("`{path}:{from}`") } else { format!("`{path}:{from}-{to}`") };
    let Some(file) = file else {
        return Some(format!("it cites {place}, but there is no such file in the workspace"));
    };
    let lines = file.lines?;
    if *from == 0 {
        return Some(format!("it cites {place}, but lines count from 1"));
    }
    let word = if lines == 1 { "line" } else { "lines" };
    (u64::from(*to) > lines).then(|| format!("it cites {place}, but the file has {lines} {word}"))
}
