//! What every full-screen view is put together from: rows that fit, panes side by side, a title and the keys.

use posse_terminal::{Ink, Look, TextLine};

/// Exactly so many rows, none wider than the screen.
pub(super) fn fitted(rows: Vec<TextLine>, (columns, height): (usize, usize)) -> Vec<TextLine> {
    let mut rows: Vec<_> = rows.into_iter().take(height).map(|row| row.cut(columns)).collect();
    rows.resize(height, TextLine::default());
    rows
}

/// The first row: what this is, in reverse all across.
pub(super) fn title_row(title: &str, columns: usize) -> TextLine {
    let look = Look::PLAIN.bold().reverse();
    padded(TextLine::of(&format!(" {title}"), look), columns, look)
}

/// The last row: keys and what they do, as many as there is room for.
pub(super) fn keys_row(keys: &[(&str, &str)], columns: usize) -> TextLine {
    let mut line = TextLine::default();
    for (key, means) in keys {
        let gap = if line.is_empty() { " " } else { "  " };
        let next = TextLine::plain(gap)
            .with(key, Look::of(Ink::Accent).bold())
            .with(&format!(" {means}"), Ink::Quiet);
        if line.columns() + next.columns() > columns {
            break;
        }
        line.append(next);
    }
    line
}

/// A line with spaces behind it, or cut.
pub(super) fn padded(line: TextLine, columns: usize, look: Look) -> TextLine {
    let mut line = line.cut(columns);
    let missing = columns.saturating_sub(line.columns());
    line.push(&" ".repeat(missing), look);
    line
}
