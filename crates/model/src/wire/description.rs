//! Descriptions of tools, no longer than all providers take them. They end in lists (roles, skills) that may be of any
//! length; one that is too long makes some providers refuse every request.

use std::borrow::Cow;

use crate::limits::TOOL_DESCRIPTION_CHARS_MAX;
use crate::limits::{GIVEN_UP_CHARS_MAX, LAST_LINE_CHARS_MAX};

/// The description as it is, or cut at a line, a sentence or a word, with its last line kept.
pub(super) fn fitting(text: &str) -> Cow<'_, str> {
    fitting_in(text, TOOL_DESCRIPTION_CHARS_MAX)
}

fn fitting_in(text: &str, chars_max: usize) -> Cow<'_, str> {
    if text.chars().count() <= chars_max {
        return Cow::Borrowed(text);
    }
    let text = text.trim_end();
    let last = text.rsplit_once('\n').map(|(_, last)| last.trim()).unwrap_or_default();
    let last = if last.chars().count() <= LAST_LINE_CHARS_MAX.min(chars_max / 2) { last } else { "" };
    let ending = if last.is_empty() { " …".to_owned() } else { format!(" …\n{last}") };
    let room = chars_max.saturating_sub(ending.chars().count());
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    Cow::Owned(format!("{}{ending}", cut(text, end).trim_end()))
}

/// What stands before `end`, up to the last place where one may stop.
fn cut(text: &str, end: usize) -> &str {
    let head = &text[..end];
    let near = head.char_indices().rev().nth(GIVEN_UP_CHARS_MAX).map_or(0, |(at, _)| at);
    let line = head.rfind('\n');
    let sentence = head.rfind(". ").map(|at| at + 1);
    let stop = line.max(sentence).filter(|at| *at > near);
    // A word that ends here is whole.
    let word = if text[end..].starts_with(char::is_whitespace) {
        Some(end)
    } else {
        head.rfind(char::is_whitespace)
    };
    &head[..stop.or(word.filter(|at| *at > near)).unwrap_or(end)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_descriptions_end_where_one_may_stop() {
        let cases = [
            ("short", 10, "short"),
            ("exactly ten", 11, "exactly ten"),
            ("one two three four five", 15, "one two three …"),
            ("First one. Then another sentence", 20, "First one. …"),
            ("Do it.\n- a: b\n- c: d\n- e: f", 20, "Do it. …\n- e: f"),
            ("äöüäöüäöüäöüäöüäöü", 10, "äöüäöüäö …"),
            ("日本語日本語日本語\nmore", 9, "日本 …\nmore"),
        ];
        assert_eq!(cases.len(), 7);
        for (text, max, want) in cases {
            let got = fitting_in(text, max);
            assert_eq!(got, want, "{text}");
            assert!(got.chars().count() <= max, "{text}");
        }
    }

    #[test]
    fn what_is_kept_is_never_longer_than_is_taken() {
        let words =
            ["ä", "role-12: does it.", "\n", " ", "日本", "- x: y\n", "verylongwordwithoutanyspace", ". "];
        for seed in 0..500 {
            let mut random = fastrand::Rng::with_seed(seed);
            let text: String =
                (0..random.usize(0..600)).map(|_| words[random.usize(0..words.len())]).collect();
            let got = fitting(&text);
            assert!(got.chars().count() <= TOOL_DESCRIPTION_CHARS_MAX, "seed {seed}");
            assert!(text.chars().count() > TOOL_DESCRIPTION_CHARS_MAX || got == text, "seed {seed}");
        }
    }
}
