//! Times and ages as people write them in the configuration and in flags.

use serde::{Deserialize, Serialize};

/// Milliseconds, written as `90s` or `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(pub(crate) u64);

impl Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ms = i64::try_from(self.0).unwrap_or(i64::MAX);
        serializer.collect_str(&format_args!("{:#}", jiff::SignedDuration::from_millis(ms)))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match TimeWritten::deserialize(deserializer)? {
            TimeWritten::Text(text) => text,
            TimeWritten::Seconds(seconds) => seconds.to_string(),
        };
        parse_time_ms(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

/// A time as it stands in a file: a text, or a bare number of seconds.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a time such as \"90s\", \"10m\" or \"1h30m\"")]
enum TimeWritten {
    Text(String),
    Seconds(u64),
}

/// Reads a time such as `90s`, `10m` or `1h30m`; a bare number is seconds.
pub fn parse_time_ms(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let wrong = || format!("{text:?} is not a time; write it like 90s, 10m or 1h30m");
    let ms = match text.parse::<u64>() {
        Ok(seconds) => seconds.checked_mul(1000).ok_or_else(wrong)?,
        Err(_) => {
            let span = text.parse::<jiff::SignedDuration>().map_err(|_| wrong())?;
            u64::try_from(span.as_millis()).map_err(|_| wrong())?
        }
    };
    if ms == 0 { Err(wrong()) } else { Ok(ms) }
}

/// Reads an age such as `30d`, `8w` or `12h`.
pub fn parse_age_ms(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let wrong = || format!("{text:?} is not a time; write it like 30d, 8w or 12h");
    let day_ms = 24 * 60 * 60 * 1000;
    let (number, unit_ms) = match (text.strip_suffix('d'), text.strip_suffix('w')) {
        (Some(days), _) => (days, day_ms),
        (_, Some(weeks)) => (weeks, 7 * day_ms),
        _ => return parse_time_ms(text).map_err(|_| wrong()),
    };
    let number = number.trim().parse::<u64>().map_err(|_| wrong())?;
    number.checked_mul(unit_ms).filter(|ms| *ms > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::{parse_age_ms, parse_time_ms};

    #[test]
    fn times() {
        let good = [("90s", 90_000), ("10m", 600_000), ("1h30m", 5_400_000), ("45", 45_000), ("500ms", 500)];
        for (text, want) in good {
            assert_eq!(parse_time_ms(text), Ok(want), "{text}");
        }
        for text in ["", "soon", "-5s", "0", "99999999999999999999"] {
            assert!(parse_time_ms(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ages() {
        let day = 86_400_000;
        let good = [("30d", 30 * day), ("8w", 56 * day), ("12h", day / 2), (" 1 d ", day)];
        for (text, want) in good {
            assert_eq!(parse_age_ms(text), Ok(want), "{text}");
        }
        for text in ["", "d", "0d", "-3d", "1.5d", "soon", "99999999999999999d"] {
            let error = parse_age_ms(text).expect_err(text);
            assert!(error.contains("30d"), "{error}");
        }
    }
}
