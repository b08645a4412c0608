//! read_file: a window of a file, streamed, so that the size of the file does not matter.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek},
};

use posse_protocol::{Files, Needs, ToolOutcome};
use posse_workspace::{Stop, WorkspaceError, WorkspacePath, text};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    limits,
    lookup::{explained, named, place},
    tool::{Context, Failed, Tool},
};

/// Read a text file. Lines come numbered; the numbers are not part of the file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadFile {
    /// Relative to the workspace.
    path: String,
    /// From 1.
    start_line: Option<u64>,
    end_line: Option<u64>,
    /// How many lines, for models that think in these terms.
    #[schemars(skip)]
    limit: Option<u64>,
}

impl ReadFile {
    fn first(&self) -> u64 {
        self.start_line.unwrap_or(1).max(1)
    }

    fn last(&self) -> Option<u64> {
        let by_limit = |limit: u64| limit.checked_sub(1).map_or(0, |more| self.first().saturating_add(more));
        self.end_line.or_else(|| self.limit.map(by_limit))
    }
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const NEEDS: Needs = Needs { files: Files::Read, shell: posse_protocol::Shell::None, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("file_path", "path"),
        ("filepath", "path"),
        ("filename", "path"),
        ("file", "path"),
        ("offset", "start_line"),
        ("start", "start_line"),
        ("line_start", "start_line"),
        ("end", "end_line"),
        ("line_end", "end_line"),
        ("max_lines", "limit"),
        ("limit", "limit"),
    ];

    fn about(&self) -> String {
        match (self.start_line, self.last()) {
            (None, None) => self.path.clone(),
            (_, Some(last)) => format!("{}:{}-{last}", self.path, self.first()),
            (_, None) => format!("{}:{}-", self.path, self.first()),
        }
    }

    fn path(&self) -> Option<&str> {
        Some(&self.path)
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, Failed> {
        context.blocking(move |context, stop| self.read(context, stop)).await
    }
}

impl ReadFile {
    fn read(&self, context: &Context, stop: &Stop) -> Result<ToolOutcome, Failed> {
        let path = place(&context.workspace, &self.path)?;
        if self.last().is_some_and(|last| last < self.first()) {
            return Err(Failed("end_line is before start_line; swap them".to_owned()));
        }
        let open = context.workspace.open_file(&path);
        let mut open = open.map_err(|error| match error {
            WorkspaceError::NotAFile { kind: posse_workspace::Kind::Folder, .. } => {
                folder(context, &path, stop)
            }
            error => explained(&context.workspace, &error, stop),
        })?;
        let failed = |error: io::Error| Failed(format!("{path}: {error}"));
        let start = start_of_file(&mut open.file).map_err(failed)?;
        context.seen.read(&path, open.stamp);
        if start.is_empty() || start == text::BOM {
            return Ok(ToolOutcome::ok("(the file is empty)"));
        } else if text::is_binary(&start) {
            let kind = text::binary_kind(&start);
            let text =
                format!("{path} is not text: {kind}, {} bytes. Use shell to inspect it.", open.stamp.bytes());
            return Err(Failed(text));
        }
        let mut window = Window::new(self.first(), self.last());
        window.fill(&mut Lines::new(open.file, start.starts_with(text::BOM))).map_err(failed)?;
        window.into_text(self.first()).map(ToolOutcome::ok)
    }
}

/// What is in a folder, so that the next call can name a file of it.
fn folder(context: &Context, path: &WorkspacePath, stop: &Stop) -> Failed {
    let found = context.workspace.glob("*", path, limits::NAMED_PATHS_MAX, stop).ok();
    Failed(match found.map(|found| named(&found)).filter(|files| !files.is_empty()) {
        Some(files) => format!("{path} is a folder; call read_file with one of its files: {files}"),
        None => format!("{path} is a folder; call list_files on it"),
    })
}

fn start_of_file(file: &mut File) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.by_ref().take(posse_workspace::limits::SNIFF_BYTES as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start)
}

/// The lines that were asked for, and what is to be said about them.
struct Window {
    first: u64,
    last: u64,
    text: String,
    shown: u64,
    full: bool,
    crlf: u64,
    not_utf8: bool,
    /// Lines of the whole file, once its end was seen.
    total: Option<u64>,
}

impl Window {
    fn new(first: u64, last: Option<u64>) -> Self {
        let most = first.saturating_add(limits::READ_LINES_MAX as u64 - 1);
        let last = last.unwrap_or(u64::MAX).min(most);
        let text = String::new();
        Self { first, last, text, shown: 0, full: false, crlf: 0, not_utf8: false, total: None }
    }

