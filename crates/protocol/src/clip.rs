//! Texts cut to a length in characters. What they hold stays as it is; [`crate::visible`] makes text fit to be shown.

/// The first characters of a text, and whether there are more.
pub fn first_chars(text: &str, chars_max: usize) -> (&str, bool) {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

/// A text of at most so many characters, with `…` as the last one where it was cut.
pub fn clipped(text: &str, chars_max: usize) -> String {
    match first_chars(text, chars_max) {
        (text, false) => text.to_owned(),
        (_, true) => format!("{}…", first_chars(text, chars_max.saturating_sub(1)).0),
    }
}

/// The first line that is not empty, with spaces in place of control characters, clipped.
pub fn first_line(text: &str, chars_max: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    clipped(line, chars_max).replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_characters() {
        let cases =
            [("", 3, ""), ("日本語", 3, "日本語"), ("日本語だ", 3, "日本…"), ("ab", 1, "…"), ("ab", 0, "…")];
        for (text, chars_max, want) in cases {
            assert_eq!(clipped(text, chars_max), want, "{text} in {chars_max}");
        }
        assert_eq!(first_chars("日本語", 2), ("日本", true));
        assert_eq!(first_chars("日本", 2), ("日本", false));
    }

    #[test]
    fn the_first_line_with_something_in_it() {
        let cases = [
            ("", ""),
            ("\n\n  fix it \nand more", "fix it"),
            ("a\tb\u{1b}[31m", "a b [31m"),
            ("0123456789x", "012345678…"),
            ("0123456789", "0123456789"),
        ];
        for (text, want) in cases {
            assert_eq!(first_line(text, 10), want, "{text:?}");
        }
    }
}
