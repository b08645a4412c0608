//! The views as people use them: keys in, steps out, and what is on the screen.

mod pager;
mod painting;
mod picker;
mod random;
pub(crate) mod sample;
mod transcript;
mod work;

use std::num::NonZero;

use posse_terminal::{Key, KeyCode, TextLine, Theme};
use posse_view::SessionView;

use super::{FullScreen, FullScreenTerminal, ViewStep};

/// When the views are looked at, in milliseconds.
const SEEN_AT: u64 = 1_000_000 + 95_000;

/// Keys as people type them: characters, and names in angle brackets.
fn keys(text: &str) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let named = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        let Some((name, after)) = named else {
            keys.push(Key::char(c));
            rest = &rest[c.len_utf8()..];
            continue;
        };
        rest = after;
        keys.push(match name {
            "enter" => KeyCode::Enter.into(),
            "esc" => KeyCode::Escape.into(),
            "up" => KeyCode::Up.into(),
            "down" => KeyCode::Down.into(),
            "pgup" => KeyCode::PageUp.into(),
            "pgdn" => KeyCode::PageDown.into(),
            "home" => KeyCode::Home.into(),
            "end" => KeyCode::End.into(),
            "tab" => KeyCode::Tab.into(),
            "backspace" => KeyCode::Backspace.into(),
            "^c" => Key::ctrl('c'),
            "^l" => Key::ctrl('l'),
            "^r" => Key::ctrl('r'),
            "^z" => Key::ctrl('z'),
            "^d" => Key::ctrl('d'),
            name => panic!("no key <{name}>"),
        });
    }
    keys
}

/// Presses keys; what the last of them came to.
fn press(view: &mut FullScreen, session: Option<&SessionView>, text: &str) -> ViewStep {
    press_in(view, session, text, (80, 24))
}

fn press_in(
    view: &mut FullScreen,
    session: Option<&SessionView>,
    text: &str,
    size: (usize, usize),
) -> ViewStep {
    let mut step = ViewStep::Stay;
    for key in keys(text) {
        step = view.key(&key, session, size, SEEN_AT);
    }
    step
}

/// The rows of a view, each checked to fit.
fn checked_rows(view: &FullScreen, session: Option<&SessionView>, size: (usize, usize)) -> Vec<TextLine> {
    let (rows, cursor) = view.rows(session, size, SEEN_AT);
    assert_eq!(rows.len(), size.1, "{size:?}");
    for row in &rows {
        assert!(row.columns() <= size.0, "{size:?}: {:?}", row.text());
    }
    if let Some((row, column)) = cursor {
        assert!(row < size.1.max(1) && column < size.0.max(1), "{size:?}: the cursor is at {row}, {column}");
    }
    rows
}

/// A terminal.
fn emulator(columns: u16, rows: u16) -> vt100::Parser {
    vt100::Parser::new(NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap(), 0)
}

/// What is on a terminal after the view was drawn.
fn screen(view: &FullScreen, session: Option<&SessionView>, size: (usize, usize)) -> String {
    checked_rows(view, session, size);
    let (columns, rows) = (u16::try_from(size.0).unwrap(), u16::try_from(size.1).unwrap());
    let mut terminal = emulator(columns, rows);
    let mut out = Vec::new();
    let (lines, cursor) = view.rows(session, size, SEEN_AT);
    FullScreenTerminal::new(columns, rows).draw(&mut out, &lines, cursor, Theme::Dark).unwrap();
    terminal.process(&out);
    assert!(terminal.screen().alternate_screen());
    terminal.screen().contents()
}

/// What is on the screen of three sizes.
fn screens(view: &FullScreen, session: Option<&SessionView>) -> String {
    let sizes = [(40, 16), (80, 24), (200, 20)];
    let shown = sizes.map(|size| format!("━━━ {} × {}\n{}\n", size.0, size.1, screen(view, session, size)));
    shown.concat()
}
