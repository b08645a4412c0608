//! A table of Markdown drawn with columns that line up, and fit. Pure.

use super::inline::Inline;
use super::look::TextLook;
use super::wrap::hanging;
use crate::limits::CELL_COLUMNS_MIN;
use crate::output::{Style, columns};

/// Between two columns.
const GAP: &str = "  ";

/// Whether a line belongs to a table.
pub(super) fn is_row(line: &str) -> bool {
    line.trim_start().starts_with('|')
}

/// Whether lines are a table: the second one is its rule.
fn is_table(lines: &[String]) -> bool {
    let rule = |cell: &String| {
        !cell.is_empty() && cell.contains('-') && cell.chars().all(|c| matches!(c, '-' | ':'))
    };
    lines.get(1).is_some_and(|line| cells(line).iter().all(rule))
}

/// Draws a table; lines that are none as they are.
pub(super) fn drawn(lines: &[String], style: Style, width: usize) -> String {
    if !is_table(lines) {
        return lines.iter().map(|line| format!("{line}\n")).collect();
    }
    let head = cells(&lines[0]);
    let count = head.len();
    let body = lines[2..].iter().map(|line| {
        let mut row = cells(line);
        row.resize(count, String::new());
        row
    });
    let body = body.collect::<Vec<_>>();
    match fitting(&widths(&head, &body, style), width) {
        Some(widths) => aligned(&head, &body, &widths, style),
        None => listed(&head, &body, style, width),
    }
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

/// The columns that each column would take.
fn widths(head: &[String], body: &[Vec<String>], style: Style) -> Vec<usize> {
    let wide = |cell: &String| columns(&shown(cell, style).0);
    let mut widths = head.iter().map(wide).collect::<Vec<_>>();
    for row in body {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(wide(cell));
        }
    }
    widths
}

/// The same, the widest made narrower until all fit; none if they cannot.
fn fitting(widths: &[usize], width: usize) -> Option<Vec<usize>> {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    let mut widths = widths.to_vec();
    while widths.iter().sum::<usize>() + gaps > width {
        let widest = widths.iter_mut().max()?;
        *widest -= 1;
        if *widest < CELL_COLUMNS_MIN {
            return None;
        }
    }
    Some(widths)
}

fn aligned(head: &[String], body: &[Vec<String>], widths: &[usize], style: Style) -> String {
    let mut text = row(head, widths, style, true);
    let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join(GAP);
    text.push_str(&style.dim(&format!("{rule}\n")));
    for cells in body {
        text.push_str(&row(cells, widths, style, false));
    }
    text
}

/// One row of cells, in as many rows of the terminal as the longest needs.
fn row(cells: &[String], widths: &[usize], style: Style, head: bool) -> String {
    let wrapped = cells.iter().zip(widths).map(|(cell, width)| {
        let (text, look) = shown(cell, style);
        let look = if head { look.strong() } else { look };
        (hanging("", &text, (*width).max(1)), look, *width)
    });
    let wrapped = wrapped.collect::<Vec<_>>();
    let height = wrapped.iter().map(|(rows, ..)| rows.len()).max().unwrap_or(0).max(1);
    let mut text = String::new();
    for n in 0..height {
        let (mut line, mut pad) = (String::new(), 0);
        for (rows, look, width) in &wrapped {
            let part = rows.get(n).map_or("", String::as_str);
            if !part.is_empty() {
                line.push_str(&" ".repeat(pad));
                line.push_str(&look.paint(style, part));
                pad = 0;
            }
            pad += width.saturating_sub(columns(part)) + GAP.len();
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// A table that is too wide: one line for each cell, behind the name of its column.
fn listed(head: &[String], body: &[Vec<String>], style: Style, width: usize) -> String {
    let mut text = String::new();
    for cells in body {
        for (name, cell) in head.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
            let (name, cell) = (shown(name, style).0, shown(cell, style).0);
            let rows = hanging("  ", &format!("{name}: {cell}"), width);
            rows.iter().for_each(|row| text.push_str(&format!("{row}\n")));
        }
        text.push('\n');
    }
    text.trim_end_matches('\n').to_string() + "\n"
}

/// A cell without its marks, and how all of it looks. Where there are no colours, as it is.
fn shown(cell: &str, style: Style) -> (String, TextLook) {
    if !style.has_colours() {
        return (cell.to_string(), TextLook::default());
    }
    let (mut inline, mut text, mut looks) = (Inline::default(), String::new(), Vec::new());
    let mut take = |c: char, look: TextLook| {
        text.push(c);
        looks.push(look);
    };
    cell.chars().for_each(|c| inline.push(c, TextLook::default(), &mut take));
    inline.end(TextLook::default(), &mut take);
    let first = looks.first().copied().unwrap_or_default();
    let whole = if looks.iter().all(|look| *look == first) { first } else { TextLook::default() };
    (text, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_string).collect()
    }

    #[test]
    fn tables_line_up_and_fit() {
        let table = lines("| name | what it does |\n|---|:--|\n| a | reads `x|y` |\n| long-name | b |");
        let expected =
            "name       what it does\n─────────  ────────────\na          reads `x|y`\nlong-name  b\n";
        assert_eq!(drawn(&table, Style::plain(), 40), expected);
        let narrow = "name       what it\n           does\n─────────  ─────────\na          reads\n           `x|y`\nlong-name  b\n";
        assert_eq!(drawn(&table, Style::plain(), 20), narrow);
        let list =
            "  name: a\n  what it\n  does:\n  reads\n  `x|y`\n\n  name:\n  long-name\n  what it\n  does: b\n";
        assert_eq!(drawn(&table, Style::plain(), 12), list);
        let none = lines("| only one line");
        assert_eq!(drawn(&none, Style::plain(), 40), "| only one line\n");
    }

    #[test]
    fn marks_in_cells_become_looks() {
        let table = lines("| a | b |\n|---|---|\n| `x` | **y** z |");
        let expected =
            "\u{1b}[1ma\u{1b}[0m  \u{1b}[1mb\u{1b}[0m\n\u{1b}[2m─  ───\u{1b}[0m\n\u{1b}[36mx\u{1b}[0m  y z\n";
        assert_eq!(drawn(&table, Style::coloured(), 40), expected);
    }
}
