//! A table of Markdown drawn with columns that line up, and fit. Pure.

use super::inline::{TextEnd, pieces};
use crate::limits::{CELL_COLUMNS_MIN, TABLE_BYTES_MAX, TABLE_CELLS_MAX, TABLE_ROWS_MAX};
use crate::{Ink, Look, TextLine};

/// Between two columns.
const GAP: &str = "  ";

/// Whether a line that begins a table belongs to it.
pub(super) fn is_row(line: &str) -> bool {
    line.trim_start().starts_with('|')
}

/// On which side of its column a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellSide {
    Left,
    Middle,
    Right,
}

/// The sides that the second line of a table gives its columns; none if it is not such a line.
fn sides(line: &str) -> Option<Vec<CellSide>> {
    if !line.contains('-') || line.contains(|c| !matches!(c, '-' | ':' | '|' | ' ' | '\t')) {
        return None;
    }
    let side = |cell: &String| {
        let dashes = cell.strip_prefix(':').unwrap_or(cell);
        let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
        let side = match (cell.starts_with(':'), cell.ends_with(':')) {
            (true, true) => CellSide::Middle,
            (false, true) => CellSide::Right,
            _ => CellSide::Left,
        };
        (!dashes.is_empty() && dashes.chars().all(|c| c == '-')).then_some(side)
    };
    cells(line).iter().map(side).collect()
}

/// The cells of a row, without the blank space around them.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = if line.ends_with("\\|") { line } else { line.strip_suffix('|').unwrap_or(line) };
    let (mut cells, mut cell, mut escaped, mut code) = (Vec::new(), String::new(), false, false);
    for c in line.chars() {
        code ^= c == '`';
        match c {
            '|' if escaped => {
                cell.pop();
                cell.push('|');
            }
            '|' if !code => cells.push(std::mem::take(&mut cell)),
            _ => cell.push(c),
        }
        escaped = c == '\\';
    }
    cells.push(cell);
    cells.iter().map(|cell| cell.trim().to_string()).collect()
}

/// A table whose rows arrive. It holds back rows up to a limit, because they decide how wide its columns are.
#[derive(Clone, Debug)]
pub struct TableDraft {
    head: Vec<TextLine>,
    sides: Vec<CellSide>,
    /// The columns that each column would take.
    widths: Vec<usize>,
    rows: Vec<Vec<TextLine>>,
    bytes: usize,
    /// Whether marks become looks.
    has_looks: bool,
    /// Whether head and rows were given out before.
    begun: bool,
}

impl TableDraft {
    /// A table that begins with these two lines; none if they do not begin one. Without looks cells stay as they are.
    pub fn begun(head: &str, rule: &str, has_looks: bool) -> Option<Self> {
        let sides = sides(rule)?;
        let head = cells(head);
        if head.len() != sides.len() || !rule.contains('|') {
            return None;
        }
        let head = head.iter().map(|cell| drawn(cell, Look::PLAIN.bold(), has_looks)).collect::<Vec<_>>();
        let widths = head.iter().map(TextLine::columns).collect();
        Some(Self { head, sides, widths, rows: Vec::new(), bytes: 0, has_looks, begun: false })
    }

    /// Takes the next row.
    pub fn push(&mut self, line: &str) {
        self.bytes += line.len();
        let row = self.row(line);
        for (width, cell) in self.widths.iter_mut().zip(&row) {
            *width = (*width).max(cell.columns());
        }
        self.rows.push(row);
    }

    /// Whether no more rows may be held back.
    pub fn is_full(&self) -> bool {
        self.begun
            || self.rows.len() >= TABLE_ROWS_MAX
            || self.rows.len() * self.head.len() >= TABLE_CELLS_MAX
            || self.bytes >= TABLE_BYTES_MAX
    }

    /// Gives out what is held back, in lines of at most so many columns.
    pub fn take(&mut self, width: usize) -> Vec<TextLine> {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        let lines = self.lines(&rows, !self.begun, width);
        self.begun = true;
        lines
    }

