//! Compares what a report says with what was measured. A claim that the facts do not support becomes a warning in plain words;
//! the reader decides what it means.

mod changes;
mod places;
mod quotes;
mod work;

use posse_protocol::Report;

use crate::{claims, limits};

/// Looks up files for a check.
pub trait Facts {
    /// What is known of a file; `None` if there is no such file in the workspace.
    fn file(&self, path: &str) -> Option<FileFacts>;

    /// The text of a file; `None` if it is binary or too large.
    fn text(&self, path: &str) -> Option<String>;

    /// Whether a path leads out of the workspace, where nothing is measured.
    fn outside(&self, path: &str) -> bool {
        path.starts_with(['/', '~']) || path.starts_with("../")
    }

    /// Whether a change of this file by a command would have been noticed. Those of file tools always are.
    fn watched(&self, path: &str) -> bool;

    /// Whether the path of some file in the workspace ends like this.
    fn any_ends_with(&self, end: &str) -> bool;

    /// Whether the agent's work is committed for it.
    fn commits_for_it(&self) -> bool {
        false
    }
}

/// What is known of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// Its length.
    pub bytes: u64,
    /// How many lines it has; `None` where it is binary or too large to count.
    pub lines: Option<u64>,
}

/// Claims of a report that the facts do not support, the most important first.
pub fn check(report: &Report, deliverables: &[String], facts: &dyn Facts) -> Vec<String> {
    let claims = claims::claims(&report.text);
    let mut warnings: Vec<String> = deliverables.iter().filter_map(|path| missing(path, facts)).collect();
    warnings.extend(changes::untrue(report, &claims.changes, facts));
    warnings.extend(work::untrue_tests(report, &claims.tests));
    warnings.extend(work::untrue_commands(report, &claims));
    warnings.extend(work::untrue_commits(report, &claims.others, facts));
    warnings.extend(work::untrue_agents(report, &claims.others));
    warnings.extend(places::untrue(report, facts));
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

/// Whether two paths mean the same file, when one of them may be shortened or absolute.
fn same_file(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim_start_matches("./"), other.trim_start_matches("./"));
    let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'));
    one == other || ends(one, other) || ends(other, one)
}
