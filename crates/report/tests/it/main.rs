//! Tests of reports: how words are split, checked, capped, wrapped and read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod caps;
mod checks;
mod citations;
mod claims;
mod facts;
mod handles;
mod json;
mod sections;
mod test_files;
mod told;
mod wrapping;

use posse_protocol::{CommandRun, Ending, FileChange, RanTests, Receipt, Report, TestRun, TestsSeen, Usage};
use posse_report::ToldReport;

/// A report with nothing but words.
fn said(text: &str) -> Report {
    Report::new(Ending::Completed, text, Receipt::default())
}

fn changed(path: &str, created: bool, lines_added: u32, lines_removed: u32) -> FileChange {
    FileChange { path: path.into(), created, lines_added, lines_removed }
}

fn ran(command: &str, tests: Option<(u32, u32)>) -> CommandRun {
    let tests =
        tests.map(|(run, passed)| RanTests { counts: Some(TestRun { run, passed }), ..RanTests::default() });
    CommandRun { command: command.into(), exit_code: Some(0), tests, ..CommandRun::default() }
}

fn seen(command: &str, exit_code: i32, counts: Option<(u32, u32)>) -> TestsSeen {
    let counts = counts.map(|(run, passed)| TestRun { run, passed });
    TestsSeen { command: command.into(), exit_code: Some(exit_code), counts, ..TestsSeen::default() }
}

fn tokens(input: u64, output: u64) -> Usage {
    Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() }
}

/// A report on its way, with the usual size.
fn told(report: &Report) -> ToldReport<'_> {
    ToldReport {
        name: "explore-1",
        role: "explore",
        title: "Find the parser",
        report,
        bytes_max: 8_000,
        handle: "explore-1:report",
    }
}
