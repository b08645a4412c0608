//! Rows of statistics as tables under one another, with the same columns. Pure; it must not know where they come from.

use posse_engine::record::StatsRow;
use posse_protocol::AgentState;
use posse_view::words;

use crate::limits::{ENDINGS_COLUMNS_MIN, KEY_COLUMNS_MAX, KEY_COLUMNS_MIN};
use crate::output::{Style, columns, duration, grouped, one_line};

/// What stands in place of an empty key.
const NO_NAME: &str = "(unnamed)";
/// Between two columns.
const GAP: usize = 2;

/// One column of figures.
struct Column {
    head: &'static str,
    cell: fn(&StatsRow) -> String,
    /// Those with the least go first where room is short.
    worth: u32,
}

const COLUMNS: [Column; 10] = [
    Column { head: "tasks", cell: |row| grouped(row.tasks), worth: 10 },
    Column { head: "success", cell: success, worth: 9 },
    Column { head: "warned", cell: warned, worth: 7 },
    Column { head: "turns", cell: |row| figure(row.turns_median, grouped), worth: 6 },
    Column { head: "time", cell: |row| figure(row.duration_ms_median, duration), worth: 4 },
    Column { head: "tokens", cell: |row| figure(row.usage.total_tokens(), rounded), worth: 5 },
    Column { head: "cached", cell: |row| figure(row.usage.cached_tokens, rounded), worth: 3 },
    Column { head: "cost", cell: cost, worth: 8 },
    Column { head: "undone", cell: |row| some(row.undone), worth: 2 },
    Column { head: "conflicts", cell: conflicts, worth: 1 },
];

/// All sections, each with a heading of its own, none wider than `width` as far as that is possible.
pub(super) fn tables(style: Style, sections: &[(&str, &Vec<StatsRow>)], width: usize) -> String {
    let rows = || sections.iter().flat_map(|(_, rows)| rows.iter());
    let heads = sections.iter().map(|(head, _)| columns(head));
    let key = rows().map(|row| columns(&one_line(&row.key, KEY_COLUMNS_MAX))).chain(heads).max().unwrap_or(0);
    let sized = |column: &'static Column| {
        let widest = rows().map(|row| columns(&(column.cell)(row))).max().unwrap_or(0);
        (column, widest.max(column.head.len()))
    };
    let mut shown = COLUMNS.iter().map(sized).collect::<Vec<_>>();
    let taken = |shown: &[(&Column, usize)]| shown.iter().map(|(_, width)| width + GAP).sum::<usize>();
    while shown.len() > 2 && taken(&shown) + key.min(KEY_COLUMNS_MIN) > width {
        let least = shown.iter().map(|(column, _)| column.worth).min();
        shown.retain(|(column, _)| Some(column.worth) != least);
    }
    let key = key.min(width.saturating_sub(taken(&shown))).max(KEY_COLUMNS_MIN.min(key));
    let rest = width.saturating_sub(key + taken(&shown) + GAP);
    let mut text = String::new();
    for (head, rows) in sections {
        let others = rest >= ENDINGS_COLUMNS_MIN && rows.iter().any(|row| !endings(row).is_empty());
        let cells = shown.iter().map(|(column, width)| (column.head.to_string(), *width));
        let last = if others { "not completed" } else { "" };
        text.push_str(&format!("\n{}", style.dim(&line(head, key, cells, last, rest))));
        for row in rows.iter() {
            let cells = shown.iter().map(|(column, width)| ((column.cell)(row), *width));
            let last = if others { endings(row) } else { String::new() };
            text.push_str(&line(&row.key, key, cells, &last, rest));
        }
    }
    text
}

fn line(
    key: &str,
    key_width: usize,
    cells: impl Iterator<Item = (String, usize)>,
    last: &str,
    rest: usize,
) -> String {
    let key = one_line(if key.is_empty() { NO_NAME } else { key }, key_width);
    let mut text = format!("{key}{}", " ".repeat(key_width.saturating_sub(columns(&key))));
    for (cell, width) in cells {
        text.push_str(&" ".repeat(GAP + width.saturating_sub(columns(&cell))));
        text.push_str(&cell);
    }
    if !last.is_empty() {
        text.push_str(&format!("{}{}", " ".repeat(GAP), one_line(last, rest)));
    }
    format!("{}\n", text.trim_end())
}

/// How many of a hundred completed.
pub(super) fn success(row: &StatsRow) -> String {
    figure(row.success_percent(), |percent| format!("{percent}%"))
}

