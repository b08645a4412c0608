//! Edits whose old text is in the file but for white space, or with the line numbers that it was shown with. Pure.
//!
//! A small model that has seen the right lines copies them with other indentation, or with their numbers. What it means is
//! beyond doubt only where exactly one place fits; anything else is left to the model. Every byte outside these lines stays,
//! and so do lines inside them that old and new share.

use std::collections::BTreeMap;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use crate::limits;
use crate::text::{ReplaceError, Replaced, UnixText, line_of, replace, with_lf};

/// Replaces the one run of whole lines that is `old` but for white space. New lines are indented as those they stand for.
pub fn replace_loosely(file: &[u8], old: &str, new: &str) -> Result<Replaced, ReplaceError> {
    let (old, new) = (with_lf(old.as_bytes()), with_lf(new.as_bytes()));
    let (old, new) = (whole_lines(&old), whole_lines(&new));
    if old.is_empty() || old.len() > limits::LOOSE_LINES_MAX || file.len() > limits::LOOSE_BYTES_MAX {
        return Err(ReplaceError::NotFound);
    }
    let view = UnixText::of(file);
    let lines: Vec<&[u8]> = view.bytes.split(|byte| *byte == b'\n').collect();
    let first = match fitting(&lines, &old).as_slice() {
        [] => return Err(ReplaceError::NotFound),
        [only] => *only,
        several => {
            return Err(ReplaceError::NotUnique { lines: several.iter().map(|at| at + 1).collect() });
        }
    };
    let stands = &lines[first..first + old.len()];
    let put = instead(&old, stands, &new).ok_or(ReplaceError::NotFound)?;
    let start: usize = lines[..first].iter().map(|line| line.len() + 1).sum();
    let mut gone = stands.join(&b'\n');
    if put.is_empty() && start + gone.len() < view.bytes.len() {
        // Lines that go take their end with them.
        gone.push(b'\n');
    }
    let put = put.join(&b'\n');
    if gone == put {
        return Err(ReplaceError::NoChange);
    }
    Ok(view.replaced(file, &[start], &gone, &put))
}

/// Replaces text that was copied with the line numbers it was shown with, if it stands at that very line and nowhere else.
pub fn replace_numbered(file: &[u8], old: &str, new: &str) -> Result<Replaced, ReplaceError> {
    let Some((number, old)) = without_numbers(old) else { return Err(ReplaceError::NotFound) };
    let new = match without_numbers(new) {
        Some((first, new)) if first == number => new,
        // Numbers that are not the old text's may be the new text's own.
        Some(_) if !new.contains('\t') => return Err(ReplaceError::NotFound),
        _ => new.split('\n').map(|line| tabbed(line).unwrap_or(line)).collect::<Vec<_>>().join("\n"),
    };
    let view = UnixText::of(file);
    let mut starts = memchr::memmem::find_iter(&view.bytes, old.as_bytes());
    let (exactly, more) = (starts.next(), starts.next().is_some());
    let (replaced, at) = match exactly {
        Some(start) => (replace(file, &old, &new, false), line_of(&view.bytes, start)),
        None => (replace_loosely(file, &old, &new), loose_line(&view.bytes, &old)),
    };
    // A number that says something else makes the place a guess.
    if at != number && !more { Err(ReplaceError::NotFound) } else { replaced }
}

/// The line where the first fitting lines begin, from 1; 0 if none fit.
fn loose_line(view: &[u8], old: &str) -> usize {
    let lines: Vec<&[u8]> = view.split(|byte| *byte == b'\n').collect();
    fitting(&lines, &whole_lines(old.as_bytes())).first().map_or(0, |at| at + 1)
}

/// The lines of a text without blank ones at its ends.
fn whole_lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    while lines.last().is_some_and(|line| blank(line)) {
        lines.pop();
    }
    let start = lines.iter().position(|line| !blank(line)).unwrap_or(lines.len());
    lines.split_off(start)
}

fn blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// Where `wanted` stands in `lines` but for white space.
fn fitting(lines: &[&[u8]], wanted: &[&[u8]]) -> Vec<usize> {
    let bare = |line: &[u8]| -> Vec<u8> {
        line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
    };
    let wanted: Vec<Vec<u8>> = wanted.iter().map(|line| bare(line)).collect();
    let lines: Vec<Vec<u8>> = lines.iter().map(|line| bare(line)).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let windows = lines.windows(wanted.len()).enumerate();
    windows.filter(|(_, window)| *window == wanted).map(|(at, _)| at).take(limits::PLACES_MAX).collect()
}

