//! Where an agent is to run, as people, files and models write it.

use crate::limits::PLACE_BYTES_MAX;

/// The word for the machine that the session runs on.
pub const HOME: &str = "home";
/// The word for any worker.
pub const ANYWHERE: &str = "anywhere";
/// What to write, for messages about something else.
pub const PLACE_HINT: &str = "write a worker's name or label, anywhere, or home";

/// A worker, labels of workers, `anywhere` or `home`, with one blank between words. None where it cannot be any of these:
/// words have letters, digits, `-`, `_` and `.`.
pub fn place(written: &str) -> Option<String> {
    let words: Vec<&str> = written.split_whitespace().collect();
    let is_word = |word: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        word.chars().all(plain) && word.starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    let place = words.join(" ");
    if place.is_empty() || place.len() > PLACE_BYTES_MAX || !words.iter().all(is_word) {
        return None;
    }
    let known = [HOME, ANYWHERE].into_iter().find(|known| place.eq_ignore_ascii_case(known));
    Some(known.map_or(place, str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn places_are_words() {
        let long = "n".repeat(65);
        let cases = [
            ("gpu-1", Some("gpu-1")),
            ("  Build_box.lan ", Some("Build_box.lan")),
            ("gpu \t big", Some("gpu big")),
            ("Home", Some("home")),
            ("ANYWHERE", Some("anywhere")),
            (&long[..64], Some(&long[..64])),
            (&long, None),
            ("", None),
            (" \n", None),
            ("-x", None),
            ("gpu -x", None),
            ("../x", None),
            ("a/b", None),
            ("http://gpu", None),
            ("gpü", None),
            ("a\u{1b}b", None),
        ];
        assert_eq!(cases.len(), 16);
        for (written, wanted) in cases {
            assert_eq!(place(written).as_deref(), wanted, "{written:?}");
        }
    }
}
