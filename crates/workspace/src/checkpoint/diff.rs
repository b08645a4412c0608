//! Kept changes as people read them: a unified diff as git writes it, and how many lines were added and removed.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    time::{Duration, Instant},
};

use posse_protocol::{Change, Saved};
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops};

use super::repository;
use crate::content_store::{ContentStore, parsed};
use crate::limits;
use crate::text::{self, cut};

/// How many lines around a change are shown.
const AROUND: usize = 3;

/// From what was there before the first change of each path to what was there after the last.
pub(super) fn diff(store: &ContentStore, changes: &[Change], bytes_max: usize) -> String {
    let mut paths: BTreeMap<&str, (&Option<Saved>, &Option<Saved>)> = BTreeMap::new();
    for change in changes {
        paths.entry(&change.path).or_insert((&change.before, &change.after)).1 = &change.after;
    }
    let mut shown = String::new();
    for (path, (before, after)) in paths {
        if before != after && !repository::is_inside(path) {
            one(store, path, before.as_ref(), after.as_ref(), &mut shown);
        }
        if shown.len() > bytes_max {
            break;
        }
    }
    cut(shown, bytes_max)
}

fn one(store: &ContentStore, path: &str, before: Option<&Saved>, after: Option<&Saved>, shown: &mut String) {
    let (old_path, new_path) = (quoted("a/", path), quoted("b/", path));
    // Writing to a text cannot fail.
    let _ = writeln!(shown, "diff --git {old_path} {new_path}");
    let mode = |saved: Option<&Saved>| saved.map(|saved| saved.mode.as_str().to_owned()).unwrap_or_default();
    let _ = match (before, after) {
        (None, _) => writeln!(shown, "new file mode {}", mode(after)),
        (_, None) => writeln!(shown, "deleted file mode {}", mode(before)),
        (Some(old), Some(new)) if old.mode != new.mode => {
            writeln!(shown, "old mode {}\nnew mode {}", old.mode, new.mode)
        }
        _ => Ok(()),
    };
    if before.map(|saved| &saved.blob) == after.map(|saved| &saved.blob) {
        return;
    }
    let short =
        |saved: Option<&Saved>| saved.and_then(|saved| saved.blob.get(..7)).unwrap_or("0000000").to_owned();
    let _ = writeln!(shown, "index {}..{}", short(before), short(after));
    let name =
        |saved: Option<&Saved>, name: String| if saved.is_some() { name } else { "/dev/null".to_owned() };
    let (old_name, new_name) = (name(before, old_path), name(after, new_path));
    match (content(store, before), content(store, after)) {
        (Some(old), Some(new)) if !text::is_binary(&old) && !text::is_binary(&new) => {
            if !(old.is_empty() && new.is_empty()) {
                let _ = writeln!(shown, "--- {old_name}\n+++ {new_name}");
                hunks(&old, &new, shown);
            }
        }
        _ => {
            let _ = writeln!(shown, "Binary files {old_name} and {new_name} differ");
        }
    }
}

fn hunks(old: &[u8], new: &[u8], shown: &mut String) {
    let (old, new) = (lines_of(old), lines_of(new));
    for group in grouped(&old, &new) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let range = |from: usize, to: usize| match to - from {
            // An empty range is named by the line before it.
            0 => format!("{from},0"),
            1 => format!("{}", from + 1),
            count => format!("{},{count}", from + 1),
        };
        let old_range = range(first.old_range().start, last.old_range().end);
        let new_range = range(first.new_range().start, last.new_range().end);
        let _ = writeln!(shown, "@@ -{old_range} +{new_range} @@");
        for step in &group {
            hunk(step, &old, &new, shown);
        }
    }
}

