//! Patterns: plain text with `*` for any run of characters, and `\*` for the character itself.

use crate::shell_text::{ANY, GLOB, SOME};

/// Whether `name` matches `pattern`. Linear in practice and without recursion, whatever the pattern.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let (literal, width) = literal_at(pattern, p);
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, n));
            p += 1;
        } else if literal == Some(name[n]) {
            p += width;
            n += 1;
        } else if let Some((star_p, star_n)) = star {
            star = Some((star_p, star_n + 1));
            p = star_p + 1;
            n = star_n + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&b| b == b'*')
}

/// Whether a name with unknown parts could match a pattern. Takes time by the product of both lengths.
pub(crate) fn may_match(pattern: &str, name: &str) -> bool {
    let mut parts = Vec::new();
    let (bytes, mut at) = (pattern.as_bytes(), 0);
    while at < bytes.len() {
        let (literal, width) = literal_at(bytes, at);
        parts.push(literal.filter(|_| bytes[at] != b'*'));
        at += width;
    }
    let name = name.as_bytes();
    // By how much of the name is left, from nothing to all of it: which rests of the pattern match.
    let mut next = vec![true; parts.len() + 1];
    for index in (0..parts.len()).rev() {
        next[index] = next[index + 1] && parts[index].is_none();
    }
    for &byte in name.iter().rev() {
        let mut row = vec![false; parts.len() + 1];
        let (some, any) = (byte == SOME as u8 || byte == GLOB as u8, byte == ANY as u8);
        for index in (0..=parts.len()).rev() {
            let part = parts.get(index);
            let here = match part {
                Some(None) => row[index + 1] || next[index],
                Some(Some(literal)) => *literal == byte && next[index + 1],
                None => false,
            };
            let guessed = (some || any)
                && (next[index] || (part.is_some_and(|part| any || *part != Some(b' ')) && row[index + 1]));
            row[index] = here || guessed;
        }
        next = row;
    }
    next[0]
}

/// The byte that has to be there, and how long it is in the pattern.
fn literal_at(pattern: &[u8], at: usize) -> (Option<u8>, usize) {
    match (pattern.get(at), pattern.get(at + 1)) {
        (Some(b'\\'), Some(&next @ (b'*' | b'\\'))) => (Some(next), 2),
        (byte, _) => (byte.copied(), 1),
    }
}

/// A pattern that matches this text and no other.
pub(crate) fn literal(text: &str) -> String {
    text.replace('\\', "\\\\").replace('*', "\\*")
}

/// Whether a pattern has a `*` that stands for anything.
pub(crate) fn has_wildcard(pattern: &str) -> bool {
    let mut bytes = pattern.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'*' => return true,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{has_wildcard, literal, matches, may_match};

    #[test]
    fn patterns() {
        let cases = [
            ("read_file", "read_file", true),
            ("read_file", "read_files", false),
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "anything", true),
            ("mcp__*", "mcp__git__log", true),
            ("mcp__*__log", "mcp__git__log", true),
            ("mcp__*__log", "mcp__git__logs", false),
            ("*_file", "edit_file", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("**", "x", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("*\\*b", "aa*b", true),
            ("a\\\\", "a\\", true),
            ("a\\b", "a\\b", true),
            ("a\\", "a\\", true),
        ];
        assert_eq!(cases.len(), 19);
        for (pattern, name, want) in cases {
            assert_eq!(matches(pattern, name), want, "{pattern:?} on {name:?}");
        }
    }

    #[test]
    fn names_with_unknown_parts() {
        let cases = [
            ("git push*", "git push", true),
            ("git push*", "\u{1} push", true),
            ("git push*", "git \u{1}", true),
            ("git push*", "gi\u{1} pu\u{1}h x", true),
            ("git push*", "\u{1}", false),
            ("git push*", "\u{2}", true),
            ("git push*", "git \u{2}", true),
            ("git push*", "\u{1} pull", false),
            ("git push", "git push\u{1}", true),
            ("git push", "git push \u{1}", false),
            ("git push", "git push \u{1}x", false),
            ("a*\\*", "ab\u{1}", true),
            ("*", "\u{1}", true),
            ("", "\u{1}", true),
            ("", "x\u{1}", false),
        ];
        for (pattern, name, want) in cases {
            assert_eq!(may_match(pattern, name), want, "{pattern:?} on {name:?}");
        }
    }

    #[test]
    fn literals_match_themselves_alone() {
        for text in ["", "*", "\\", "\\*", "a*b\\", "**\\\\*"] {
            let pattern = literal(text);
            assert!(matches(&pattern, text) && !has_wildcard(&pattern), "{text:?}");
            for other in ["x", "*x", "a-b\\", "\\\\"] {
                assert!(!matches(&pattern, other), "{text:?} on {other:?}");
            }
        }
        assert!(has_wildcard("a*") && has_wildcard("\\\\*") && !has_wildcard("\\*"));
    }
}
