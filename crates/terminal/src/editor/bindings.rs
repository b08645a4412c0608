//! What keys do to the text: those of readline and of other editors.

use std::ops::Range;

use super::clusters::{self, WordKind};
use super::layout::Layout;
use super::{Editor, LastKey};
use crate::limits::{EDITOR_BYTES_MAX, SUBMISSION_BYTES_MAX};
use crate::{Key, KeyCode};

/// Columns of a row when nobody said how many.
const USUAL_WIDTH: usize = 80;

/// What a key does.
#[derive(Clone, Copy)]
enum Action {
    Type(char),
    Newline,
    /// Moves to a place.
    Move(fn(&Editor) -> usize),
    /// Removes up to a place.
    Remove(fn(&Editor) -> usize),
    /// Cuts out up to a place.
    Cut(fn(&Editor) -> usize),
    Up,
    Down,
    Yank,
    Turn,
    Swap,
    Undo,
    Redo,
}

impl Editor {
    /// Does what a key does. Says whether it was a key of the editor: Up in the first row, Down in the last one, and Ctrl+D
    /// without text are not.
    pub fn key(&mut self, key: &Key) -> bool {
        let Some(action) = action(key) else { return false };
        if *key == Key::ctrl('d') && self.text.is_empty() {
            return false;
        }
        let last = std::mem::take(&mut self.last);
        if !matches!(action, Action::Type(_)) {
            self.undo.close();
        }
        match action {
            Action::Type(c) => self.put(&super::chips::plain(c.encode_utf8(&mut [0; 4])), true),
            Action::Newline => self.put("\n", false),
            Action::Move(to) => self.cursor = to(self),
            Action::Remove(to) => {
                let range = self.range_to(to(self));
                self.splice(range, "", false);
            }
            Action::Cut(to) => self.cut(to(self), last == LastKey::Kill),
            Action::Up => return self.vertical(&last, -1),
            Action::Down => return self.vertical(&last, 1),
            Action::Yank => self.yank(),
            Action::Turn => self.turn(last),
            Action::Swap => self.swap(),
            Action::Undo => self.take_back(),
            Action::Redo => self.make_again(),
        }
        true
    }

    fn range_to(&self, position: usize) -> Range<usize> {
        position.min(self.cursor)..position.max(self.cursor)
    }

    fn cut(&mut self, to: usize, joins: bool) {
        let range = self.range_to(to);
        self.kills.push(&self.text[range.clone()], joins, to < self.cursor);
        self.splice(range, "", false);
        self.last = LastKey::Kill;
    }

    /// Goes to another row, in the column where going up or down began.
    fn vertical(&mut self, last: &LastKey, by: isize) -> bool {
        let width = if self.width == 0 { USUAL_WIDTH } else { self.width };
        let layout = Layout::new(&self.text, &self.chips, width, self.cursor);
        let (row, column) = layout.place(self.cursor);
        let column = if let LastKey::Vertical(column) = last { *column } else { column };
        let Some(row) = row.checked_add_signed(by).filter(|row| *row < layout.rows.len()) else {
            return false;
        };
        self.cursor = layout.position(row, column);
        self.last = LastKey::Vertical(column);
        true
    }

    fn yank(&mut self) {
        let Some(text) = self.kills.newest().map(str::to_owned) else { return };
        let (start, length) = (self.cursor, self.text.len());
        self.put(&text, false);
        self.last = LastKey::Yank(start..start + self.text.len() - length);
    }

    /// Replaces what was just put back by what was cut out before it.
    fn turn(&mut self, last: LastKey) {
        let LastKey::Yank(range) = last else { return };
        self.kills.turn();
        let text = self.kills.newest().unwrap_or_default().to_owned();
        let expanded = self.chips.expanded_bytes(&self.text) + self.chips.expanded_bytes(&text);
        if self.text.len() - range.len() + text.len() > EDITOR_BYTES_MAX || expanded > SUBMISSION_BYTES_MAX {
            return;
        }
        let start = range.start;
        self.splice(range, &text, false);
        self.last = LastKey::Yank(start..start + text.len());
    }

    /// Exchanges the clusters before and after the cursor; at the end of a line, the last two.
    fn swap(&mut self) {
        let end = if self.cursor == clusters::line_end(&self.text, self.cursor) {
            self.cursor
        } else {
            clusters::after(&self.text, self.cursor)
        };
        let begin = clusters::line_start(&self.text, self.cursor);
        if end == begin {
            return;
        }
        let middle = clusters::before(&self.text, end);
        if middle == begin {
            return;
        }
        let start = clusters::before(&self.text, middle);
        let swapped = [&self.text[middle..end], &self.text[start..middle]].concat();
        self.splice(start..end, &swapped, false);
    }

