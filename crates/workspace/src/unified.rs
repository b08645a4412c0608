//! What differs between two contents of a file, as people read it: lines behind ` `, `-` or `+`, with a few lines around
//! each place. Pure.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffTag, capture_diff_slices_deadline, group_diff_ops};

use crate::limits;

/// The lines in which two contents differ; nothing if they do not. Bytes that are no text are written as escapes.
///
/// No content can pass for a line of the diff itself: a line ends at `\n` only, and begins behind its mark.
pub fn unified(old: &[u8], new: &[u8]) -> String {
    let lines = |text: &'_ [u8]| -> Vec<Vec<u8>> {
        text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    };
    let (old, new) = (lines(old), lines(new));
    let deadline = Instant::now() + Duration::from_millis(limits::DIFF_TIME_MS_MAX);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(deadline));
    let mut out = String::new();
    for group in group_diff_ops(ops, limits::DIFF_LINES_AROUND) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let olds = first.old_range().start..last.old_range().end;
        let news = first.new_range().start..last.new_range().end;
        out.push_str(&format!("@@ -{} +{} @@\n", place(&olds), place(&news)));
        for op in &group {
            match op.tag() {
                DiffTag::Equal => push(&mut out, ' ', &old[op.old_range()]),
                _ => {
                    push(&mut out, '-', &old[op.old_range()]);
                    push(&mut out, '+', &new[op.new_range()]);
                }
            }
        }
    }
    out
}

/// Where lines are: the first, and how many.
fn place(lines: &std::ops::Range<usize>) -> String {
    // As git has it, the place of no lines is the line before it.
    let first = if lines.is_empty() { lines.start } else { lines.start + 1 };
    format!("{first},{}", lines.len())
}

fn push(out: &mut String, mark: char, lines: &[Vec<u8>]) {
    for line in lines {
        out.push(mark);
        for chunk in line.utf8_chunks() {
            out.push_str(chunk.valid());
            chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
        }
        if !line.ends_with(b"\n") {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn a_diff_has_what_differs_and_a_few_lines_around() {
        let many = |changed: &str| {
            let lines = (1..=20).map(|n| if n == 10 { format!("{changed}\n") } else { format!("{n}\n") });
            lines.collect::<String>()
        };
        let cases = [
            (String::new(), String::new(), ""),
            ("a\n".into(), "a\n".into(), ""),
            (String::new(), "a\nb\n".into(), "@@ -0,0 +1,2 @@\n+a\n+b\n"),
            ("a\n".into(), String::new(), "@@ -1,1 +0,0 @@\n-a\n"),
            ("a\nb".into(), "a\nc\n".into(), "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"),
            (many("ten"), many("TEN"), "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-ten\n+TEN\n 11\n 12\n 13\n"),
        ];
        for (old, new, want) in cases {
            assert_eq!(unified(old.as_bytes(), new.as_bytes()), want, "{old:?} {new:?}");
        }
        assert_eq!(unified(b"", b"a\xff\r@@ x\n"), "@@ -0,0 +1,1 @@\n+a\\xff\r@@ x\n");
    }
}
