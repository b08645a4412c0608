//! JSON as settings files have it: with a byte order mark, comments and a comma too many.

use serde_json::Value;

/// Reads it; what is wrong is told with its line.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    let text = text.trim_start_matches('\u{feff}');
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&plain(text)))
        .map_err(|error| format!("it is not JSON: {error}"))
}

/// Without comments and commas before a closing bracket. Every line stays a line, so that errors name the right one.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_string = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' if in_string => {
                out.push(c);
                out.extend(chars.next());
            }
            '"' => {
                in_string = !in_string;
                out.push(c);
            }
            '/' if !in_string && chars.peek() == Some(&'/') => {
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                }
            }
            '/' if !in_string && chars.peek() == Some(&'*') => {
                let mut before = ' ';
                chars.next();
                for c in chars.by_ref() {
                    if c == '\n' {
                        out.push(c);
                    } else if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
                out.push(' ');
            }
            ']' | '}' if !in_string => {
                let end = out.trim_end().len();
                // One comma behind a value, and no more.
                let value = out[..end].strip_suffix(',').map(str::trim_end);
                if value.is_some_and(|value| !value.ends_with(['[', '{', ','])) {
                    out.replace_range(end - 1..end, " ");
                }
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn what_settings_files_have_beyond_json_is_read() {
        let good = [
            ("{\"a\": [1, 2]}", "{\"a\":[1,2]}"),
            ("\u{feff}{\"a\": 1,}", "{\"a\":1}"),
            ("{ // one\n \"a\": /* two\n */ [1, 2, ], }", "{\"a\":[1,2]}"),
            ("{\"a\": \"// no /* comment */ ,]\\\"\"}//", "{\"a\":\"// no /* comment */ ,]\\\"\"}"),
        ];
        for (text, want) in good {
            assert_eq!(read(text).unwrap().to_string(), want, "{text}");
        }
        let error = read("{\n// a\n/* b\n*/\n\"a\" 1}").unwrap_err();
        assert!(error.contains("line 5"), "{error}");
        for text in ["", "{", "[,]", "{\"a\": 1,,}", "/*"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
