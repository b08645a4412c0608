//! read_file: a window of a text file, streamed, so that the size of the file does not matter; or a whole image.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, BufRead, BufReader, Read},
};

use posse_protocol::{CallKind, Files, MediaType, Needs, ToolOutcome};
use posse_workspace::{Stamp, Stop, WorkspaceError, WorkspacePath, text};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    context::Context,
    failure::ToolFailure,
    limits,
    lookup::{explained, named, place},
    picture::{Picture, look},
    tool::Tool,
};

/// Read a text file. Lines come numbered; the numbers are not part of the file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadFile {
    path: String,
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
    const KIND: CallKind = CallKind::Read;
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

    async fn run(self, context: Context) -> Result<ToolOutcome, ToolFailure> {
        if self.last().is_some_and(|last| last < self.first()) {
            return Err(ToolFailure("end_line is before start_line; swap them".to_owned()));
        }
        match self.read_at_once(&context) {
            Some(read) => read,
            None => context.blocking(move |context, stop| self.read(context, stop)).await,
        }
    }
}

impl ReadFile {
    /// Reads a small file that is in memory; `None` if it takes a thread that may wait, if only to say what is wrong.
    fn read_at_once(&self, context: &Context) -> Option<Result<ToolOutcome, ToolFailure>> {
        let path = context.workspace.resolve(self.path.trim()).ok()?;
        let (bytes, stamp) = context.workspace.read_cached(&path, limits::READ_AT_ONCE_BYTES_MAX)?;
        let start = &bytes[..bytes.len().min(posse_workspace::limits::SNIFF_BYTES)];
        Some(self.told(context, &path, stamp, start, bytes.as_slice()))
    }

    fn read(&self, context: &Context, stop: &Stop) -> Result<ToolOutcome, ToolFailure> {
        let path = place(&context.workspace, &self.path)?;
        let open = context.workspace.open_file(&path);
        let mut open = open.map_err(|error| match error {
            WorkspaceError::NotAFile { kind: posse_workspace::Kind::Folder, .. } => {
                folder(context, &path, stop)
            }
            error => explained(&context.workspace, &error, stop),
        })?;
        let start = start_of_file(&mut open.file).map_err(|error| failed(&path, &error))?;
        let rest = BufReader::with_capacity(64 * 1024, open.file);
        self.told(context, &path, open.stamp, &start, start.as_slice().chain(rest))
    }

    /// What is told of a file that begins with `start`; `all` gives it from its beginning.
    fn told(
        &self,
        context: &Context,
        path: &WorkspacePath,
        stamp: Stamp,
        start: &[u8],
        all: impl BufRead,
    ) -> Result<ToolOutcome, ToolFailure> {
        context.seen.read(path, stamp);
        if let Some(media_type) = MediaType::of(start) {
            return match look(&context.settings, path, media_type, stamp.bytes(), all)? {
                Picture::Shown(outcome) => Ok(outcome),
                Picture::Text(content) => self.text(path, stamp, start, content.as_slice()),
            };
        }
        self.text(path, stamp, start, all)
    }

    fn text(
        &self,
        path: &WorkspacePath,
        stamp: Stamp,
        start: &[u8],
        all: impl BufRead,
    ) -> Result<ToolOutcome, ToolFailure> {
        if start.is_empty() || start == text::BOM {
            return Ok(ToolOutcome::ok("(the file is empty)"));
        } else if text::is_binary(start) {
            let kind = text::binary_kind(start);
            let text =
                format!("{path} is not text: {kind}, {} bytes. Use shell to inspect it.", stamp.bytes());
            return Err(ToolFailure(text));
        }
        let mut window = Window::new(self.first(), self.last());
        let filled = window.fill(&mut Lines::new(all, start.starts_with(text::BOM)));
        filled.map_err(|error| failed(path, &error))?;
        window.into_text(self.first()).map(ToolOutcome::ok)
    }
}

fn failed(path: &WorkspacePath, error: &io::Error) -> ToolFailure {
    ToolFailure(format!("{path}: {error}"))
}

/// What is in a folder, so that the next call can name a file of it.
fn folder(context: &Context, path: &WorkspacePath, stop: &Stop) -> ToolFailure {
    let found = context.workspace.glob("*", path, limits::NAMED_PATHS_MAX, stop).ok();
    ToolFailure(match found.map(|found| named(&found)).filter(|files| !files.is_empty()) {
        Some(files) => format!("{path} is a folder; call read_file with one of its files: {files}"),
        None => format!("{path} is a folder; call list_files on it"),
    })
}

