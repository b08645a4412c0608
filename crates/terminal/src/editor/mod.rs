//! The text that a person writes: several lines, a cursor between grapheme clusters, the keys of readline, undo, and chips
//! for what is too large to be shown. Must not know what is done with the text.

mod bindings;
mod chips;
mod clusters;
mod kills;
mod layout;
mod undo;

use std::ops::Range;

use posse_protocol::words;

pub use self::chips::Chip;
use self::chips::{ChipRow, is_mark};
use self::kills::KillRing;
use self::layout::Layout;
use self::undo::{TextChange, UndoSteps};
use crate::limits::{EDITOR_BYTES_MAX, PASTE_SHOWN_CHARS_MAX, PASTE_SHOWN_LINES_MAX, SUBMISSION_BYTES_MAX};
use crate::{PastedText, TextLine};

/// What the last key did, for keys that go on from there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum LastKey {
    #[default]
    Other,
    /// Cut something out: the next cut joins it.
    Kill,
    /// Put back what was cut out; here it is.
    Yank(Range<usize>),
    /// Went up or down, from this column.
    Vertical(usize),
}

/// A text that is being written.
#[derive(Clone, Debug, Default)]
pub struct Editor {
    /// The text; chips are single characters in it.
    text: String,
    /// Always between clusters.
    cursor: usize,
    chips: ChipRow,
    undo: UndoSteps,
    kills: KillRing,
    last: LastKey,
    /// Columns of a row, for going up and down.
    width: usize,
}

/// A text that is finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submission {
    /// The text. The texts of chips are in their places; a file's label stands for it.
    pub text: String,
    /// The paths of files that go along, in their order, each once.
    pub files: Vec<String>,
}

/// A text that was put aside, with its chips and its cursor.
#[derive(Clone, Debug, Default)]
pub struct EditorDraft {
    text: String,
    cursor: usize,
    chips: ChipRow,
}

/// The rows of an editor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditorRows {
    /// All rows; at least one.
    pub rows: Vec<TextLine>,
    /// The row and the column of the cursor, counted from 0. It is always inside.
    pub cursor: (usize, usize),
}

/// The rows of an editor around its cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditorWindow {
    /// The rows that are shown; at least one.
    pub rows: Vec<TextLine>,
    /// The row among those, and the column, of the cursor.
    pub cursor: (usize, usize),
    /// How many rows are above them.
    pub above: usize,
    /// How many rows are below them.
    pub below: usize,
}

impl Editor {
    /// An editor without text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there is no text and no chip.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether there is nothing but spaces.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The text as it is seen, with the labels of its chips.
    pub fn text(&self) -> String {
        self.seen(&self.text)
    }

    /// Where the cursor is in [`text`](Self::text), in bytes.
    pub fn cursor(&self) -> usize {
        self.seen(&self.text[..self.cursor]).len()
    }

    /// The text with the texts of its chips: what [`submit`](Self::submit) would give.
    pub fn expanded(&self) -> String {
        self.chips.written(&self.text, |(label, chip)| match chip {
            Chip::Text(text) => text,
            Chip::File(_) => label,
        })
    }

    /// Whether a chip is in it.
    pub fn has_chips(&self) -> bool {
        self.text.contains(is_mark)
    }

    /// Puts text before the cursor, as far as there is room for it.
    pub fn insert(&mut self, text: &str) {
        self.last = LastKey::Other;
        self.undo.close();
        self.put(&chips::plain(text), false);
    }

    /// Puts a chip before the cursor: one element with a label. Says whether there was room.
    pub fn insert_chip(&mut self, label: &str, value: Chip) -> bool {
        self.last = LastKey::Other;
        self.undo.close();
        if self.text.len() + char::MAX.len_utf8() > EDITOR_BYTES_MAX {
            return false;
        }
        self.forget_chips();
        let Some(mark) = self.chips.add(label, value) else { return false };
        let before = self.text.len();
        self.put(mark.encode_utf8(&mut [0; 4]), false);
        self.text.len() > before
    }

    /// Puts pasted text before the cursor: as it is, or as a chip where it is long. Says whether there was room.
    pub fn paste(&mut self, pasted: &PastedText) -> bool {
        let text = &pasted.text;
        let lines = text.lines().count();
        let has_many_chars = text.chars().nth(PASTE_SHOWN_CHARS_MAX).is_some();
        if lines <= PASTE_SHOWN_LINES_MAX && !has_many_chars {
            let room = EDITOR_BYTES_MAX - self.text.len();
            self.insert(text);
            return text.len() <= room;
        }
        let size = if lines > PASTE_SHOWN_LINES_MAX {
            words::counted(lines as u64, "line")
        } else {
            words::counted(text.chars().count() as u64, "character")
        };
        let cut = if pasted.dropped_bytes > 0 { ", cut off" } else { "" };
        self.insert_chip(&format!("[pasted {size}{cut}]"), Chip::Text(text.clone()))
    }

    /// Replaces the text; the cursor is at its end. Text that is too long to be edited becomes a chip.
    pub fn set_text(&mut self, text: &str) {
        self.clear();
        if text.len() <= EDITOR_BYTES_MAX {
            self.insert(text);
        } else {
            let label = format!("[{}]", words::counted(text.lines().count() as u64, "line"));
            self.insert_chip(&label, Chip::Text(text.to_owned()));
        }
    }