/// What comes where `stands` is: lines that stay are the file's own, others get the indentation of what they stand for.
/// `None` if that cannot be told.
fn instead(old: &[&[u8]], stands: &[&[u8]], new: &[&[u8]]) -> Option<Vec<Vec<u8>>> {
    let indents = Indents::of(old, stands);
    let mut put = Vec::with_capacity(new.len());
    for op in capture_diff_slices(Algorithm::Myers, old, new) {
        let (from, to) = (op.old_range(), op.new_range());
        if op.tag() == DiffTag::Equal {
            put.extend(stands[from].iter().map(|line| line.to_vec()));
            continue;
        }
        let paired = from.len() == to.len();
        for (nth, line) in new[to].iter().enumerate() {
            let at = from.start + nth;
            let twin = paired.then(|| (indent(old[at]), indent(stands[at])));
            put.push(indents.line(line, twin)?);
        }
    }
    Some(put)
}

fn indent(line: &[u8]) -> &[u8] {
    &line[..line.len() - line.trim_ascii_start().len()]
}

/// How the indentation of the old text becomes the file's.
struct Indents<'a> {
    /// By the old text's; none where the file has several for one.
    known: BTreeMap<&'a [u8], Option<&'a [u8]>>,
    /// What the file has before the old text's, where that is the same for all lines.
    added: Option<&'a [u8]>,
    /// What the old text has before the file's.
    taken: Option<&'a [u8]>,
}

impl<'a> Indents<'a> {
    fn of(old: &[&'a [u8]], stands: &[&'a [u8]]) -> Self {
        let pairs: Vec<(&[u8], &[u8])> = old
            .iter()
            .zip(stands)
            .filter(|(line, _)| !blank(line))
            .map(|(old, stands)| (indent(old), indent(stands)))
            .collect();
        let mut known = BTreeMap::new();
        for (old, stands) in &pairs {
            let one = known.entry(*old).or_insert(Some(*stands));
            *one = one.filter(|one| one == stands);
        }
        let added = same(pairs.iter().map(|(old, stands)| stands.strip_suffix(*old)));
        let taken = same(pairs.iter().map(|(old, stands)| old.strip_suffix(*stands)));
        Self { known, added, taken }
    }

    /// A new line as the file would have it. `twin`: the indentation of the line it stands for, in the old text and in the file.
    fn line(&self, line: &[u8], twin: Option<(&[u8], &[u8])>) -> Option<Vec<u8>> {
        let own = indent(line);
        let text = &line[own.len()..];
        if text.is_empty() {
            return Some(Vec::new());
        }
        let file = match (twin, self.known.get(own)) {
            (Some((old, stands)), _) if old == own => stands.to_vec(),
            (_, Some(known)) => (*known)?.to_vec(),
            (_, None) => match (self.added, self.taken) {
                (Some(added), _) => [added, own].concat(),
                (None, Some(taken)) => own.strip_prefix(taken)?.to_vec(),
                (None, None) => return None,
            },
        };
        Some([&file, text].concat())
    }
}

/// What all have, if they have the same.
fn same<'a>(mut all: impl Iterator<Item = Option<&'a [u8]>>) -> Option<&'a [u8]> {
    let first = all.next()??;
    all.all(|one| one == Some(first)).then_some(first)
}

/// The first number and the text without numbers, if every line has one and they count up.
fn without_numbers(text: &str) -> Option<(usize, String)> {
    let (text, end) = text.strip_suffix('\n').map_or((text, ""), |text| (text, "\n"));
    let mut lines = Vec::new();
    let mut first = None;
    for line in text.split('\n') {
        let (number, rest) = numbered(line)?;
        let first = *first.get_or_insert(number);
        if number != first + lines.len() {
            return None;
        }
        lines.push(rest);
    }
    first.map(|first| (first, lines.join("\n") + end))
}

/// A line's number, and what stands after it: after a tab, a colon, a bar or a space.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let line = line.trim_start_matches(' ');
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = line[..digits].parse().ok()?;
    let rest = &line[digits..];
    let text = match rest.chars().next() {
        None => rest,
        Some('\t' | ' ') => &rest[1..],
        Some(':' | '|') => rest[1..].strip_prefix(' ').unwrap_or(&rest[1..]),
        Some(_) => return None,
    };
    Some((number, text))
}

/// What stands after a number and a tab, as lines are shown.
fn tabbed(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ').trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix('\t').filter(|_| line.trim_start_matches(' ').len() > rest.len())
}
