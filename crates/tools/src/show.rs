//! Text made fit for models: within a size, with line numbers, as a diff. Pure.

use crate::limits;

/// The start of a text, cut at a character, and whether anything was cut.
pub(crate) fn start_of(text: &str, bytes_max: usize) -> (&str, bool) {
    if text.len() <= bytes_max {
        return (text, false);
    }
    (&text[..text.floor_char_boundary(bytes_max)], true)
}

/// The text if it is within the limit of any outcome, else its start and a word about the rest.
pub(crate) fn bounded(text: String) -> String {
    match start_of(&text, limits::OUTCOME_BYTES_MAX) {
        (_, false) => text,
        (start, true) => format!("{start}\n({} more bytes left out)", text.len() - start.len()),
    }
}

/// Lines `first..=last` of a text with their numbers, as read_file shows them.
pub(crate) fn numbered(text: &str, first: usize, last: usize) -> String {
    snippet(text, first, last).map(|(at, line)| format!("{at}\t{line}")).collect::<Vec<_>>().join("\n")
}

/// The same without numbers, to be copied.
pub(crate) fn plain_lines(text: &str, first: usize, last: usize) -> String {
    snippet(text, first, last).map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

fn snippet(text: &str, first: usize, last: usize) -> impl Iterator<Item = (usize, String)> {
    let wanted = (last + 1).saturating_sub(first).min(limits::SNIPPET_LINES_MAX);
    let lines = text.lines().enumerate().skip(first.saturating_sub(1)).take(wanted);
    lines.map(|(at, line)| {
        let (line, cut) = start_of(line, limits::SNIPPET_LINE_BYTES_MAX);
        (at + 1, format!("{line}{}", if cut { "…" } else { "" }))
    })
}

/// The day of a time in milliseconds since 1970, UTC: `2026-01-31`.
pub(crate) fn day(at_ms: u64) -> String {
    const DAYS_TO_1970: u64 = 719_468;
    const DAYS_IN_400_YEARS: u64 = 146_097;
    // Years are counted from March, so that the leap day comes last.
    let days = at_ms / 86_400_000 + DAYS_TO_1970;
    let (era, day) = (days / DAYS_IN_400_YEARS, days % DAYS_IN_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / (DAYS_IN_400_YEARS - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{:02}", day - (153 * from_march + 2) / 5 + 1)
}

/// What is between the first and the last line in which two texts differ, old lines before new ones.
pub(crate) fn line_diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let gone = old[start..old.len() - end].iter().map(|line| format!("-{line}"));
    let come = new[start..new.len() - end].iter().map(|line| format!("+{line}"));
    gone.chain(come).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01"),
            (951_782_400_000, "2000-02-29"),
            (951_868_800_000, "2000-03-01"),
            (1_735_689_599_999, "2024-12-31"),
            (1_735_689_600_000, "2025-01-01"),
            (4_107_542_400_000, "2100-03-01"),
        ];
        for (at_ms, wanted) in cases {
            assert_eq!(day(at_ms), wanted);
        }
        assert!(day(u64::MAX).ends_with(|c: char| c.is_ascii_digit()));
    }

    #[test]
    fn a_diff_has_what_differs() {
        let cases = [
            ("a\nb\nc", "a\nx\nc", "-b\n+x"),
            ("a", "a\nb", "+b"),
            ("a\na", "a", "-a"),
            ("", "a", "+a"),
            ("same", "same", ""),
        ];
        for (old, new, wanted) in cases {
            assert_eq!(line_diff(old, new), wanted);
        }
    }
}
