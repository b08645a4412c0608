//! Searches file contents with ripgrep's own libraries. Every file is opened through the workspace, so no link swapped
//! in during the walk leads out.

use std::{io, ops::ControlFlow};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use crate::{
    Cut, Kind, Stop, Workspace, WorkspaceError, WorkspacePath, limits, tree::PathPattern, walk::Walk,
};

/// What to search for.
#[derive(Clone, Debug)]
pub struct GrepQuery {
    /// A regular expression; searched for as plain text if it is not one.
    pub pattern: String,
    /// A folder or a file.
    pub path: WorkspacePath,
    /// Only files that match this pattern.
    pub glob: Option<String>,
    /// Whether `a` also finds `A`.
    pub ignore_case: bool,
    /// Lines shown around each match.
    pub context: usize,
    /// Matching lines wanted at most.
    pub matches_max: usize,
}

/// One line of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrepLine {
    /// The file.
    pub path: WorkspacePath,
    /// The line, from 1.
    pub line: u64,
    /// What it says, shortened if it is long.
    pub text: String,
    /// Whether it matches, or only surrounds a match.
    pub is_match: bool,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrepFound {
    /// The lines, file by file in order.
    pub lines: Vec<GrepLine>,
    /// Matching lines among them.
    pub matches: usize,
    /// Whether there are more matches than were wanted.
    pub more: bool,
    /// Whether the pattern was no regular expression and was searched for as it stands.
    pub as_plain_text: bool,
    /// Files that could not be searched to their end because a line is too long.
    pub files_skipped: u64,
    /// Why the walk ended early, if it did.
    pub cut: Option<Cut>,
}

impl Workspace {
    /// Searches file contents.
    pub fn grep(&self, query: &GrepQuery, stop: &Stop) -> Result<GrepFound, WorkspaceError> {
        let (matcher, as_plain_text) = matcher(query)?;
        let only = query.glob.as_deref().map(PathPattern::new).transpose()?;
        let mut search = Search {
            workspace: self,
            matcher,
            searcher: searcher(query.context),
            wanted: query.matches_max,
            found: GrepFound { as_plain_text, ..GrepFound::default() },
        };
        match self.look(&query.path)? {
            None => return Err(WorkspaceError::Missing { path: query.path.to_string() }),
            Some((Kind::Folder, _)) => {}
            Some(_) => {
                search.file(&query.path)?;
                return Ok(search.found);
            }
        }
        let hidden = only.as_ref().is_some_and(|only| only.hidden);
        let walk = Walk { workspace: self, start: &query.path, hidden, depth: None, stop };
        let cut = walk.run(&mut |entry| {
            let wanted = only.as_ref().is_none_or(|only| only.matches(&query.path, &entry.path));
            // A file that vanished or may not be read is passed over.
            if entry.kind == Kind::File && wanted {
                let _ = search.file(&entry.path);
            }
            if search.found.more { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        search.found.cut = cut;
        Ok(search.found)
    }
}

fn matcher(query: &GrepQuery) -> Result<(RegexMatcher, bool), WorkspaceError> {
    let bad =
        |why: String| WorkspaceError::BadPattern { pattern: query.pattern.chars().take(80).collect(), why };
    if query.pattern.is_empty() || query.pattern.len() > limits::PATTERN_BYTES_MAX {
        return Err(bad("it is empty or too long".to_owned()));
    } else if query.pattern.contains('\n') {
        return Err(bad("lines are searched one by one; leave out the line break".to_owned()));
    }
    let build = |plain| {
        let mut builder = RegexMatcherBuilder::new();
        builder.case_insensitive(query.ignore_case).line_terminator(Some(b'\n')).fixed_strings(plain);
        builder.build(&query.pattern)
    };
    // Models often search for code such as `foo(` without thinking of it as an expression.
    match build(false) {
        Ok(matcher) => Ok((matcher, false)),
        Err(_) => build(true).map(|matcher| (matcher, true)).map_err(|error| bad(error.to_string())),
    }
}

fn searcher(context: usize) -> Searcher {
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .heap_limit(Some(limits::GREP_LINE_BYTES_MAX))
        .build()
}

struct Search<'a> {
    workspace: &'a Workspace,
    matcher: RegexMatcher,
    searcher: Searcher,
    wanted: usize,
    found: GrepFound,
}

impl Search<'_> {
    fn file(&mut self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        let open = self.workspace.open_file(path)?;
        let sink = Lines { path, wanted: self.wanted, found: &mut self.found };
        if self.searcher.search_file(&self.matcher, &open.file, sink).is_err() {
            self.found.files_skipped += 1;
        }
        Ok(())
    }
}

/// Takes what the searcher finds in one file.
struct Lines<'a> {
    path: &'a WorkspacePath,
    wanted: usize,
    found: &'a mut GrepFound,
}

impl Lines<'_> {
    fn push(&mut self, line: Option<u64>, bytes: &[u8], is_match: bool) {
        let text = shortened(&String::from_utf8_lossy(bytes));
        self.found.lines.push(GrepLine { path: self.path.clone(), line: line.unwrap_or(0), text, is_match });
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.found.matches >= self.wanted {
            self.found.more = true;
            return Ok(false);
        }
        self.found.matches += 1;
        self.push(found.line_number(), found.bytes(), true);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.push(found.line_number(), found.bytes(), false);
        Ok(true)
    }
}

fn shortened(line: &str) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    match line.char_indices().nth(limits::GREP_LINE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
