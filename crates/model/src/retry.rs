//! When to try again, and after how long. Pure: randomness and the time of day are passed in.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::HeaderMap;

use crate::Retry;

/// The delay before retry `retry` (0 for the first): anywhere in 0 ..= min(cap, base · 2^retry).
///
/// `random` is uniform in 0..1. The whole range is used, so that agents that failed together do not come back together.
pub(crate) fn backoff_ms(settings: &Retry, retry: u32, random: f64) -> u64 {
    let factor = 1u64.checked_shl(retry).unwrap_or(u64::MAX);
    let range = settings.base_ms.saturating_mul(factor).min(settings.cap_ms);
    let delay = (range as f64 + 1.0) * random.clamp(0.0, 1.0);
    (delay as u64).min(range)
}

/// Statuses after which the same request may well succeed.
pub(crate) fn is_retryable(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500 | 502 | 503 | 504 | 529)
}

/// What the answer says about when to come back, in whichever of the three ways.
pub(crate) fn retry_after_ms(headers: &HeaderMap, now: SystemTime) -> Option<u64> {
    let value = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).map(str::trim);
    if let Some(ms) = value("retry-after-ms").and_then(|v| v.parse::<f64>().ok()) {
        return positive(ms);
    }
    let value = value("retry-after")?;
    match value.parse::<f64>() {
        Ok(seconds) => positive(seconds * 1_000.0),
        Err(_) => {
            let at = http_date(value)?;
            Some(at.duration_since(now).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)))
        }
    }
}

fn positive(ms: f64) -> Option<u64> {
    (ms.is_finite() && ms >= 0.0).then_some(ms.ceil() as u64)
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that servers still send.
fn http_date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = text.split_once(", ")?;
    let mut parts = date.split(' ');
    let day: u64 = parts.next()?.parse().ok()?;
    let month = parts.next()?;
    let month = MONTHS.iter().position(|m| *m == month)? as u64 + 1;
    let year: u64 = parts.next()?.parse().ok()?;
    let mut clock = parts.next()?.split(':').map(|n| n.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let sane =
        (1970..=9999).contains(&year) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    if !sane || parts.next() != Some("GMT") {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Days from 1 January 1970, counting years from March so that the leap day comes last.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 306 + 5) / 10 + day - 1;
    days - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_covers_its_whole_range_and_no_more() {
        let settings = Retry { attempts_max: 9, base_ms: 100, cap_ms: 1_000 };
        let cases = [
            (0, 0.0, 0),
            (0, 0.5, 50),
            (0, 1.0, 100),
            (1, 1.0, 200),
            (3, 0.999_999, 800),
            (4, 1.0, 1_000),
            (63, 1.0, 1_000),
            (64, 1.0, 1_000),
            (u32::MAX, 0.0, 0),
        ];
        for (retry, random, want) in cases {
            assert_eq!(backoff_ms(&settings, retry, random), want, "retry {retry} random {random}");
        }
    }

    #[test]
    fn retry_after_in_every_form() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        let cases = [
            ("retry-after", "2", Some(2_000)),
            ("retry-after", "0.25", Some(250)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT", Some(0)),
            ("retry-after", "Thu, 29 Feb 1996 00:00:00 GMT", Some((825_552_000 - 784_111_777) * 1_000)),
            ("retry-after-ms", "750", Some(750)),
            ("retry-after", "-1", None),
            ("retry-after", "NaN", None),
            ("retry-after", "inf", None),
            ("retry-after", "soon", None),
            ("retry-after", "Sun, 06 Nov 0000 08:49:07 GMT", None),
            ("retry-after", "Sun, 06 Foo 1994 08:49:07 GMT", None),
            ("retry-after", "Sun, 06 Nov 1994 08:49 GMT", None),
            ("x-other", "2", None),
        ];
        for (name, value, want) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(retry_after_ms(&headers, now), want, "{name}: {value}");
        }
    }
}
