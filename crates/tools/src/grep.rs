//! grep: lines of files by a regular expression.

use std::fmt::Write as _;

use posse_protocol::visible::one_line;
use posse_protocol::{CallKind, Files, Needs, Shell, ToolOutcome};
use posse_workspace::{GrepFound, GrepQuery, Stop, WorkspaceError, WorkspacePath};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    context::Context,
    failure::ToolFailure,
    limits,
    lookup::{explained, place_or_root},
    tool::Tool,
};

/// Search file contents line by line with a regular expression.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grep {
    pattern: String,
    path: Option<String>,
    /// Only files whose path matches.
    glob: Option<String>,
    ignore_case: Option<bool>,
    context: Option<u32>,
    limit: Option<u32>,
}

impl Tool for Grep {
    const NAME: &'static str = "grep";
    const KIND: CallKind = CallKind::Search;
    const NEEDS: Needs = Needs { files: Files::Read, shell: Shell::None, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("query", "pattern"),
        ("regex", "pattern"),
        ("directory", "path"),
        ("dir", "path"),
        ("folder", "path"),
        ("file", "path"),
        ("file_path", "path"),
        ("include", "glob"),
        ("case_insensitive", "ignore_case"),
        ("-i", "ignore_case"),
        ("-C", "context"),
        ("head_limit", "limit"),
        ("max_results", "limit"),
    ];

    fn about(&self) -> String {
        match &self.path {
            Some(path) => format!("{} in {path}", self.pattern),
            None => self.pattern.clone(),
        }
    }

    fn folder(&self) -> Option<&str> {
        self.path.as_deref()
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, ToolFailure> {
        context.blocking(move |context, stop| self.search(context, stop)).await
    }
}

impl Grep {
    fn search(self, context: &Context, stop: &Stop) -> Result<ToolOutcome, ToolFailure> {
        let path = place_or_root(&context.workspace, self.path.as_deref())?;
        let matches_max = self.limit.unwrap_or(limits::GREP_MATCHES).clamp(1, limits::GREP_MATCHES_MAX);
        let query = GrepQuery {
            pattern: self.pattern,
            path,
            glob: self.glob,
            ignore_case: self.ignore_case.unwrap_or(false),
            context: self.context.unwrap_or(0).min(limits::GREP_CONTEXT_MAX) as usize,
            matches_max: matches_max as usize,
        };
        let found = look(context, &query, stop).map_err(|error| {
            let elsewhere = elsewhere(context, &error, &query, stop);
            elsewhere.unwrap_or_else(|| explained(&context.workspace, &error, stop))
        })?;
        Ok(ToolOutcome::ok(shown(&found, query.glob.as_deref())))
    }
}

/// What is found in all files where the named one is not there: what is looked for matters more than a made-up place.
fn elsewhere(
    context: &Context,
    error: &WorkspaceError,
    query: &GrepQuery,
    stop: &Stop,
) -> Option<ToolFailure> {
    let WorkspaceError::Missing { path } = error else { return None };
    let everywhere = GrepQuery { path: WorkspacePath::root(), ..query.clone() };
    let found = look(context, &everywhere, stop).ok().filter(|found| found.matches > 0)?;
    let (path, found) = (one_line(path, 200), shown(&found, None));
    Some(ToolFailure(format!("{path} is not there, so all files were searched:\n{found}")))
}

/// Searches; what is found nowhere as a regular expression is searched for as it is written.
fn look(context: &Context, query: &GrepQuery, stop: &Stop) -> Result<GrepFound, WorkspaceError> {
    let found = context.workspace.grep(query, stop)?;
    if found.matches > 0 || found.as_plain_text {
        return Ok(found);
    }
    let Some(pattern) = as_text(&query.pattern) else { return Ok(found) };
    // Code is written as a pattern by whoever forgets that brackets mean something in one.
    let again = context.workspace.grep(&GrepQuery { pattern, ..query.clone() }, stop)?;
    Ok(if again.matches > 0 { GrepFound { as_plain_text: true, ..again } } else { found })
}

/// The pattern that finds this very text; none if the text is that already.
fn as_text(pattern: &str) -> Option<String> {
    let special = |c: char| r"\.+*?()|[]{}^$".contains(c);
    pattern
        .contains(special)
        .then(|| pattern.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect())
}

fn shown(found: &GrepFound, glob: Option<&str>) -> String {
    let mut text = String::new();
    let mut previous: Option<(&posse_workspace::WorkspacePath, u64)> = None;
    for line in &found.lines {
        match previous {
            Some((path, number)) if *path == line.path => {
                if number + 1 != line.line && found.lines.iter().any(|line| !line.is_match) {
                    text.push_str("--\n");
                }
            }
            _ => {
                let _ = writeln!(text, "{}", one_line(line.path.as_str(), 1_000));
            }
        }
        previous = Some((&line.path, line.line));
        let _ = writeln!(text, "{}{}{}", line.line, if line.is_match { ':' } else { '-' }, line.text);
    }
    if let (0, Some(glob)) = (found.matches, glob) {
        let _ = writeln!(
            text,
            "No line matches in files like {}. Call grep again without glob.",
            one_line(glob, 100)
        );
    } else if found.matches == 0 {
        text.push_str(
            "No line matches. Ignored, hidden and binary files are not searched. Try a shorter pattern.\n",
        );
    }
    if found.more {
        let _ = writeln!(text, "(only the first {} matches; narrow the search)", found.matches);
    }
    if found.as_plain_text {
        text.push_str("(nothing matches it as a regular expression, so it was searched for as plain text)\n");
    }
    if found.files_skipped > 0 {
        let _ = writeln!(text, "({} files with very long lines were not searched)", found.files_skipped);
    }
    if found.cut.is_some() {
        text.push_str("(too many files to look at them all; search a smaller folder)\n");
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}
