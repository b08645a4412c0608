//! Where each part of a text is on rows of a width. Rows break behind spaces where they can; every byte is on one row.

use posse_protocol::visible;

use super::chips::{ChipRow, is_mark};
use super::clusters;
use crate::{Ink, Look, Span, TextLine, columns};

/// One row: a range of the text, without its line end.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowRange {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether the line goes on in the next row.
    continues: bool,
    columns: usize,
}

/// A text in rows.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    text: &'a str,
    chips: &'a ChipRow,
    width: usize,
    pub(super) rows: Vec<RowRange>,
}

impl<'a> Layout<'a> {
    /// Lays out a text. A cursor behind a full row gets a row of its own.
    pub(super) fn new(text: &'a str, chips: &'a ChipRow, width: usize, cursor: usize) -> Self {
        let mut layout = Self { text, chips, width: width.max(1), rows: Vec::new() };
        let mut start = 0;
        loop {
            let end = clusters::line_end(text, start);
            layout.line(start, end);
            if let Some(last) = layout.rows.last_mut().filter(|last| last.columns >= layout.width)
                && cursor == end
            {
                last.continues = true;
                layout.rows.push(RowRange { start: end, end, continues: false, columns: 0 });
            }
            if end == text.len() {
                return layout;
            }
            start = end + 1;
        }
    }

    fn line(&mut self, mut start: usize, end: usize) {
        let (mut at, mut used) = (start, 0);
        // Behind the last space of the row, and how many columns are before that.
        let mut gap = None;
        while at < end {
            let cluster = clusters::at(self.text, at);
            let wide = self.cell_columns(cluster);
            if at > start && used + wide > self.width {
                let (next, columns) = gap.take().filter(|_| cluster != " ").unwrap_or((at, used));
                self.rows.push(RowRange { start, end: next, continues: true, columns });
                (start, used) = (next, used - columns);
                // What was carried over may be too wide together with this cluster, never by itself.
                continue;
            }
            (at, used) = (at + cluster.len(), used + wide);
            if cluster == " " {
                gap = Some((at, used));
            }
        }
        self.rows.push(RowRange { start, end, continues: false, columns: used });
    }

    /// How many columns a cluster takes.
    fn cell_columns(&self, cluster: &str) -> usize {
        if let [b' '..=b'~'] = cluster.as_bytes() {
            return 1;
        }
        let mut chars = cluster.chars();
        match (chars.next(), chars.next()) {
            // Shown as it is.
            (Some(c), None) if !visible::hides(c) && !visible::is_mark(c) && !is_mark(c) => {
                columns(cluster).min(self.width)
            }
            _ => self.cell(cluster).columns(),
        }
    }

    /// What is shown for a cluster.
    fn cell(&self, cluster: &str) -> TextLine {
        let mark = cluster.chars().next().filter(|c| is_mark(*c));
        let span = match mark {
            Some(mark) => Span::new(self.chips.label(mark), Ink::Accent),
            None => Span::new(cluster, Look::PLAIN),
        };
        let mut cell = TextLine::default();
        cell.push_span(span);
        cell.cut(self.width)
    }

    /// What is shown in a row.
    pub(super) fn shown(&self, row: &RowRange) -> TextLine {
        let mut line = TextLine::default();
        let mut at = row.start;
        while at < row.end {
            let cluster = clusters::at(self.text, at);
            line.append(self.cell(cluster));
            at += cluster.len();
        }
        line
    }

    /// The row and column of a place in the text.
    pub(super) fn place(&self, position: usize) -> (usize, usize) {
        let row = self.rows.partition_point(|row| row.start <= position).saturating_sub(1);
        let (mut at, mut column) = (self.rows[row].start, 0);
        while at < position {
            let cluster = clusters::at(self.text, at);
            (at, column) = (at + cluster.len(), column + self.cell_columns(cluster));
        }
        (row, column.min(self.width - 1))
    }

    /// The place in a row that is nearest to a column from the left.
    pub(super) fn position(&self, row: usize, column: usize) -> usize {
        let row = &self.rows[row];
        let (mut at, mut used) = (row.start, 0);
        while at < row.end {
            let cluster = clusters::at(self.text, at);
            let wide = self.cell_columns(cluster);
            // The end of a row that goes on is the beginning of the next.
            if used + wide > column || row.continues && at + cluster.len() >= row.end {
                break;
            }
            (at, used) = (at + cluster.len(), used + wide);
        }
        at
    }
}
