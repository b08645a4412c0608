//! Adding up tasks, and finding the one in the middle without keeping all. Pure; it must not know the tables.

use std::collections::HashMap;

use posse_protocol::{AgentState, Usage};

use super::{StatsRow, Task};
use crate::limits;

/// What tasks with the same key came to.
#[derive(Default)]
pub(super) struct Tally {
    row: StatsRow,
    turns: Sample,
    durations_ms: Sample,
}

/// One tally a key.
#[derive(Default)]
pub(super) struct Tallies(HashMap<String, Tally>);

/// An even selection of the figures seen: each of them while they are few, then every second, every fourth, …
#[derive(Default)]
struct Sample {
    kept: Vec<u64>,
    seen: u64,
    /// Two to this power is how many are seen for one that is kept.
    thinned: u32,
}

impl Tally {
    pub(super) fn add(&mut self, task: &Task) {
        let row = &mut self.row;
        let [turns, undone, merges, merge_conflicts] =
            [task.turns, task.undone, task.merges, task.merge_conflicts].map(figure);
        row.tasks += 1;
        row.completed += u64::from(task.status == AgentState::Completed);
        row.undone += u64::from(undone > 0);
        row.warned += u64::from(task.warned);
        plus(&mut row.turns_total, turns);
        plus(&mut row.merges, merges);
        plus(&mut row.merge_conflicts, merge_conflicts);
        row.usage.add(usage(task.tokens));
        *row.endings.entry(task.status).or_default() += 1;
        row.cost_unknown += u64::from(task.cost_unknown);
        if let Some(cost) = task.cost_usd {
            row.cost_usd = Some(row.cost_usd.unwrap_or_default() + cost);
        }
        if turns > 0 {
            self.turns.add(turns);
        }
        if let Some(duration_ms) = task.duration_ms.map(figure) {
            plus(&mut row.duration_ms_total, duration_ms);
            self.durations_ms.add(duration_ms);
        }
    }

    pub(super) fn row(self, key: &str) -> StatsRow {
        StatsRow {
            key: key.to_owned(),
            turns_median: self.turns.median(),
            duration_ms_median: self.durations_ms.median(),
            ..self.row
        }
    }
}

fn figure(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn plus(sum: &mut u64, number: u64) {
    *sum = sum.saturating_add(number);
}

fn usage(tokens: [Option<i64>; 5]) -> Usage {
    let [input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens] =
        tokens.map(|number| number.map(figure));
    Usage { input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens }
}

impl Tallies {
    pub(super) fn add(&mut self, key: Option<&str>, task: &Task) {
        let key = key.unwrap_or(StatsRow::NONE);
        match self.0.get_mut(key) {
            Some(tally) => tally.add(task),
            None => self.0.entry(key.to_owned()).or_default().add(task),
        }
    }

    /// The rows with the most tasks.
    pub(super) fn most_first(self, rows_max: usize) -> Vec<StatsRow> {
        let mut rows = self.rows();
        rows.sort_by(|a, b| b.tasks.cmp(&a.tasks).then_with(|| a.key.cmp(&b.key)));
        rows.truncate(rows_max);
        rows
    }

    /// The rows with the greatest keys, in their order.
    pub(super) fn newest_last(self, rows_max: usize) -> Vec<StatsRow> {
        let mut rows = self.rows();
        rows.sort_by(|a, b| a.key.cmp(&b.key));
        rows.split_off(rows.len().saturating_sub(rows_max))
    }

    fn rows(self) -> Vec<StatsRow> {
        self.0.into_iter().map(|(key, tally)| tally.row(&key)).collect()
    }
}

impl Sample {
    fn add(&mut self, figure: u64) {
        if self.kept.len() == limits::MEDIAN_SAMPLE_MAX {
            let mut even = false;
            self.kept.retain(|_| {
                even = !even;
                even
            });
            self.thinned += 1;
        }
        if self.seen.trailing_zeros() >= self.thinned {
            self.kept.push(figure);
        }
        self.seen += 1;
    }

    /// The one in the middle; of two, what is between them.
    fn median(mut self) -> Option<u64> {
        self.kept.sort_unstable();
        let upper = *self.kept.get(self.kept.len() / 2)?;
        let lower = *self.kept.get(self.kept.len().checked_sub(1)? / 2)?;
        Some(lower.midpoint(upper))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn median(figures: impl IntoIterator<Item = u64>) -> Option<u64> {
        let mut sample = Sample::default();
        figures.into_iter().for_each(|figure| sample.add(figure));
        assert!(sample.kept.len() <= limits::MEDIAN_SAMPLE_MAX);
        sample.median()
    }

    #[test]
    fn the_median_is_in_the_middle() {
        let cases: [(&[u64], Option<u64>); 6] = [
            (&[], None),
            (&[7], Some(7)),
            (&[9, 1], Some(5)),
            (&[9, 1, 2], Some(2)),
            (&[4, 4, 1, 9], Some(4)),
            (&[u64::MAX, u64::MAX], Some(u64::MAX)),
        ];
        for (figures, expected) in cases {
            assert_eq!(median(figures.iter().copied()), expected, "of {figures:?}");
        }
    }

    #[test]
    fn very_many_figures_have_nearly_the_same_median() {
        let many = 10 * limits::MEDIAN_SAMPLE_MAX as u64;
        let found = median(0..many).unwrap();
        assert!(found.abs_diff(many / 2) <= many / 1_000, "{found} of {many}");
        // In an order that has nothing to do with size, too.
        let mixed = median((0..many).map(|n| n * 7_919 % many)).unwrap();
        assert!(mixed.abs_diff(many / 2) <= many / 50, "{mixed} of {many}");
    }
}
