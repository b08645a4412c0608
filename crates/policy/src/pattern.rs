//! Patterns: plain text with `*` for any run of characters, and `\*` for the character itself.

/// Whether `name` matches `pattern`. Linear in practice and without recursion, whatever the pattern.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
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
    use super::{has_wildcard, literal, matches};

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
