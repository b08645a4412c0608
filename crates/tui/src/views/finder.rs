//! Searching in a text while it is shown: the text is found as it is typed, small and capital letters count as the same
//! unless a capital one is typed.

use posse_terminal::{Editor, Ink, Key, KeyCode, Look, TextLine};

use super::input::{input_line, pasted_into, typed_into};
use super::scroll::{Blocks, Place};

/// A search.
#[derive(Debug, Default)]
pub(super) struct Finder {
    /// What is being typed.
    typing: Option<Box<Editor>>,
    /// What is looked for; empty for nothing.
    needle: String,
    /// The blocks it is in.
    blocks: Vec<usize>,
    /// Where it was found last.
    at: Option<Place>,
    /// Where the search began.
    from: Place,
}

/// What a key came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FinderStep {
    /// The key is not for the search.
    Other,
    /// The search has changed; the place stays.
    Stay,
    /// It is found here, or the search goes back to where it began.
    Go(Place),
}

impl Finder {
    /// Whether something is looked for.
    pub(super) fn is_on(&self) -> bool {
        !self.needle.is_empty()
    }

    /// Looks no more.
    pub(super) fn stop(&mut self) {
        *self = Self::default();
    }

    /// A key, while the text is shown from a place on.
    pub(super) fn key(&mut self, key: &Key, blocks: &dyn Blocks, place: Place, columns: usize) -> FinderStep {
        if self.typing.is_some() {
            return self.type_key(key, blocks, columns);
        }
        let plain = !key.ctrl && !key.alt;
        match key.code {
            KeyCode::Char('/') if plain => {
                *self = Self { typing: Some(Box::default()), from: place, ..Self::default() };
                FinderStep::Stay
            }
            KeyCode::Char('n') if plain && self.is_on() => self.next(blocks, columns),
            KeyCode::Char('N') if plain && self.is_on() => self.previous(blocks, columns),
            _ => FinderStep::Other,
        }
    }

    /// Text was pasted while the search is typed. The next key goes to where it is found.
    pub(super) fn paste(&mut self, text: &str) {
        if let Some(editor) = &mut self.typing {
            pasted_into(editor, text);
        }
    }

    fn type_key(&mut self, key: &Key, blocks: &dyn Blocks, columns: usize) -> FinderStep {
        match key.code {
            KeyCode::Enter => {
                let step = self.look(blocks, columns);
                self.typing = None;
                return step;
            }
            KeyCode::Escape => {
                let from = self.from;
                self.stop();
                return FinderStep::Go(from);
            }
            _ => {}
        }
        if let Some(editor) = &mut self.typing {
            typed_into(editor, key);
        }
        self.look(blocks, columns)
    }

    /// Looks for what is typed by now, from where the search began.
    fn look(&mut self, blocks: &dyn Blocks, columns: usize) -> FinderStep {
        let needle = self.typing.as_ref().map(|editor| editor.text()).unwrap_or_default();
        if needle == self.needle {
            return FinderStep::Stay;
        }
        self.needle = needle;
        self.refresh(blocks);
        self.at = None;
        if !self.is_on() {
            return FinderStep::Go(self.from);
        }
        let first = self.blocks.iter().find(|block| **block >= self.from.block).or(self.blocks.first());
        match first {
            Some(block) => self.go(blocks, *block, columns),
            None => FinderStep::Go(self.from),
        }
    }

    /// Looks through all blocks again: they have changed.
    pub(super) fn refresh(&mut self, blocks: &dyn Blocks) {
        self.blocks.clear();
        if self.is_on() {
            let needle = Needle::new(&self.needle);
            self.blocks.extend((0..blocks.count()).filter(|block| needle.is_in(&blocks.text(*block))));
        }
    }

    fn go(&mut self, blocks: &dyn Blocks, block: usize, columns: usize) -> FinderStep {
        let row = self.rows_with(blocks, block, columns).first().copied().unwrap_or(0);
        self.found(Place { block, row })
    }

    fn found(&mut self, place: Place) -> FinderStep {
        self.at = Some(place);
        FinderStep::Go(place)
    }

    fn rows_with(&self, blocks: &dyn Blocks, block: usize, columns: usize) -> Vec<usize> {
        let needle = Needle::new(&self.needle);
        let rows = blocks.rows(block, columns).into_iter().enumerate();
        rows.filter(|(_, row)| needle.is_in(&row.text())).map(|(at, _)| at).collect()
    }

