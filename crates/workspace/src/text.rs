//! What a file's bytes are as text, and edits that leave every byte outside the edited place as it was.
//!
//! Pure functions over bytes. Models see and send `\n`; files may have `\r\n`, a byte order mark, or bytes that are not
//! UTF-8. Searching happens in a view with `\n` only, and what is found is mapped back to the file's own bytes.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use memchr::{memchr, memmem, memrchr};
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

use crate::limits;

/// The UTF-8 byte order mark.
pub const BOM: &[u8] = b"\xEF\xBB\xBF";

/// What a file is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextFormat {
    /// Whether it starts with a byte order mark.
    pub bom: bool,
    /// Its line endings.
    pub endings: Endings,
    /// Whether all of it is UTF-8; if not, what is shown of it is not exact.
    pub utf8: bool,
}

/// The line endings of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endings {
    /// It has no line ending at all.
    None,
    /// Only `\n`.
    Lf,
    /// Only `\r\n`.
    CrLf,
    /// Both.
    Mixed,
}

impl TextFormat {
    /// Looks at all of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let newlines = memchr::memchr_iter(b'\n', bytes).count();
        let with_return = memmem::find_iter(bytes, b"\r\n").count();
        let endings = match (newlines, with_return) {
            (0, _) => Endings::None,
            (_, 0) => Endings::Lf,
            (all, with) if all == with => Endings::CrLf,
            _ => Endings::Mixed,
        };
        Self { bom: bytes.starts_with(BOM), endings, utf8: std::str::from_utf8(bytes).is_ok() }
    }
}

/// Whether a file that starts like this is not text.
pub fn is_binary(start: &[u8]) -> bool {
    memchr(0, &start[..start.len().min(limits::SNIFF_BYTES)]).is_some()
}

/// A name for well-known kinds of binary files.
pub fn binary_kind(start: &[u8]) -> &'static str {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\x89PNG", "PNG image"),
        (b"\xFF\xD8\xFF", "JPEG image"),
        (b"GIF8", "GIF image"),
        (b"%PDF", "PDF document"),
        (b"PK\x03\x04", "ZIP archive"),
        (b"\x1F\x8B", "gzip data"),
        (b"\x7FELF", "ELF program"),
        (b"\0asm", "WebAssembly module"),
        (b"SQLite format 3", "SQLite database"),
        (b"\xFF\xFE", "UTF-16 text"),
        (b"\xFE\xFF", "UTF-16 text"),
    ];
    let known = KINDS.iter().find(|(magic, _)| start.starts_with(magic));
    known.map_or("binary data", |(_, name)| name)
}

/// An edited file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The whole new file.
    pub bytes: Vec<u8>,
    /// How many places were changed.
    pub count: usize,
    /// The line of the first change, from 1.
    pub first_line: usize,
}

/// Why an edit was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplaceError {
    /// There was nothing to look for.
    EmptyOld,
    /// Old and new are the same.
    NoChange,
    /// The old text is not in the file.
    NotFound,
    /// The old text is in the file more than once, on these lines; the first of them where there are very many.
    NotUnique {
        /// The lines where it begins, from 1.
        lines: Vec<usize>,
    },
}

/// Replaces `old` by `new`: the one place where it is, or all places.
pub fn replace(bytes: &[u8], old: &str, new: &str, all: bool) -> Result<Replaced, ReplaceError> {
    let old = with_lf(old.as_bytes());
    let new = with_lf(new.as_bytes());
    if old.is_empty() {
        return Err(ReplaceError::EmptyOld);
    } else if old == new {
        return Err(ReplaceError::NoChange);
    }
    let view = UnixText::of(bytes);
    let starts: Vec<usize> =
        if all { memmem::find_iter(&view.bytes, &old).collect() } else { places(&view.bytes, &old) };
    if starts.is_empty() {
        return Err(ReplaceError::NotFound);
    } else if starts.len() > 1 && !all {
        let lines = starts.iter().map(|start| line_of(&view.bytes, *start)).collect();
        return Err(ReplaceError::NotUnique { lines });
    }
    Ok(view.replaced(bytes, &starts, &old, &new))
}

/// Where `wanted` begins, overlapping places included: of two that overlap neither is the one that was meant.
fn places(view: &[u8], wanted: &[u8]) -> Vec<usize> {
    let finder = memmem::Finder::new(wanted);
    let mut places = Vec::new();
    let mut from = 0;
    while places.len() < limits::PLACES_MAX
        && let Some(at) = finder.find(&view[from..])
    {
        places.push(from + at);
        from += at + 1;
    }
    places
}

