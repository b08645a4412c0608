//! Half a character in JSON: `\ud83c` without its other half. Servers that cut text by UTF-16 units send them, and no
//! JSON reader takes them.

use std::borrow::Cow;

/// The same JSON with U+FFFD for every half that stands alone.
pub(crate) fn mended(json: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    let bytes = json.as_bytes();
    while let Some(escape) = memchr::memchr(b'\\', bytes.get(at..).unwrap_or_default()) {
        at += escape;
        match unit(bytes, at) {
            Some(0xd800..=0xdbff) if matches!(unit(bytes, at + 6), Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => {
                out.push_str(&json[kept..at]);
                out.push_str("\\ufffd");
                at += 6;
                kept = at;
            }
            // The escaped character may be a backslash.
            _ => at += 2,
        }
    }
    if kept == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(&json[kept..]);
    Cow::Owned(out)
}

/// The number in an escape `\uXXXX` that begins here.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u").filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_become_replacement_characters() {
        let cases = [
            (r#"{"a":"b"}"#, r#"{"a":"b"}"#),
            (r#""\ud83c\udf89""#, r#""\ud83c\udf89""#),
            (r#""a\uD83Cb""#, r#""a\ufffdb""#),
            (r#""\udf89\ud83c""#, r#""\ufffd\ufffd""#),
            (r#""\ud83c\ud83c\udf89""#, r#""\ufffd\ud83c\udf89""#),
            (r#""\\ud83c""#, r#""\\ud83c""#),
            (r#""\ud83"#, r#""\ud83"#),
            ("\"\\", "\"\\"),
        ];
        for (json, want) in cases {
            assert_eq!(mended(json), want);
        }
        assert_eq!(cases.len(), 8);
    }
}