    fn next(&mut self, blocks: &dyn Blocks, columns: usize) -> FinderStep {
        let at = self.at.unwrap_or(self.from);
        let below = self.rows_with(blocks, at.block, columns).into_iter().find(|row| *row > at.row);
        if let Some(row) = below.filter(|_| self.at.is_some()) {
            return self.found(Place { row, ..at });
        }
        match self.blocks.iter().find(|block| **block > at.block).or(self.blocks.first()) {
            Some(block) => self.go(blocks, *block, columns),
            None => FinderStep::Stay,
        }
    }

    fn previous(&mut self, blocks: &dyn Blocks, columns: usize) -> FinderStep {
        let at = self.at.unwrap_or(self.from);
        let above = self.rows_with(blocks, at.block, columns).into_iter().rfind(|row| *row < at.row);
        if let Some(row) = above {
            return self.found(Place { row, ..at });
        }
        let Some(block) =
            self.blocks.iter().rfind(|block| **block < at.block).or(self.blocks.last()).copied()
        else {
            return FinderStep::Stay;
        };
        let row = self.rows_with(blocks, block, columns).last().copied().unwrap_or(0);
        self.found(Place { block, row })
    }

    /// A row with everything marked that was looked for.
    pub(super) fn marked(&self, row: TextLine) -> TextLine {
        if self.is_on() { Needle::new(&self.needle).marked(&row) } else { row }
    }

    /// What is looked for and how often it is there; none where nothing is looked for.
    fn line(&self) -> Option<TextLine> {
        let mut line = TextLine::of("/", Look::of(Ink::Accent).bold()).with(&self.needle, Look::PLAIN);
        line.append(self.told());
        self.is_on().then_some(line)
    }

    /// How often it is there.
    fn told(&self) -> TextLine {
        let at = self.at.and_then(|at| self.blocks.iter().position(|block| *block == at.block));
        match (self.needle.is_empty(), self.blocks.len(), at) {
            (true, ..) => TextLine::default(),
            (_, 0, _) => TextLine::of("  not found", Ink::Warning),
            (_, count, Some(at)) => TextLine::of(&format!("  {} of {count}", at + 1), Ink::Quiet),
            (_, count, None) => TextLine::of(&format!("  {count} found"), Ink::Quiet),
        }
    }

    /// The bottom row while something is looked for, and the column of the cursor while it is typed.
    pub(super) fn row(&self, columns: usize) -> Option<(TextLine, Option<usize>)> {
        let Some(editor) = &self.typing else { return self.line().map(|line| (line.cut(columns), None)) };
        let count = self.told();
        let room = columns.saturating_sub(count.columns()).max(1);
        let (mut line, cursor) = input_line("/", editor, room);
        line.append(count);
        Some((line.cut(columns), Some(cursor)))
    }
}

/// What is looked for.
struct Needle {
    text: String,
    folds: bool,
}

impl Needle {
    fn new(text: &str) -> Self {
        let folds = !text.chars().any(char::is_uppercase);
        Self { text: text.to_owned(), folds }
    }

    fn is_in(&self, text: &str) -> bool {
        if self.folds { folded(text).contains(&self.text) } else { text.contains(&self.text) }
    }

    fn marked(&self, row: &TextLine) -> TextLine {
        let text = row.text();
        let text = if self.folds { folded(&text) } else { text };
        let mut found = text.match_indices(&self.text).map(|(at, part)| at..at + part.len()).peekable();
        let (mut line, mut begin) = (TextLine::default(), 0);
        for span in row.spans() {
            let end = begin + span.text().len();
            let mut at = begin;
            while at < end {
                while found.next_if(|range| range.end <= at).is_some() {}
                let (until, is_found) = match found.peek() {
                    Some(range) if range.start <= at => (range.end.min(end), true),
                    Some(range) => (range.start.min(end), false),
                    None => (end, false),
                };
                let look =
                    if is_found { Look { reverse: !span.look.reverse, ..span.look } } else { span.look };
                line.push(&span.text()[at - begin..until - begin], look);
                at = until;
            }
            begin = end;
        }
        line
    }
}

/// A text in small letters, each as long as it was.
fn folded(text: &str) -> String {
    let small = |c: char| {
        let mut lower = c.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(one), None) if one.len_utf8() == c.len_utf8() => one,
            _ => c,
        }
    };
    text.chars().map(small).collect()
}
