//! How long something took is never the same twice, so it does not count when requests are compared.

use posse_protocol::Message;

const MASK: &str = "{time}";
const UNITS: [&str; 5] = ["ms", "s", "min", "m", "h"];
const FIELD: &str = "duration_ms\":";

/// A message of people, of Posse or of tools without the times in it. What a model said stays as it is.
pub(crate) fn without_times(mut message: Message) -> Message {
    match &mut message {
        Message::User { text, .. } => *text = masked(text),
        Message::Assistant { .. } => {}
        Message::Tools { results } => {
            for result in results {
                result.text = masked(&result.text);
            }
        }
    }
    message
}

/// A text with `{time}` for `0.3s`, `12 ms`, `"duration_ms":12` and the like.
pub(crate) fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        out.push_str(&rest[..at]);
        let number = &rest[at..];
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        let inside_a_word =
            out.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
        let unit = unit_bytes(&number[end..]).filter(|_| !inside_a_word);
        let field = out.trim_end().ends_with(FIELD);
        match unit {
            Some(bytes) => {
                out.push_str(MASK);
                rest = &number[end + bytes..];
            }
            None => {
                out.push_str(if field { MASK } else { &number[..end] });
                rest = &number[end..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The length of a unit of time right after a number, with one space at most.
fn unit_bytes(after: &str) -> Option<usize> {
    let unit = after.strip_prefix(' ').unwrap_or(after);
    let word = unit.find(|c: char| !c.is_alphanumeric()).unwrap_or(unit.len());
    UNITS.contains(&&unit[..word]).then(|| after.len() - unit.len() + word)
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn times_are_masked_and_nothing_else() {
        let cases = [
            ("took 0.3s (2 turns)", "took {time} (2 turns)"),
            ("1m 05s", "{time} {time}"),
            ("12 ms, 3 h", "{time}, {time}"),
            (
                "{\"duration_ms\": 45000,\"iteration_count\":8}",
                "{\"duration_ms\": {time},\"iteration_count\":8}",
            ),
            ("a.rs:12 and v1.2 stay, 3 most do, 10 sets", "a.rs:12 and v1.2 stay, 3 most do, 10 sets"),
            ("explore-1s", "explore-1s"),
            ("x5s", "x5s"),
            ("", ""),
            ("é7 sé 7 s", "é7 sé {time}"),
        ];
        for (text, want) in cases {
            assert_eq!(masked(text), want);
            assert_eq!(masked(want), want, "once is enough");
        }
    }
}
