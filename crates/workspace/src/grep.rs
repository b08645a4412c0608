//! Searches file contents with ripgrep's own libraries. Every file is opened through the workspace, so no link swapped
//! in during the walk leads out. One thread walks, several search; what they find is in the order of the walk.

mod batches;

use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
    ops::ControlFlow,
};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use posse_protocol::clip::clipped;

use crate::{
    Cut, Kind, OpenFile, Stop, Workspace, WorkspaceError, WorkspacePath, limits, tree::PathPattern,
    walk::Walk,
};
use batches::Batches;

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
        let mut search = Search::new(self, matcher, query);
        match self.look(&query.path)? {
            None => return Err(WorkspaceError::Missing { path: query.path.to_string() }),
            Some((Kind::Folder, _)) => {}
            Some(_) => {
                let mut found = GrepFound { as_plain_text, ..GrepFound::default() };
                let open = self.open_file(&query.path)?;
                found.add(search.opened(&query.path, open), query.matches_max);
                return Ok(found);
            }
        }
        let hidden = only.as_ref().is_some_and(|only| only.hidden);
        let walk = Walk { workspace: self, start: &query.path, hidden, depth: None, stop };
        let batches = Batches::new(stop);
        let cut = batches.fill(search, |batch| {
            walk.run(&mut |entry| {
                let wanted = only.as_ref().is_none_or(|only| only.matches(&query.path, &entry.path));
                if entry.kind == Kind::File && wanted {
                    batch.add(entry.path);
                }
                if batch.enough() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
        })?;
        let found = batches.found()?;
        let cut = cut.or(found.cut).filter(|_| !found.more);
        Ok(GrepFound { as_plain_text, cut, ..found })
    }
}

impl GrepFound {
    /// Adds what the next file holds, up to the first match that is too many.
    fn add(&mut self, in_file: InFile, wanted: usize) {
        for line in in_file.lines {
            if line.is_match && self.matches == wanted {
                self.more = true;
                return;
            }
            self.matches += usize::from(line.is_match);
            self.lines.push(line);
        }
        self.files_skipped += u64::from(in_file.skipped);
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

/// What is searched for, and how. Each thread has one.
#[derive(Clone)]
struct Search<'a> {
    workspace: &'a Workspace,
    matcher: RegexMatcher,
    searcher: Searcher,
    wanted: usize,
    /// Holds one short file at a time.
    whole: Vec<u8>,
}

/// What one file holds of what is searched for.
#[derive(Default)]
struct InFile {
    /// With one match more than is wanted, if there is one.
    lines: Vec<GrepLine>,
    matches: usize,
    /// Whether it could not be searched to its end.
    skipped: bool,
}

impl<'a> Search<'a> {
    fn new(workspace: &'a Workspace, matcher: RegexMatcher, query: &GrepQuery) -> Self {
        let (searcher, wanted) = (searcher(query.context), query.matches_max);
        Self { workspace, matcher, searcher, wanted, whole: Vec::new() }
    }

    /// Searches a file that a walk has found. One that vanished or may not be read is passed over.
    fn found(&mut self, path: &WorkspacePath) -> Option<InFile> {
        let open = self.workspace.open_found(path).ok()?;
        let in_file = self.opened(path, open);
        (in_file.skipped || !in_file.lines.is_empty()).then_some(in_file)
    }

    fn opened(&mut self, path: &WorkspacePath, open: OpenFile) -> InFile {
        let (mut in_file, mut file) = (InFile::default(), open.file);
        let sink = Lines { path, wanted: self.wanted, in_file: &mut in_file };
        let searched = match self.read_whole(&mut file, open.stamp.bytes()) {
            Ok(true) => self.searcher.search_slice(&self.matcher, &self.whole, sink),
            Ok(false) => self.searcher.search_file(&self.matcher, &file, sink),
            Err(error) => Err(error),
        };
        in_file.skipped = searched.is_err();
        in_file
    }

    /// Reads a short file with one call. `false`, and nothing read, if it is not short or not as long as it says.
    fn read_whole(&mut self, file: &mut File, bytes: u64) -> io::Result<bool> {
        if bytes >= limits::GREP_WHOLE_BYTES_MAX {
            return Ok(false);
        }
        let length = usize::try_from(bytes).map_err(io::Error::other)?;
        self.whole.resize(length + 1, 0);
        let read = file.read(&mut self.whole)?;
        self.whole.truncate(read);
        if read != length {
            file.rewind()?;
        }
        Ok(read == length)
    }
}

/// Takes what the searcher finds in one file.
struct Lines<'a> {
    path: &'a WorkspacePath,
    wanted: usize,
    in_file: &'a mut InFile,
}

impl Lines<'_> {
    fn push(&mut self, line: Option<u64>, bytes: &[u8], is_match: bool) {
        let whole = String::from_utf8_lossy(bytes);
        let text = clipped(whole.trim_end_matches(['\n', '\r']), limits::GREP_LINE_CHARS_MAX);
        let path = self.path.clone();
        self.in_file.lines.push(GrepLine { path, line: line.unwrap_or(0), text, is_match });
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.push(found.line_number(), found.bytes(), true);
        self.in_file.matches += 1;
        Ok(self.in_file.matches <= self.wanted)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.push(found.line_number(), found.bytes(), false);
        Ok(true)
    }
}
