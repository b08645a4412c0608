//! What stands behind a key, and how it is read as words, numbers, times and lists.

use posse_protocol::{Files, Shell};

/// A value, whatever wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Nothing,
    Text(String),
    List(Vec<String>),
    /// Names and words, one level deep.
    Map(Vec<(String, String)>),
}

impl Value {
    /// As one text; lists with commas between.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Nothing | Self::Map(_) => String::new(),
            Self::Text(text) => text.trim().to_string(),
            Self::List(items) => items.join(", "),
        }
    }

    /// As entries: split at commas and line ends outside parentheses, or else at blanks.
    pub(crate) fn entries(&self) -> Vec<String> {
        let text = match self {
            Self::List(items) => items.join(","),
            other => other.text(),
        };
        // A list in brackets that strict YAML did not take may lack one of them.
        let text = text.trim().trim_start_matches('[').trim_end_matches(']');
        let is_list = matches!(self, Self::List(_));
        let by_comma = split_outside(text, |c| matches!(c, ',' | '\n'));
        let entries =
            if by_comma.len() == 1 && !is_list { split_outside(text, char::is_whitespace) } else { by_comma };
        let bare = |entry: &str| entry.trim().trim_matches(['"', '\'', '`']).trim().to_string();
        entries.into_iter().map(bare).filter(|entry| !entry.is_empty()).collect()
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        match self.text().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    /// Whether it has a memory; other programs write where that is.
    pub(crate) fn memory(&self) -> Option<bool> {
        match self.text().to_ascii_lowercase().as_str() {
            "user" | "project" | "local" => Some(true),
            "none" => Some(false),
            _ => self.flag(),
        }
    }

    /// A whole number above zero, `_` and `,` within allowed.
    pub(crate) fn count(&self) -> Option<u64> {
        let digits = self.text().replace(['_', ','], "");
        digits.parse().ok().filter(|number| *number > 0)
    }

    /// Minutes, parts of them too, in milliseconds.
    pub(crate) fn minutes_ms(&self) -> Option<u64> {
        let minutes: f64 = self.text().parse().ok()?;
        let ms = minutes * 60_000.0;
        // The bound keeps the conversion exact; no task takes a year.
        (ms.is_finite() && (1.0..3.2e10).contains(&ms)).then_some(ms as u64)
    }

    /// A time such as `90s`, `10m` or `1h30m`, in milliseconds; a bare number is seconds.
    pub(crate) fn time_ms(&self) -> Option<u64> {
        let text = self.text().replace(' ', "").to_ascii_lowercase();
        let mut rest = text.as_str();
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let number: u64 = rest[..digits].parse().ok()?;
            rest = &rest[digits..];
            let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let unit_ms = match &rest[..letters] {
                "ms" => 1,
                "" | "s" | "sec" | "secs" => 1_000,
                "m" | "min" | "mins" => 60_000,
                "h" => 3_600_000,
                _ => return None,
            };
            rest = &rest[letters..];
            total = total.checked_add(number.checked_mul(unit_ms)?)?;
        }
        (total > 0).then_some(total)
    }

    pub(crate) fn files(&self) -> Option<Files> {
        match self.text().to_ascii_lowercase().as_str() {
            "none" => Some(Files::None),
            "read" | "no" | "false" => Some(Files::Read),
            "write" | "yes" | "true" => Some(Files::Write),
            _ => None,
        }
    }

    pub(crate) fn shell(&self) -> Option<Shell> {
        match self.text().to_ascii_lowercase().as_str() {
            "none" | "no" | "false" => Some(Shell::None),
            "inspect" => Some(Shell::Inspect),
            "verify" => Some(Shell::Verify),
            "full" | "yes" | "true" => Some(Shell::Full),
            _ => None,
        }
    }
}

/// A text as a value on one line that every reader of front matter takes for that text.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::String(text.split_whitespace().collect::<Vec<_>>().join(" ")).to_string()
}

/// Splits where `at` holds and no parenthesis is open.
fn split_outside(text: &str, at: impl Fn(char) -> bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut open, mut begin) = (0_usize, 0);
    for (index, c) in text.char_indices() {
        match c {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _ if open == 0 && at(c) => {
                parts.push(&text[begin..index]);
                begin = index + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}