    /// Draws the last rows, and one more that is not complete.
    pub(super) fn tail(&self, partial: Option<&str>, rows_max: usize, width: usize) -> Vec<TextLine> {
        let mut rows = self.rows[self.rows.len().saturating_sub(rows_max)..].to_vec();
        rows.extend(partial.map(|line| self.row(line)));
        let mut shown = Self { rows: Vec::new(), ..self.clone_without_rows() };
        for row in &rows {
            for (width, cell) in shown.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.columns());
            }
        }
        shown.lines(&rows, !self.begun, width)
    }

    fn clone_without_rows(&self) -> Self {
        Self {
            head: self.head.clone(),
            sides: self.sides.clone(),
            widths: self.widths.clone(),
            rows: Vec::new(),
            ..*self
        }
    }

    /// The cells of a row: as many as the head has. What is too much stands in the last one.
    fn row(&self, line: &str) -> Vec<TextLine> {
        let mut texts = cells(line);
        let count = self.head.len();
        if texts.len() > count {
            let last = texts.split_off(count - 1).join(" | ");
            texts.push(last.trim_end_matches([' ', '|']).to_string());
        }
        texts.resize(count, String::new());
        texts.iter().map(|cell| drawn(cell, Look::PLAIN, self.has_looks)).collect()
    }

    fn lines(&self, rows: &[Vec<TextLine>], with_head: bool, width: usize) -> Vec<TextLine> {
        let Some(widths) = fitting(&self.widths, width) else {
            return self.listed(rows, with_head);
        };
        let mut lines = Vec::new();
        if with_head {
            self.aligned(&self.head, &widths, &mut lines);
            let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join(GAP);
            lines.push(TextLine::of(&rule, Ink::Quiet));
        }
        rows.iter().for_each(|row| self.aligned(row, &widths, &mut lines));
        lines
    }

    /// One row of cells, in as many lines as the longest needs.
    fn aligned(&self, cells: &[TextLine], widths: &[usize], lines: &mut Vec<TextLine>) {
        let wrapped = cells.iter().zip(widths).map(|(cell, width)| cell.wrapped((*width).max(1), 0));
        let wrapped = wrapped.collect::<Vec<_>>();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(1);
        for n in 0..height {
            let (mut line, mut pad) = (TextLine::default(), 0);
            for ((rows, width), side) in wrapped.iter().zip(widths).zip(&self.sides) {
                let part = rows.get(n).map(TextLine::trimmed_end).unwrap_or_default();
                let free = width.saturating_sub(part.columns());
                let before = match side {
                    CellSide::Left => 0,
                    CellSide::Middle => free / 2,
                    CellSide::Right => free,
                };
                if !part.is_empty() {
                    line.push(&" ".repeat(pad + before), Look::PLAIN);
                    line.append(part);
                    pad = free - before + GAP.len();
                } else {
                    pad += width + GAP.len();
                }
            }
            lines.push(line);
        }
    }

    /// A table that is too wide: one line for each cell, behind the name of its column.
    fn listed(&self, rows: &[Vec<TextLine>], is_first: bool) -> Vec<TextLine> {
        let mut lines = Vec::new();
        if rows.is_empty() && is_first {
            lines.extend(self.head.iter().cloned());
        }
        for (n, row) in rows.iter().enumerate() {
            if n > 0 || !is_first {
                lines.push(TextLine::default());
            }
            for (name, cell) in self.head.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
                let mut line = name.clone();
                if !name.is_empty() {
                    line.push(": ", Look::PLAIN.bold());
                }
                line.append(cell.clone());
                lines.push(line);
            }
        }
        lines
    }
}