    fn fill(&mut self, lines: &mut Lines) -> io::Result<()> {
        let mut number = 0;
        loop {
            let done = self.full || number >= self.last;
            if done {
                lines.only_count();
            }
            let wanted = !done && number + 1 >= self.first;
            let Some(line) = lines.next(if wanted { limits::READ_LINE_BYTES_MAX } else { 0 })? else { break };
            number += 1;
            if wanted {
                self.take(number, &line);
            }
        }
        self.total = lines.at_end.then_some(number);
        Ok(())
    }

    fn take(&mut self, number: u64, line: &Line) {
        let kept = line.start.strip_suffix(b"\r").filter(|_| line.bytes == line.start.len() as u64);
        self.crlf += u64::from(kept.is_some());
        let kept = kept.unwrap_or(&line.start);
        // A character that the cut went through is not the file's fault.
        let shown = match std::str::from_utf8(kept) {
            Err(error) if error.error_len().is_none() && line.is_cut() => &kept[..error.valid_up_to()],
            _ => kept,
        };
        let shown = String::from_utf8_lossy(shown);
        self.not_utf8 |= shown.contains('\u{fffd}');
        let cut =
            if line.is_cut() { format!("… ({} bytes in this line)", line.bytes) } else { String::new() };
        if self.text.len() + shown.len() > limits::READ_BYTES_MAX {
            self.full = true;
            return;
        }
        let _ = writeln!(self.text, "{number}\t{shown}{cut}");
        self.shown += 1;
    }

    fn into_text(mut self, first: u64) -> Result<String, Failed> {
        if self.shown == 0 {
            return Err(Failed(match self.total {
                Some(total) => format!("the file has only {total} lines; line {first} is past its end"),
                None => format!(
                    "line {first} is not within the first {} bytes of the file; use grep or shell for it",
                    limits::READ_SCAN_BYTES_MAX
                ),
            }));
        }
        let end = self.first + self.shown - 1;
        match self.total {
            Some(total) if end < total || self.first > 1 => {
                let _ = write!(self.text, "(lines {}-{end} of {total}", self.first);
                let more =
                    if end < total { format!("; go on with start_line {}", end + 1) } else { String::new() };
                let _ = writeln!(self.text, "{more})");
            }
            Some(_) => {}
            None => {
                let _ = writeln!(self.text, "(lines {}-{end} of a very large file)", self.first);
            }
        }
        if self.crlf > 0 {
            let which = if self.crlf == self.shown { "lines end" } else { "some lines end" };
            let _ = writeln!(self.text, "({which} in CRLF; edit_file takes and keeps care of that)");
        }
        if self.not_utf8 {
            self.text.push_str("(bytes that are not UTF-8 are shown as \u{fffd})\n");
        }
        self.text.truncate(self.text.trim_end_matches('\n').len());
        Ok(self.text)
    }
}

/// One line of a file: its start, and how long it is.
struct Line {
    start: Vec<u8>,
    bytes: u64,
}

impl Line {
    fn is_cut(&self) -> bool {
        self.bytes > self.start.len() as u64
    }
}

/// Reads line by line without ever holding more than the start of one.
struct Lines {
    reader: BufReader<File>,
    /// How much is looked at still.
    left_bytes: u64,
    /// How much is looked at still if it is only counted.
    count_bytes: u64,
    at_end: bool,
    skip_bom: bool,
}

impl Lines {
    fn new(file: File, skip_bom: bool) -> Self {
        let reader = BufReader::with_capacity(64 * 1024, file);
        let (left_bytes, count_bytes) = (limits::READ_SCAN_BYTES_MAX, limits::READ_COUNT_BYTES_MAX);
        Self { reader, left_bytes, count_bytes, at_end: false, skip_bom }
    }

    /// What follows is only counted, and not for long.
    fn only_count(&mut self) {
        self.left_bytes = self.left_bytes.min(self.count_bytes);
    }

    /// The next line with up to `keep` bytes of it; `None` at the end of the file or of what is looked at.
    fn next(&mut self, keep: usize) -> io::Result<Option<Line>> {
        if std::mem::take(&mut self.skip_bom) {
            self.reader.read_exact(&mut [0; text::BOM.len()])?;
        }
        let mut line = Line { start: Vec::new(), bytes: 0 };
        loop {
            let chunk = self.reader.fill_buf()?;
            if chunk.is_empty() {
                self.at_end = true;
                return Ok((line.bytes > 0).then_some(line));
            } else if self.left_bytes == 0 {
                return Ok(None);
            }
            let newline = memchr::memchr(b'\n', chunk);
            let piece = &chunk[..newline.unwrap_or(chunk.len())];
            let room = keep.saturating_sub(line.start.len()).min(piece.len());
            line.start.extend_from_slice(&piece[..room]);
            line.bytes += piece.len() as u64;
            let used = piece.len() + usize::from(newline.is_some());
            self.left_bytes = self.left_bytes.saturating_sub(used as u64);
            self.reader.consume(used);
            if newline.is_some() {
                return Ok(Some(line));
            }
        }
    }
}
