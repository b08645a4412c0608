//! A line that is typed in a full-screen view.

use posse_terminal::{Editor, Ink, Key, KeyCode, Look, TextLine};

use crate::limits::PASTED_CHARS_MAX;

/// A key in a line of its own: what is typed, or one of the editor's keys. A line has no second one.
pub(super) fn typed_into(editor: &mut Editor, key: &Key) {
    if matches!(key.code, KeyCode::Enter) || (key.ctrl && key.code == KeyCode::Char('j')) {
        return;
    }
    if editor.key(key) {
        return;
    }
    if let Some(c) = key.typed() {
        editor.insert(c.encode_utf8(&mut [0; 4]));
    }
}

/// What is pasted into such a line.
pub(super) fn pasted_into(editor: &mut Editor, text: &str) {
    let text: String = text.chars().take(PASTED_CHARS_MAX).collect();
    editor.insert(&text.replace(['\n', '\r'], " "));
}

/// The line with what stands before it, the part around the cursor where it is long, and the column of the cursor.
pub(super) fn input_line(label: &str, editor: &Editor, columns: usize) -> (TextLine, usize) {
    let label = TextLine::of(label, Look::of(Ink::Accent).bold()).cut(columns.saturating_sub(2));
    let begin = label.columns();
    let window = editor.window(columns.saturating_sub(begin).max(1), 1);
    let mut line = label;
    if let Some(row) = window.rows.into_iter().next() {
        line.append(row);
    }
    (line.cut(columns), (begin + window.cursor.1).min(columns.saturating_sub(1)))
}
