//! Small things about text: one short line of it, names as models spell them.

/// One line of at most `chars_max` characters, cut between words where that is possible.
pub(crate) fn short(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        let width = word.chars().count() + usize::from(count > 0);
        if count + width > chars_max {
            // One character is kept for the mark.
            let room = chars_max.saturating_sub(count + 1 + usize::from(count > 0));
            if count == 0 {
                line.extend(word.chars().take(room));
            } else if count == chars_max {
                // The last word makes room for it, or its last character if it is the only one.
                let end = line.rfind(' ').or(line.char_indices().next_back().map(|(at, _)| at));
                line.truncate(end.unwrap_or(0));
            }
            line.push('…');
            return line;
        }
        if count > 0 {
            line.push(' ');
        }
        line.push_str(word);
        count += width;
    }
    line
}

/// `maxTurns`, `max-turns` and `Max Turns` are all `max_turns`.
pub(crate) fn snake(key: &str) -> String {
    let mut out = String::with_capacity(key.len() + 4);
    let mut after_small = false;
    for character in key.trim().chars() {
        if matches!(character, '-' | ' ' | '_') {
            out.push('_');
            after_small = false;
            continue;
        }
        if character.is_uppercase() && after_small {
            out.push('_');
        }
        after_small = character.is_lowercase() || character.is_ascii_digit();
        out.extend(character.to_lowercase());
    }
    out
}

/// The known word closest to `word`, if one is close.
pub(crate) fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const CLOSE: f64 = 0.82;
    let word: String = word.chars().take(60).collect();
    let scored = known.into_iter().map(|known| (strsim::jaro_winkler(&word, known), known));
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score >= CLOSE).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_short() {
        let cases = [
            ("", 5, ""),
            ("  one\n two\tthree ", 60, "one two three"),
            ("one two three", 8, "one two…"),
            ("one two three", 7, "one…"),
            ("one two", 3, "on…"),
            ("abcdefgh", 4, "abc…"),
            ("ab cdefgh", 4, "ab…"),
            ("\u{0}\u{7}", 4, ""),
            ("探索认证代码", 4, "探索认…"),
        ];
        assert_eq!(cases.len(), 9);
        for (text, chars_max, expected) in cases {
            assert_eq!(short(text, chars_max), expected, "{text:?} in {chars_max}");
            assert!(short(text, chars_max).chars().count() <= chars_max);
        }
    }

    #[test]
    fn keys_are_snake_case() {
        let cases =
            [("maxTurns", "max_turns"), ("max-turns", "max_turns"), ("Max Turns", "max_turns"), ("ID", "id")];
        assert_eq!(cases.len(), 4);
        for (key, expected) in cases {
            assert_eq!(snake(key), expected);
        }
    }
}