    fn take_back(&mut self) {
        if let Some(change) = self.undo.undo() {
            self.text.replace_range(change.at..change.at + change.inserted.len(), &change.removed);
            self.cursor = clusters::boundary(&self.text, change.cursor_before);
        }
    }

    fn make_again(&mut self) {
        if let Some(change) = self.undo.redo() {
            self.text.replace_range(change.at..change.at + change.removed.len(), &change.inserted);
            self.cursor = clusters::boundary(&self.text, change.at + change.inserted.len());
        }
    }
}

fn action(key: &Key) -> Option<Action> {
    if let Some(c) = key.typed() {
        return Some(Action::Type(c));
    }
    match key.code {
        KeyCode::Char(c) if key.ctrl && key.alt => match c {
            'h' => Some(Action::Cut(letters_before)),
            _ => None,
        },
        KeyCode::Char(c) if key.ctrl => with_ctrl(c, key.shift),
        KeyCode::Char(c) => with_alt(c, key.shift),
        code => named(code, key),
    }
}

fn with_ctrl(c: char, shift: bool) -> Option<Action> {
    Some(match c {
        'a' => Action::Move(line_start),
        'e' => Action::Move(line_end),
        'b' => Action::Move(before),
        'f' => Action::Move(after),
        'p' => Action::Up,
        'n' => Action::Down,
        'h' => Action::Remove(before),
        'd' => Action::Remove(after),
        'w' => Action::Cut(word_before),
        'k' => Action::Cut(rest_of_line),
        'u' => Action::Cut(line_so_far),
        'y' => Action::Yank,
        't' => Action::Swap,
        'j' => Action::Newline,
        // Terminals that do not know the keyboard's layout say Ctrl+Shift+- for Ctrl+_.
        '_' | '/' => Action::Undo,
        '-' if shift => Action::Undo,
        _ => return None,
    })
}

fn with_alt(c: char, shift: bool) -> Option<Action> {
    Some(match c {
        'b' => Action::Move(letters_before),
        'f' => Action::Move(letters_after),
        'd' => Action::Cut(letters_after),
        'y' => Action::Turn,
        '<' => Action::Move(|_| 0),
        '>' => Action::Move(|editor| editor.text.len()),
        '_' => Action::Redo,
        '-' if shift => Action::Redo,
        _ => return None,
    })
}

fn named(code: KeyCode, key: &Key) -> Option<Action> {
    let by_word = key.ctrl || key.alt;
    Some(match code {
        KeyCode::Left if by_word => Action::Move(letters_before),
        KeyCode::Right if by_word => Action::Move(letters_after),
        KeyCode::Left => Action::Move(before),
        KeyCode::Right => Action::Move(after),
        KeyCode::Up if !by_word => Action::Up,
        KeyCode::Down if !by_word => Action::Down,
        KeyCode::Home if key.ctrl => Action::Move(|_| 0),
        KeyCode::End if key.ctrl => Action::Move(|editor| editor.text.len()),
        KeyCode::Home => Action::Move(line_start),
        KeyCode::End => Action::Move(line_end),
        KeyCode::Backspace if by_word => Action::Cut(letters_before),
        KeyCode::Backspace => Action::Remove(before),
        KeyCode::Delete if by_word => Action::Cut(letters_after),
        KeyCode::Delete => Action::Remove(after),
        KeyCode::Enter if key.shift || key.alt => Action::Newline,
        _ => return None,
    })
}

fn before(editor: &Editor) -> usize {
    clusters::before(&editor.text, editor.cursor)
}

fn after(editor: &Editor) -> usize {
    clusters::after(&editor.text, editor.cursor)
}

fn line_start(editor: &Editor) -> usize {
    clusters::line_start(&editor.text, editor.cursor)
}

fn line_end(editor: &Editor) -> usize {
    clusters::line_end(&editor.text, editor.cursor)
}

fn letters_before(editor: &Editor) -> usize {
    clusters::word_before(&editor.text, editor.cursor, WordKind::Letters)
}

fn letters_after(editor: &Editor) -> usize {
    clusters::word_after(&editor.text, editor.cursor, WordKind::Letters)
}

fn word_before(editor: &Editor) -> usize {
    clusters::word_before(&editor.text, editor.cursor, WordKind::Spaced)
}

/// The end of the line; there, the end of its line end.
fn rest_of_line(editor: &Editor) -> usize {
    let end = line_end(editor);
    if end == editor.cursor { after(editor) } else { end }
}

/// The beginning of the line; there, the beginning of the line end before it.
fn line_so_far(editor: &Editor) -> usize {
    let start = line_start(editor);
    if start == editor.cursor { before(editor) } else { start }
}