/// The widths that fit between them; none if a cell would be too narrow.
fn fitting(widths: &[usize], width: usize) -> Option<Vec<usize>> {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    let room = width.checked_sub(gaps)?;
    if widths.iter().sum::<usize>() <= room {
        return Some(widths.to_vec());
    }
    // The widest columns give up most: all that are wider than `cap` get it, and what remains one by one.
    let taken = |cap: usize| widths.iter().map(|width| (*width).min(cap)).sum::<usize>();
    let (mut cap, mut too_wide) = (0, widths.iter().copied().max()?);
    while too_wide - cap > 1 {
        let middle = cap.midpoint(too_wide);
        if taken(middle) <= room { cap = middle } else { too_wide = middle }
    }
    if cap < CELL_COLUMNS_MIN {
        return None;
    }
    let mut left = room - taken(cap);
    let fit = |width: &usize| match *width {
        wide if wide > cap => {
            let more = usize::from(left > 0);
            left -= more;
            cap + more
        }
        narrow => narrow,
    };
    Some(widths.iter().map(fit).collect())
}

/// A cell with looks in the place of marks; where there are no looks, as it is.
fn drawn(cell: &str, look: Look, has_looks: bool) -> TextLine {
    let mut line = TextLine::default();
    if has_looks {
        pieces(cell, look, TextEnd::Complete, &mut |text, look| line.push(text, look));
    } else {
        line.push(cell, Look::PLAIN);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Theme;

    fn text(table: &str, width: usize) -> String {
        let lines = table.lines().collect::<Vec<_>>();
        let mut draft = TableDraft::begun(lines[0], lines[1], false).unwrap();
        lines[2..].iter().for_each(|line| draft.push(line));
        draft.take(width).iter().map(|line| line.text() + "\n").collect()
    }

    #[test]
    fn tables_line_up_and_fit() {
        let table = "| name | what it does |\n|---|:--|\n| a | reads `x|y` |\n| long-name | b |";
        let expected =
            "name       what it does\n─────────  ────────────\na          reads `x|y`\nlong-name  b\n";
        assert_eq!(text(table, 40), expected);
        let narrow = "name       what it\n           does\n─────────  ─────────\na          reads\n           `x|y`\nlong-name  b\n";
        assert_eq!(text(table, 20), narrow);
        let list = "name: a\nwhat it does: reads `x|y`\n\nname: long-name\nwhat it does: b\n";
        assert_eq!(text(table, 12), list);
        let sided = "| n | in the middle | right |\n|--:|:-:|---:|\n| 1 | x | 2 |\n| 10 | y | 30 | 4 |";
        let expected = " n  in the middle   right\n──  ─────────────  ──────\n 1        x             2\n10        y        30 | 4\n";
        assert_eq!(text(sided, 40), expected);
    }

    #[test]
    fn only_a_line_of_dashes_for_each_column_begins_a_table() {
        let cases = [
            ("| a | b |", "|---|---|", true),
            ("a | b", "--- | :-:", true),
            ("| a |", "|---|", true),
            ("| a | b |", "|---|", false),
            ("| a | b |", "| 1 | 2 |", false),
            ("a", "---", false),
            ("| a |", "| - - |", false),
        ];
        assert_eq!(cases.len(), 7);
        for (head, rule, expected) in cases {
            assert_eq!(TableDraft::begun(head, rule, true).is_some(), expected, "{head} {rule}");
        }
    }

    #[test]
    fn marks_in_cells_become_looks() {
        let mut draft = TableDraft::begun("| a | b |", "|---|---|", true).unwrap();
        draft.push("| `x` | **y** z |");
        let painted = draft.take(40).iter().map(|line| line.painted(Theme::Ansi) + "\n").collect::<String>();
        let expected = "\u{1b}[1ma\u{1b}[0m  \u{1b}[1mb\u{1b}[0m\n\u{1b}[2m─  ───\u{1b}[0m\n\u{1b}[36mx\u{1b}[0m  \u{1b}[1my\u{1b}[0m z\n";
        assert_eq!(painted, expected);
    }
}
