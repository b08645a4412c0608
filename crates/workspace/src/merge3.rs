//! Brings two changes of one text together, line by line. Pure: knows neither files nor git.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

use crate::limits;

/// What to make of changes that touch but share no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touching {
    /// Both are taken.
    Clean,
    /// They may mean each other: a conflict.
    Conflict,
}

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Merged {
    /// Everything clean from both sides; our side where there is a conflict.
    pub(crate) bytes: Vec<u8>,
    /// Both sides of each conflict, ours first.
    pub(crate) conflicts: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A run of lines of the base that one side replaced.
struct Hunk {
    base: Range<usize>,
    side: Range<usize>,
}

/// Applies to `ours` what leads from `base` to `theirs`.
pub(crate) fn merge(base: &[u8], ours: &[u8], theirs: &[u8], touching: Touching) -> Merged {
    let [base, ours, theirs] = [base, ours, theirs].map(lines);
    let (our_hunks, their_hunks) = (hunks(&base, &ours), hunks(&base, &theirs));
    let mut merged = Merged { bytes: Vec::new(), conflicts: Vec::new() };
    let (mut ours_next, mut theirs_next, mut at) = (0, 0, 0);
    while ours_next < our_hunks.len() || theirs_next < their_hunks.len() {
        let group = next_group(&our_hunks[ours_next..], &their_hunks[theirs_next..], touching);
        let taken_ours = &our_hunks[ours_next..ours_next + group.ours];
        let taken_theirs = &their_hunks[theirs_next..theirs_next + group.theirs];
        (ours_next, theirs_next) = (ours_next + group.ours, theirs_next + group.theirs);
        base[at..group.base.start].iter().for_each(|line| merged.bytes.extend_from_slice(line));
        at = group.base.end;
        let our_text = side_text(&group.base, taken_ours, &base, &ours);
        let their_text = side_text(&group.base, taken_theirs, &base, &theirs);
        if group.ours == 0 {
            merged.bytes.extend_from_slice(&their_text);
            continue;
        }
        merged.bytes.extend_from_slice(&our_text);
        if group.theirs > 0 && our_text != their_text {
            merged.conflicts.push((our_text, their_text));
        }
    }
    base[at..].iter().for_each(|line| merged.bytes.extend_from_slice(line));
    merged
}

/// Hunks of both sides that concern the same lines.
struct Group {
    base: Range<usize>,
    ours: usize,
    theirs: usize,
}

fn next_group(ours: &[Hunk], theirs: &[Hunk], touching: Touching) -> Group {
    let first = match (ours.first(), theirs.first()) {
        (Some(our), Some(their)) if starts_first(their, our) => Group::of(their, 0, 1),
        (Some(our), _) => Group::of(our, 1, 0),
        (None, Some(their)) => Group::of(their, 0, 1),
        (None, None) => Group { base: 0..0, ours: 0, theirs: 0 },
    };
    let mut group = first;
    loop {
        if let Some(our) = ours.get(group.ours)
            && meets(&group.base, &our.base, touching)
        {
            group.base = group.base.start.min(our.base.start)..group.base.end.max(our.base.end);
            group.ours += 1;
        } else if let Some(their) = theirs.get(group.theirs)
            && meets(&group.base, &their.base, touching)
        {
            group.base = group.base.start.min(their.base.start)..group.base.end.max(their.base.end);
            group.theirs += 1;
        } else {
            return group;
        }
    }
}

impl Group {
    fn of(hunk: &Hunk, ours: usize, theirs: usize) -> Self {
        Self { base: hunk.base.clone(), ours, theirs }
    }
}

/// An insertion goes before a change of the line it stands at.
fn starts_first(a: &Hunk, b: &Hunk) -> bool {
    (a.base.start, a.base.end) < (b.base.start, b.base.end)
}

fn meets(group: &Range<usize>, next: &Range<usize>, touching: Touching) -> bool {
    match touching {
        Touching::Conflict => next.start <= group.end,
        Touching::Clean => next.start < group.end || (group.is_empty() && group == next),
    }
}

/// What a side has in place of these lines of the base.
fn side_text(range: &Range<usize>, hunks: &[Hunk], base: &[&[u8]], side: &[&[u8]]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut at = range.start;
    for hunk in hunks {
        base[at..hunk.base.start].iter().for_each(|line| text.extend_from_slice(line));
        side[hunk.side.clone()].iter().for_each(|line| text.extend_from_slice(line));
        at = hunk.base.end;
    }
    base[at..range.end].iter().for_each(|line| text.extend_from_slice(line));
    text
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

fn hunks(base: &[&[u8]], side: &[&[u8]]) -> Vec<Hunk> {
    let deadline = Instant::now() + Duration::from_millis(limits::MERGE_TIME_MS_MAX);
    let steps = capture_diff_slices_deadline(Algorithm::Myers, base, side, Some(deadline));
    let mut hunks: Vec<Hunk> = Vec::new();
    for step in steps {
        let (tag, old, new) = step.as_tag_tuple();
        if tag == DiffTag::Equal {
            continue;
        }
        match hunks.last_mut() {
            Some(last) if last.base.end == old.start && last.side.end == new.start => {
                (last.base.end, last.side.end) = (old.end, new.end);
            }
            _ => hunks.push(Hunk { base: old, side: new }),
        }
    }
    hunks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_merged_line_by_line() {
        use Touching::{Clean, Conflict};
        // Letters are lines: base, ours, theirs, what comes out, conflicts.
        let cases = [
            ("abc", "abc", "abc", Conflict, "abc", 0),
            ("abcde", "Abcde", "abcdE", Conflict, "AbcdE", 0),
            ("abc", "aBc", "aBc", Conflict, "aBc", 0),
            ("abc", "aXc", "aYc", Conflict, "aXc", 1),
            ("abcdefg", "aXcdefg", "aYcdefG", Conflict, "aXcdefG", 1),
            ("abc", "Abc", "aBc", Conflict, "Abc", 1),
            ("abc", "Abc", "aBc", Clean, "ABc", 0),
            ("abc", "abcX", "ab", Clean, "abX", 0),
            ("abc", "abcX", "ab", Conflict, "abcX", 1),
            ("ab", "aXb", "aYb", Clean, "aXb", 1),
            ("", "x", "y", Clean, "x", 1),
            ("", "x", "x", Clean, "x", 0),
            ("abc", "", "abc", Clean, "", 0),
            ("abc", "abc", "", Clean, "", 0),
            ("abc", "", "aXc", Clean, "", 1),
            ("abcdef", "abXcdef", "ef", Clean, "abXcdef", 1),
            ("abcdef", "abXYcdef", "aZf", Conflict, "abXYcdef", 1),
            ("abcd", "XabcdY", "abcd", Clean, "XabcdY", 0),
        ];
        let text = |letters: &str| letters.chars().map(|c| format!("{c}\n")).collect::<String>().into_bytes();
        for (base, ours, theirs, touching, expected, conflicts) in cases {
            let merged = merge(&text(base), &text(ours), &text(theirs), touching);
            let found = (String::from_utf8_lossy(&merged.bytes).into_owned(), merged.conflicts.len());
            let expected = (String::from_utf8(text(expected)).unwrap_or_default(), conflicts);
            assert_eq!(found, expected, "{base} {ours} {theirs}");
        }
        assert_eq!(cases.len(), 18);
    }

    proptest! {
        #[test]
        fn one_sided_changes_always_win(
            base in "[abc\n]{0,30}", side in "[abc\n]{0,30}", clean in any::<bool>()
        ) {
            let touching = if clean { Touching::Clean } else { Touching::Conflict };
            let (base, side) = (base.as_bytes(), side.as_bytes());
            let expected = Merged { bytes: side.to_vec(), conflicts: Vec::new() };
            prop_assert_eq!(&merge(base, side, base, touching), &expected);
            prop_assert_eq!(&merge(base, base, side, touching), &expected);
            prop_assert_eq!(&merge(base, side, side, touching), &expected);
        }

        #[test]
        fn merging_again_changes_nothing(
            base in "[abc\n]{0,30}", ours in "[abc\n]{0,30}", theirs in "[abc\n]{0,30}"
        ) {
            let once = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), Touching::Conflict);
            if once.conflicts.is_empty() {
                // Whatever was taken is there: nothing is lost silently.
                let again = merge(ours.as_bytes(), &once.bytes, ours.as_bytes(), Touching::Conflict);
                prop_assert_eq!(again.bytes, once.bytes);
            }
        }
    }
}