/// How many of a hundred gave reports with warnings.
fn warned(row: &StatsRow) -> String {
    figure(row.warned_percent().filter(|_| row.warned > 0), |percent| format!("{percent}%"))
}

/// What those came to that did not complete, the most frequent first.
fn endings(row: &StatsRow) -> String {
    let mut others =
        row.endings.iter().filter(|(state, _)| **state != AgentState::Completed).collect::<Vec<_>>();
    others.sort_by_key(|(state, count)| (std::cmp::Reverse(**count), state.word()));
    let others = others.iter().map(|(state, count)| format!("{count} {}", words::state(**state)));
    others.collect::<Vec<_>>().join(", ")
}

/// What is known of the cost: all, a part, or nothing.
fn cost(row: &StatsRow) -> String {
    match (row.cost_usd, row.cost_unknown) {
        (Some(cost), unknown) => words::cost(cost, unknown > 0),
        (None, 0) => "-".to_string(),
        (None, _) => "?".to_string(),
    }
}

fn conflicts(row: &StatsRow) -> String {
    match row.merges {
        0 => "-".to_string(),
        merges => format!("{} of {merges}", row.merge_conflicts),
    }
}

fn figure(number: Option<u64>, told: impl Fn(u64) -> String) -> String {
    number.map_or_else(|| "-".to_string(), told)
}

fn some(number: u64) -> String {
    if number == 0 { "-".to_string() } else { grouped(number) }
}

/// A large number in few characters: `950`, `12.3k`, `4.5M`.
fn rounded(number: u64) -> String {
    match number {
        0..10_000 => grouped(number),
        10_000..1_000_000 => format!("{}.{}k", number / 1000, number % 1000 / 100),
        _ => format!("{}.{}M", grouped(number / 1_000_000), number % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use posse_protocol::Usage;

    use super::*;

    fn rows() -> (Vec<StatsRow>, Vec<StatsRow>) {
        let usage = Usage {
            input_tokens: Some(123_456),
            cached_tokens: Some(100_000),
            output_tokens: Some(1_000),
            ..Usage::default()
        };
        let explore = StatsRow {
            key: "explore".into(),
            tasks: 20,
            completed: 18,
            endings: [(AgentState::Completed, 18), (AgentState::OutOfTurns, 2)].into(),
            turns_median: Some(6),
            usage,
            cost_usd: Some(0.25),
            duration_ms_median: Some(34_200),
            undone: 1,
            warned: 3,
            merges: 3,
            merge_conflicts: 1,
            ..StatsRow::default()
        };
        let none = StatsRow { key: "general".into(), tasks: 1, cost_unknown: 1, ..StatsRow::default() };
        let model = StatsRow {
            key: "a model\x1b[2J with a name that is far too long to be shown".into(),
            cost_unknown: 1,
            ..explore.clone()
        };
        (vec![explore, none], vec![model])
    }

    #[test]
    fn tables_have_the_same_columns() {
        let (roles, models) = rows();
        let text = tables(Style::plain(), &[("role", &roles), ("model", &models)], 140);
        let expected = "
role                          tasks  success  warned  turns  time  tokens  cached       cost  undone  conflicts  not completed
explore                          20      90%     15%      6  34 s  124.4k  100.0k    $0.2500       1     1 of 3  2 out of turns
general                           1       0%       -      -     -       -       -          ?       -          -

model                         tasks  success  warned  turns  time  tokens  cached       cost  undone  conflicts  not completed
a model\\u{1b}[2J with a nam…     20      90%     15%      6  34 s  124.4k  100.0k  ≥ $0.2500       1     1 of 3  2 out of turns
";
        assert_eq!(text, expected);
    }

    #[test]
    fn narrow_terminals_get_fewer_columns_and_whole_lines() {
        let (roles, models) = rows();
        for width in [24, 30, 40, 60, 80, 100, 200] {
            let text = tables(Style::plain(), &[("role", &roles), ("model", &models)], width);
            assert_eq!(text.lines().count(), 7, "{width}");
            for line in text.lines() {
                assert!(columns(line) <= width.max(28), "{width}: {line}");
            }
            assert!(text.contains("tasks") && text.contains("success"), "{width}");
        }
    }

    #[test]
    fn numbers_are_rounded() {
        let cases =
            [(0, "0"), (9_999, "9,999"), (12_345, "12.3k"), (4_567_890, "4.5M"), (1_234_567_890, "1,234.5M")];
        for (number, want) in cases {
            assert_eq!(rounded(number), want);
        }
    }
}