/// The new content of a change without some hunks, numbered from 1 as they are shown.
pub(super) fn without_hunks(store: &ContentStore, change: &Change, wanted: &[u32]) -> Option<Vec<u8>> {
    if repository::is_inside(&change.path) {
        return None;
    }
    let (old, new) = (content(store, change.before.as_ref())?, content(store, change.after.as_ref())?);
    if text::is_binary(&old) || text::is_binary(&new) {
        return None;
    }
    let (old, new) = (lines_of(&old), lines_of(&new));
    let groups = grouped(&old, &new);
    let known = |number: &u32| *number >= 1 && usize::try_from(*number).is_ok_and(|n| n <= groups.len());
    if wanted.is_empty() || !wanted.iter().all(known) {
        return None;
    }
    let (mut without, mut at) = (Vec::new(), 0);
    for (number, group) in (1_u32..).zip(&groups) {
        for step in group.iter().filter(|step| step.tag() != DiffTag::Equal) {
            let (old_lines, new_lines) = (step.old_range(), step.new_range());
            new[at..new_lines.start].iter().for_each(|line| without.extend_from_slice(line));
            let lines = if wanted.contains(&number) { &old[old_lines] } else { &new[new_lines.clone()] };
            lines.iter().for_each(|line| without.extend_from_slice(line));
            at = new_lines.end;
        }
    }
    new[at..].iter().for_each(|line| without.extend_from_slice(line));
    Some(without)
}

fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The hunks, each with its steps.
fn grouped(old: &[&[u8]], new: &[&[u8]]) -> Vec<Vec<DiffOp>> {
    let deadline = Instant::now() + Duration::from_millis(limits::DIFF_TIME_MS_MAX);
    group_diff_ops(capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(deadline)), AROUND)
}

fn hunk(step: &DiffOp, old: &[&[u8]], new: &[&[u8]], shown: &mut String) {
    let mut add = |sign: char, lines: &[&[u8]]| {
        for line in lines {
            shown.push(sign);
            shown.push_str(&String::from_utf8_lossy(line));
            if !line.ends_with(b"\n") {
                shown.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    if step.tag() == DiffTag::Equal {
        return add(' ', &old[step.old_range()]);
    }
    add('-', &old[step.old_range()]);
    add('+', &new[step.new_range()]);
}

/// Lines added and removed by each; none where they cannot be counted.
pub(super) fn lines(store: &ContentStore, changes: &[Change]) -> Vec<Option<(u32, u32)>> {
    let deadline = Instant::now() + Duration::from_millis(limits::LINES_TIME_MS_MAX);
    let count = |change: &Change| {
        if repository::is_inside(&change.path) {
            return None;
        }
        let (old, new) = (content(store, change.before.as_ref())?, content(store, change.after.as_ref())?);
        if text::is_binary(&old) || text::is_binary(&new) {
            return None;
        }
        // Exactly as long as there is time; at most after that.
        Some(if Instant::now() < deadline {
            text::line_changes(&old, &new)
        } else {
            text::line_changes_at_most(&old, &new)
        })
    };
    changes.iter().map(count).collect()
}

/// Both sides of each change; none where they are not kept, binary or too large.
pub(super) fn contents(store: &ContentStore, changes: &[Change]) -> Vec<Option<(Vec<u8>, Vec<u8>)>> {
    let fits = |bytes: &Vec<u8>| bytes.len() as u64 <= limits::CONTENTS_BYTES_MAX && !text::is_binary(bytes);
    let read = |change: &Change| {
        let before = content(store, change.before.as_ref()).filter(fits)?;
        Some((before, content(store, change.after.as_ref()).filter(fits)?))
    };
    changes.iter().map(read).collect()
}

/// What is there; nothing where there is nothing. None if it is not kept.
fn content(store: &ContentStore, saved: Option<&Saved>) -> Option<Vec<u8>> {
    let Some(saved) = saved else { return Some(Vec::new()) };
    store.get(&parsed(&saved.blob)?)
}

/// A name as git writes it: in quotes where something in it could be taken for the end of it.
fn quoted(side: &str, path: &str) -> String {
    let odd = |c: char| c.is_control() || matches!(c, '"' | '\\');
    if !path.contains(odd) {
        return format!("{side}{path}");
    }
    let mut text = format!("\"{side}");
    for c in path.chars() {
        match c {
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(text, "\\{byte:03o}");
                }
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}