    /// Removes the text. That can be taken back.
    pub fn clear(&mut self) {
        self.last = LastKey::Other;
        self.undo.close();
        self.splice(0..self.text.len(), "", false);
    }

    /// Replaces what is between a place in [`text`](Self::text) and the cursor, for example by a completed word.
    pub fn complete(&mut self, start: usize, with: &str) {
        self.last = LastKey::Other;
        self.undo.close();
        let mut seen = 0;
        let is_before = |(_, c): &(usize, char)| {
            seen += if is_mark(*c) { self.chips.label(*c).len() } else { c.len_utf8() };
            seen <= start
        };
        let before = self.text[..self.cursor].char_indices().take_while(is_before).last();
        let start = before.map_or(0, |(at, c)| at + c.len_utf8());
        let with = chips::plain(with);
        if self.text.len() + with.len() <= EDITOR_BYTES_MAX {
            self.splice(start..self.cursor, &with, false);
        }
    }

    /// A backslash before the cursor becomes the end of the line. Says whether there was one.
    pub fn continue_line(&mut self) -> bool {
        let has_backslash = self.text[..self.cursor].ends_with('\\');
        if has_backslash {
            self.last = LastKey::Other;
            self.undo.close();
            self.splice(self.cursor - 1..self.cursor, "\n", false);
        }
        has_backslash
    }

    /// Gives the finished text and starts anew. What was cut out can still be put back.
    pub fn submit(&mut self) -> Submission {
        let text = self.expanded();
        let mut files: Vec<String> = Vec::new();
        for (_, chip) in self.text.chars().filter_map(|c| self.chips.get(c)) {
            if let Chip::File(path) = chip
                && !files.contains(path)
            {
                files.push(path.clone());
            }
        }
        self.begin(String::new(), 0);
        self.forget_chips();
        Submission { text, files }
    }

    /// Puts the text aside with its chips and starts anew.
    pub fn put_aside(&mut self) -> EditorDraft {
        self.kills.drop_if(|text| text.contains(is_mark));
        let (text, chips) = (std::mem::take(&mut self.text), std::mem::take(&mut self.chips));
        let draft = EditorDraft { text, cursor: self.cursor, chips };
        self.begin(String::new(), 0);
        draft
    }

    /// Takes up a text that was put aside.
    pub fn take_up(&mut self, draft: EditorDraft) {
        self.kills.drop_if(|text| text.contains(is_mark));
        self.chips = draft.chips;
        self.begin(draft.text, draft.cursor);
    }

    /// How many columns rows have when keys go up and down.
    pub fn set_width(&mut self, width: usize) {
        self.width = width;
    }

    /// All rows in a width.
    pub fn rows(&self, width: usize) -> EditorRows {
        let window = self.window(width, usize::MAX);
        EditorRows { rows: window.rows, cursor: window.cursor }
    }

    /// At most so many rows in a width, around the cursor.
    pub fn window(&self, width: usize, rows_max: usize) -> EditorWindow {
        let rows_max = rows_max.max(1);
        let layout = Layout::new(&self.text, &self.chips, width, self.cursor);
        let (row, column) = layout.place(self.cursor);
        let last_top = layout.rows.len().saturating_sub(rows_max);
        let above = row.saturating_sub(rows_max / 2).min(last_top);
        let shown: Vec<_> = layout.rows[above..].iter().take(rows_max).collect();
        EditorWindow {
            below: layout.rows.len() - above - shown.len(),
            rows: shown.into_iter().map(|row| layout.shown(row)).collect(),
            cursor: (row - above, column),
            above,
        }
    }

    fn seen(&self, text: &str) -> String {
        self.chips.written(text, |(label, _)| label)
    }

    fn begin(&mut self, text: String, cursor: usize) {
        (self.text, self.cursor) = (text, cursor);
        (self.undo, self.last) = (UndoSteps::default(), LastKey::Other);
    }

    fn forget_chips(&mut self) {
        let texts = std::iter::once(self.text.as_str()).chain(self.undo.texts()).chain(self.kills.texts());
        self.chips.keep(texts);
    }

    /// Puts text before the cursor, as far as there is room.
    fn put(&mut self, text: &str, is_typing: bool) {
        let mut end = text.len().min(EDITOR_BYTES_MAX.saturating_sub(self.text.len()));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];
        let expanded = || self.chips.expanded_bytes(&self.text) + self.chips.expanded_bytes(text);
        if text.contains(is_mark) && expanded() > SUBMISSION_BYTES_MAX {
            return;
        }
        self.splice(self.cursor..self.cursor, text, is_typing);
    }

    /// Makes a change; the cursor is behind it.
    fn splice(&mut self, range: Range<usize>, with: &str, is_typing: bool) {
        if range.is_empty() && with.is_empty() {
            return;
        }
        self.undo.push(TextChange {
            at: range.start,
            removed: self.text[range.clone()].to_owned(),
            inserted: with.to_owned(),
            cursor_before: self.cursor,
            is_typing,
        });
        let cursor = range.start + with.len();
        self.text.replace_range(range, with);
        self.cursor = clusters::boundary(&self.text, cursor);
    }
}