fn start_of_file(file: &mut File) -> io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(posse_workspace::limits::SNIFF_BYTES);
    file.take(posse_workspace::limits::SNIFF_BYTES as u64).read_to_end(&mut start)?;
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
        let text = String::with_capacity(limits::READ_TEXT_BYTES);
        Self { first, last, text, shown: 0, full: false, crlf: 0, not_utf8: false, total: None }
    }

    fn fill(&mut self, lines: &mut Lines<impl BufRead>) -> io::Result<()> {
        let mut number = lines.skip(self.first - 1)?;
        while !self.full && number < self.last {
            let Some(line) = lines.next(limits::READ_LINE_BYTES_MAX)? else { break };
            number += 1;
            self.take(number, &line);
        }
        lines.only_count();
        number += lines.skip(u64::MAX)?;
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
        if self.text.len() + shown.len() > limits::READ_BYTES_MAX {
            self.full = true;
            return;
        }
        let _ = write!(self.text, "{number}\t");
        self.text.push_str(&shown);
        if line.is_cut() {
            let _ = write!(self.text, "… ({} bytes in this line)", line.bytes);
        }
        self.text.push('\n');
        self.shown += 1;
    }

    fn into_text(mut self, first: u64) -> Result<String, ToolFailure> {
        if self.shown == 0 {
            return Err(ToolFailure(match self.total {
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
struct Lines<R> {
    reader: R,
    /// How much is looked at still.
    left_bytes: u64,
    /// How much is looked at still if it is only counted.
    count_bytes: u64,
    at_end: bool,
    skip_bom: bool,
}

impl<R: BufRead> Lines<R> {
    fn new(reader: R, skip_bom: bool) -> Self {
        let (left_bytes, count_bytes) = (limits::READ_SCAN_BYTES_MAX, limits::READ_COUNT_BYTES_MAX);
        Self { reader, left_bytes, count_bytes, at_end: false, skip_bom }
    }

    /// What follows is only counted, and not for long.
    fn only_count(&mut self) {
        self.left_bytes = self.left_bytes.min(self.count_bytes);
    }

    /// More of the file, as far as it is looked at; nothing at its end, or at the end of that.
    fn more(&mut self) -> io::Result<&[u8]> {
        if std::mem::take(&mut self.skip_bom) {
            self.reader.read_exact(&mut [0; text::BOM.len()])?;
        }
        let chunk = self.reader.fill_buf()?;
        self.at_end = chunk.is_empty();
        let most = usize::try_from(self.left_bytes).unwrap_or(usize::MAX).min(chunk.len());
        Ok(&chunk[..most])
    }

    fn consume(&mut self, used: usize) {
        self.left_bytes = self.left_bytes.saturating_sub(used as u64);
        self.reader.consume(used);
    }

    /// Passes over so many lines, or fewer if there are no more. Says how many.
    fn skip(&mut self, lines: u64) -> io::Result<u64> {
        let (mut passed, mut begun) = (0, false);
        while passed < lines {
            let chunk = self.more()?;
            let Some(last) = chunk.last() else {
                return Ok(passed + u64::from(begun && self.at_end));
            };
            begun = *last != b'\n';
            let wanted = usize::try_from(lines - passed).unwrap_or(usize::MAX);
            let (found, used) = if wanted >= chunk.len() {
                (memchr::memchr_iter(b'\n', chunk).count(), chunk.len())
            } else {
                let ends = memchr::memchr_iter(b'\n', chunk).take(wanted);
                let (found, end) = ends.fold((0, 0), |(found, _), at| (found + 1, at + 1));
                (found, if found == wanted { end } else { chunk.len() })
            };
            passed += found as u64;
            self.consume(used);
        }
        Ok(passed)
    }

    /// The next line with up to `keep` bytes of it; `None` at the end of the file or of what is looked at.
    fn next(&mut self, keep: usize) -> io::Result<Option<Line>> {
        let mut line = Line { start: Vec::new(), bytes: 0 };
        loop {
            let chunk = self.more()?;
            if chunk.is_empty() {
                return Ok((self.at_end && line.bytes > 0).then_some(line));
            }
            let newline = memchr::memchr(b'\n', chunk);
            let piece = &chunk[..newline.unwrap_or(chunk.len())];
            let room = keep.saturating_sub(line.start.len()).min(piece.len());
            line.start.extend_from_slice(&piece[..room]);
            line.bytes += piece.len() as u64;
            let used = piece.len() + usize::from(newline.is_some());
            self.consume(used);
            if newline.is_some() {
                return Ok(Some(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn window(reader: impl BufRead, first: u64, last: Option<u64>) -> (String, Option<u64>) {
        let mut window = Window::new(first, last);
        window.fill(&mut Lines::new(reader, false)).unwrap();
        (window.text, window.total)
    }

    proptest! {
        /// What is read at once and what is streamed in pieces of any size is the same.
        #[test]
        fn lines_do_not_depend_on_how_they_come(
            text in "([a-z]{0,4}\n?){0,12}",
            first in 1_u64..8,
            more in proptest::option::of(0_u64..6),
            piece in 1_usize..9,
        ) {
            let last = more.map(|more| first + more);
            let lines: Vec<&str> = text.split_terminator('\n').collect();
            let wanted = lines.iter().enumerate().skip(first as usize - 1);
            let wanted = wanted.take(last.map_or(usize::MAX, |last| (last + 1 - first) as usize));
            let want: String = wanted.map(|(at, line)| format!("{}\t{line}\n", at + 1)).collect();
            let whole = window(text.as_bytes(), first, last);
            prop_assert_eq!(&whole, &(want, Some(lines.len() as u64)));
            prop_assert_eq!(window(BufReader::with_capacity(piece, text.as_bytes()), first, last), whole);
        }
    }
}
