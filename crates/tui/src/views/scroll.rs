//! Scrolling through text of any length: only the blocks that are looked at are made into rows.

use posse_terminal::{Key, KeyCode, TextLine};

/// Something that is shown block by block. A block is a line, or whatever belongs together.
pub(super) trait Blocks {
    /// How many there are.
    fn count(&self) -> usize;
    /// The rows of one of them, each at most so many columns wide. Some have none.
    fn rows(&self, block: usize, columns: usize) -> Vec<TextLine>;
    /// Its text, to be searched.
    fn text(&self, block: usize) -> String;
}

/// Lines of a text: each is a block, wrapped when it is looked at.
#[derive(Debug, Default)]
pub(super) struct PlainLines(pub(super) Vec<TextLine>);

impl Blocks for PlainLines {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn rows(&self, block: usize, columns: usize) -> Vec<TextLine> {
        self.0.get(block).map(|line| line.wrapped(columns, 0)).unwrap_or_default()
    }

    fn text(&self, block: usize) -> String {
        self.0.get(block).map(TextLine::text).unwrap_or_default()
    }
}

/// The first of so many rows that are shown, with the selected one among them.
pub(super) fn first_shown(selected: usize, count: usize, rows: usize) -> usize {
    selected.saturating_sub(rows / 2).min(count.saturating_sub(rows))
}

/// A row of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) block: usize,
    pub(super) row: usize,
}

impl Place {
    /// The row of a block, if it has that many, else its last.
    fn inside(self, rows: usize) -> usize {
        self.row.min(rows.saturating_sub(1))
    }

    /// So many rows further down, and not past the last page.
    pub(super) fn down(self, blocks: &dyn Blocks, size: (usize, usize), by: usize) -> Self {
        let last = Self::last_page(blocks, size);
        let (mut place, mut by) = (self, by);
        while place.block < blocks.count() && place < last {
            let rows = blocks.rows(place.block, size.0).len();
            let left = rows - place.inside(rows).min(rows);
            if by < left {
                return Self { block: place.block, row: place.inside(rows) + by }.min(last);
            }
            by -= left;
            place = Self { block: place.block + 1, row: 0 };
        }
        last
    }

    /// So many rows further up.
    pub(super) fn up(self, blocks: &dyn Blocks, columns: usize, by: usize) -> Self {
        let mut left = by;
        let mut block = self.block.min(blocks.count());
        let mut row = if block < blocks.count() { self.inside(blocks.rows(block, columns).len()) } else { 0 };
        while left > row {
            let Some(above) = block.checked_sub(1) else { return Self::default() };
            left -= row;
            (block, row) = (above, blocks.rows(above, columns).len());
        }
        Self { block, row: row - left }
    }

    /// Where the last page begins.
    pub(super) fn last_page(blocks: &dyn Blocks, (columns, rows): (usize, usize)) -> Self {
        Self { block: blocks.count(), row: 0 }.up(blocks, columns, rows.max(1))
    }

    /// The keys of every text that scrolls; none if it is another key.
    pub(super) fn key(self, key: &Key, blocks: &dyn Blocks, size: (usize, usize)) -> Option<Self> {
        let page = size.1.saturating_sub(1).max(1);
        if key.alt {
            return None;
        }
        Some(match (key.code, key.ctrl) {
            (KeyCode::Down | KeyCode::Char('j'), false) => self.down(blocks, size, 1),
            (KeyCode::Up | KeyCode::Char('k'), false) => self.up(blocks, size.0, 1),
            (KeyCode::PageDown | KeyCode::Char(' '), false) | (KeyCode::Char('f'), true) => {
                self.down(blocks, size, page)
            }
            (KeyCode::PageUp | KeyCode::Char('b'), false) | (KeyCode::Char('b'), true) => {
                self.up(blocks, size.0, page)
            }
            (KeyCode::Char('d'), true) => self.down(blocks, size, page.div_ceil(2)),
            (KeyCode::Char('u'), true) => self.up(blocks, size.0, page.div_ceil(2)),
            (KeyCode::Home | KeyCode::Char('g'), false) => Self::default(),
            (KeyCode::End | KeyCode::Char('G'), false) => Self::last_page(blocks, size),
            _ => return None,
        })
    }

    /// A screen of rows from here on, each with the block that it belongs to.
    pub(super) fn shown(
        self,
        blocks: &dyn Blocks,
        (columns, rows): (usize, usize),
    ) -> Vec<(usize, TextLine)> {
        let mut shown = Vec::new();
        // After a change of size there can be less below this place than fits.
        let from = self.min(Self::last_page(blocks, (columns, rows)));
        let mut skipped = from.row;
        for block in from.block..blocks.count() {
            let of_block = blocks.rows(block, columns);
            let skip = skipped.min(of_block.len().saturating_sub(1));
            skipped = 0;
            for row in of_block.into_iter().skip(skip) {
                if shown.len() >= rows {
                    return shown;
                }
                shown.push((block, row));
            }
        }
        shown
    }
}