/// Appends `inserted` with the line endings of what it takes the place of, or of its surroundings.
fn insert(out: &mut Vec<u8>, file: &[u8], removed: Range<usize>, inserted: &[u8]) {
    let mut known = memchr::memchr_iter(b'\n', &file[removed.clone()]).map(|at| removed.start + at);
    let before = memrchr(b'\n', &file[..removed.start]);
    let after = memchr(b'\n', &file[removed.end..]).map(|at| removed.end + at);
    // Whole new lines are like the line before them; all else is like the line it is in.
    let new_lines = removed.is_empty() && before.is_some_and(|at| at + 1 == removed.start);
    let mut near = if new_lines { before } else { after.or(before) };
    for piece in inserted.split_inclusive(|byte| *byte == b'\n') {
        let Some(line) = piece.strip_suffix(b"\n") else {
            out.extend_from_slice(piece);
            continue;
        };
        near = known.next().or(near);
        let has_return = near.is_some_and(|at| at > 0 && file[at - 1] == b'\r');
        out.extend_from_slice(line);
        out.extend_from_slice(if has_return { b"\r\n" } else { b"\n" });
    }
}

/// The file with `\n` for every `\r\n`, and the way back.
pub(crate) struct UnixText {
    pub(crate) bytes: Vec<u8>,
    /// Where in `bytes` a `\r` before it was left out, in order.
    returns: Vec<usize>,
}

impl UnixText {
    pub(crate) fn of(file: &[u8]) -> Self {
        let mut returns = Vec::new();
        for (left_out, at) in memmem::find_iter(file, b"\r\n").enumerate() {
            returns.push(at - left_out);
        }
        Self { bytes: with_lf(file), returns }
    }

    /// The file with `new` for the `old` that stands at `starts`, places in the view. There is at least one.
    pub(crate) fn replaced(&self, file: &[u8], starts: &[usize], old: &[u8], new: &[u8]) -> Replaced {
        // What old and new have in common stays as it is in the file, line endings included.
        let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let suffix =
            old[prefix..].iter().rev().zip(new[prefix..].iter().rev()).take_while(|(a, b)| a == b).count();
        let inserted = &new[prefix..new.len() - suffix];
        let mut out = Vec::with_capacity(file.len() + new.len());
        let mut copied = 0;
        for start in starts {
            let removed = self.in_file(start + prefix)..self.in_file(start + old.len() - suffix);
            out.extend_from_slice(&file[copied..removed.start]);
            insert(&mut out, file, removed.clone(), inserted);
            copied = removed.end;
        }
        out.extend_from_slice(&file[copied..]);
        let first = starts.first().map_or(0, |start| start + prefix);
        Replaced { bytes: out, count: starts.len(), first_line: line_of(&self.bytes, first) }
    }

    /// The place in the file of a place in the view.
    fn in_file(&self, at: usize) -> usize {
        at + self.returns.partition_point(|before| *before < at)
    }
}

/// The same text with `\n` for every `\r\n`.
pub fn with_lf(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for at in memmem::find_iter(bytes, b"\r\n") {
        out.extend_from_slice(&bytes[copied..at]);
        copied = at + 1;
    }
    out.extend_from_slice(&bytes[copied..]);
    out
}

pub(crate) fn line_of(view: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &view[..at]).count() + 1
}

/// How many lines are new and how many are gone.
pub fn line_changes(old: &[u8], new: &[u8]) -> (u32, u32) {
    let lines = |text: &'_ [u8]| -> Vec<Vec<u8>> {
        text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    };
    let (old, new) = (lines(old), lines(new));
    let deadline = Instant::now() + Duration::from_millis(limits::DIFF_TIME_MS_MAX);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(deadline));
    let changes = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
    let (added, removed) = changes
        .fold((0, 0), |(added, removed), op| (added + op.new_range().len(), removed + op.old_range().len()));
    (u32::try_from(added).unwrap_or(u32::MAX), u32::try_from(removed).unwrap_or(u32::MAX))
}

/// The same at once, but not always the least: everything between the first and the last difference counts.
pub(crate) fn line_changes_at_most(old: &[u8], new: &[u8]) -> (u32, u32) {
    let lines =
        |text: &'_ [u8]| text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (old, new) = (lines(old), lines(new));
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let count = |lines: &[Vec<u8>]| u32::try_from(lines.len() - start - end).unwrap_or(u32::MAX);
    (count(&new), count(&old))
}

/// Cuts a text and says so.
pub(crate) fn cut(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        let left_out = text.len() - text.floor_char_boundary(bytes_max);
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push_str(&format!("\n… and {left_out} more bytes\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{line_changes, line_changes_at_most};

    #[test]
    fn the_quick_count_is_never_less() {
        let cases: [(&str, &str, (u32, u32)); 7] = [
            ("", "", (0, 0)),
            ("a\nb\n", "a\nb\n", (0, 0)),
            ("", "a\nb", (2, 0)),
            ("a\nb\n", "", (0, 2)),
            ("a\na\n", "a\na\na\n", (1, 0)),
            ("a\nb\nc\nd\n", "a\nx\nc\ny\nd\n", (3, 2)),
            ("a\nb\n", "b\na\n", (2, 2)),
        ];
        for (old, new, wanted) in cases {
            let quick = line_changes_at_most(old.as_bytes(), new.as_bytes());
            let least = line_changes(old.as_bytes(), new.as_bytes());
            assert_eq!(quick, wanted, "{old:?} {new:?}");
            assert!(quick.0 >= least.0 && quick.1 >= least.1, "{old:?} {new:?}");
        }
    }
}
