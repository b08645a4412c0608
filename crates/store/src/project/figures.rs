//! Numbers and short texts as the tables keep them: never out of range, never more than a line. Pure.

use posse_protocol::Usage;
use posse_protocol::clip::clipped;

use crate::limits::{FIGURE_MAX, MOMENT_MS_MAX};

/// A number as SQLite keeps it.
pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that will be added to others.
pub(super) fn figure(number: u64) -> i64 {
    whole(number.min(FIGURE_MAX))
}

/// A time that will be written as a date.
pub(super) fn moment(at_ms: u64) -> i64 {
    whole(at_ms.min(MOMENT_MS_MAX))
}

/// What model calls cost; unknown stays unknown.
#[derive(Clone, Copy, Default)]
pub(super) struct Cost {
    /// Those of known cost together; none if it is known of none.
    pub(super) usd: Option<f64>,
    /// How many there are of unknown cost.
    pub(super) unknown: i64,
}

impl Cost {
    /// Adds one call.
    pub(super) fn note(&mut self, usd: Option<f64>) {
        match usd.filter(|usd| usd.is_finite() && *usd >= 0.0) {
            Some(usd) => self.usd = Some(self.usd.unwrap_or(0.0) + usd),
            None => self.unknown += 1,
        }
    }

    /// Whether it changes nothing.
    pub(super) fn is_nothing(&self) -> bool {
        self.usd.is_none() && self.unknown == 0
    }
}

/// Usage in the order of the columns; unknown stays unknown.
#[derive(Clone, Copy, Default)]
pub(super) struct Tokens {
    pub(super) input: Option<i64>,
    pub(super) cached: Option<i64>,
    pub(super) cache_write: Option<i64>,
    pub(super) output: Option<i64>,
    pub(super) reasoning: Option<i64>,
}

impl Tokens {
    pub(super) fn of(usage: Usage) -> Self {
        Self {
            input: usage.input_tokens.map(figure),
            cached: usage.cached_tokens.map(figure),
            cache_write: usage.cache_write_tokens.map(figure),
            output: usage.output_tokens.map(figure),
            reasoning: usage.reasoning_tokens.map(figure),
        }
    }

    pub(super) fn add(&mut self, more: Self) {
        let add = |to: &mut Option<i64>, more: Option<i64>| {
            if let Some(more) = more {
                *to = Some(to.unwrap_or(0).saturating_add(more));
            }
        };
        add(&mut self.input, more.input);
        add(&mut self.cached, more.cached);
        add(&mut self.cache_write, more.cache_write);
        add(&mut self.output, more.output);
        add(&mut self.reasoning, more.reasoning);
    }

    /// What is missing to these in what is known already; none where nothing is.
    pub(super) fn beyond(&self, known: &Self) -> Self {
        let beyond = |all: Option<i64>, known: Option<i64>| match (all, known) {
            (Some(all), Some(known)) => Some(all.saturating_sub(known)).filter(|more| *more > 0),
            (all, None) => all,
            (None, _) => None,
        };
        Self {
            input: beyond(self.input, known.input),
            cached: beyond(self.cached, known.cached),
            cache_write: beyond(self.cache_write, known.cache_write),
            output: beyond(self.output, known.output),
            reasoning: beyond(self.reasoning, known.reasoning),
        }
    }

    /// Whether nothing was reported.
    pub(super) fn is_unknown(&self) -> bool {
        [self.input, self.cached, self.cache_write, self.output, self.reasoning].iter().all(Option::is_none)
    }
}

/// The first paragraph, cut at a number of characters.
pub(super) fn first_paragraph(text: &str, chars_max: usize) -> String {
    let lines = text.lines().map(str::trim).skip_while(|line| line.is_empty());
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    clipped(&paragraph.join(" "), chars_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_the_first_paragraph() {
        assert_eq!(first_paragraph("\n one\n two\n\nthree", 100), "one two");
        assert_eq!(first_paragraph("abcdef", 4), "abc…");
        assert_eq!(first_paragraph("", 4), "");
    }

    #[test]
    fn no_number_leaves_the_range() {
        assert_eq!(whole(u64::MAX), i64::MAX);
        assert_eq!(figure(u64::MAX), 1 << 40);
        assert_eq!(moment(u64::MAX), 253_402_300_799_999);
        assert_eq!(figure(7), 7);
    }
}
