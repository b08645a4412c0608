//! What every full-screen view is put together from: rows that fit, panes side by side, a title and the keys.

use posse_protocol::AgentState;
use posse_terminal::{Ink, Look, TextLine};
use ratatui_core::layout::{Constraint, Layout, Rect};

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

/// A line whose looks are reversed all across, as a selected one is.
pub(super) fn selected(line: &TextLine, columns: usize) -> TextLine {
    let mut out = TextLine::default();
    for span in line.cut(columns).spans() {
        out.push(span.text(), Look { reverse: true, ..span.look });
    }
    padded(out, columns, Look::PLAIN.reverse())
}

/// Two panes with a line between them.
pub(super) struct Panes {
    /// Columns and rows of the first.
    pub(super) first: (usize, usize),
    /// Columns and rows of the second.
    pub(super) second: (usize, usize),
}

impl Panes {
    /// Side by side, the first with so many percent of the columns.
    pub(super) fn beside((columns, rows): (usize, usize), percent: u16) -> Self {
        let split = [Constraint::Percentage(percent), Constraint::Length(1), Constraint::Fill(1)];
        let [first, _, second] = Layout::horizontal(split).areas(area(columns, rows));
        Self { first: size(first), second: size(second) }
    }

    /// One above the other; the second gets so many rows.
    pub(super) fn above((columns, rows): (usize, usize), second: usize) -> Self {
        let second = u16::try_from(second).unwrap_or(u16::MAX);
        let split = [Constraint::Fill(1), Constraint::Length(1), Constraint::Length(second)];
        let [first, _, second] = Layout::vertical(split).areas(area(columns, rows));
        Self { first: size(first), second: size(second) }
    }

    /// Puts the rows of both together, side by side.
    pub(super) fn joined(&self, first: Vec<TextLine>, second: Vec<TextLine>) -> Vec<TextLine> {
        let first = fitted(first, self.first).into_iter();
        let second = fitted(second, self.second);
        let both = first.zip(second).map(|(left, right)| {
            let mut row = padded(left, self.first.0, Look::PLAIN);
            row.push("│", Ink::Quiet);
            row.append(right);
            row
        });
        both.collect()
    }

    /// Puts the rows of both together, one above the other.
    pub(super) fn stacked(&self, first: Vec<TextLine>, second: Vec<TextLine>) -> Vec<TextLine> {
        let mut rows = fitted(first, self.first);
        rows.push(TextLine::of(&"─".repeat(self.first.0), Ink::Quiet));
        rows.extend(fitted(second, self.second));
        rows
    }
}

fn area(columns: usize, rows: usize) -> Rect {
    let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    Rect::new(0, 0, short(columns), short(rows))
}

fn size(area: Rect) -> (usize, usize) {
    (area.width.into(), area.height.into())
}

/// The colour beside the mark of a state.
pub(super) fn state_ink(state: AgentState, blocked: bool) -> Ink {
    match state {
        AgentState::Completed if blocked => Ink::Warning,
        AgentState::Completed => Ink::Good,
        AgentState::NeedsPerson | AgentState::Interrupted | AgentState::Cancelled => Ink::Warning,
        AgentState::Running => Ink::Accent,
        state if state.is_failure() => Ink::Bad,
        _ => Ink::Quiet,
    }
}
