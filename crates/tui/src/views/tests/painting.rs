//! Rows on a terminal.

use posse_terminal::{Ink, Look};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use super::*;
use crate::views::paint::TextRows;

fn row(text: &str) -> TextLine {
    TextLine::plain(text)
}

#[test]
fn only_what_has_changed_is_written() {
    let mut screen = FullScreenTerminal::new(20, 3);
    let mut draw = |rows: &[TextLine]| {
        let mut out = Vec::new();
        screen.draw(&mut out, rows, None, Theme::Plain).unwrap();
        String::from_utf8(out).unwrap()
    };
    let first = draw(&[row("one"), row("two"), row("three")]);
    assert!(first.contains("one") && first.contains("two") && first.contains("three"));
    assert!(first.contains("\x1b[?1049h"));
    let second = draw(&[row("one"), row("tWo"), row("three")]);
    assert!(second.contains('W') && !second.contains("one") && !second.contains("three"), "{second:?}");
    assert!(!second.contains("\x1b[?1049h"));
}

#[test]
fn the_screen_is_left_without_a_trace() {
    let mut terminal = emulator(20, 4);
    terminal.process(b"before\r\n$ ");
    let before = (terminal.screen().contents_formatted(), terminal.screen().cursor_position());
    let mut full = FullScreenTerminal::new(20, 4);
    let mut out = Vec::new();
    for text in ["a", "b"] {
        full.draw(&mut out, &[row(text), row(text)], Some((1, 1)), Theme::Dark).unwrap();
        full.resize(18, 3);
    }
    terminal.process(&out);
    assert!(terminal.screen().alternate_screen());
    assert_eq!(terminal.screen().contents(), "b\nb");
    assert_eq!((terminal.screen().cursor_position(), terminal.screen().hide_cursor()), ((1, 1), false));
    let mut out = Vec::new();
    full.leave(&mut out).unwrap();
    terminal.process(&out);
    assert!(!terminal.screen().alternate_screen());
    assert_eq!((terminal.screen().contents_formatted(), terminal.screen().cursor_position()), before);
    let mut none = Vec::new();
    full.leave(&mut none).unwrap();
    assert_eq!(none, b"", "it was left already");
    // Entered again, everything is drawn again.
    let mut out = Vec::new();
    full.draw(&mut out, &[row("b"), row("b")], None, Theme::Dark).unwrap();
    terminal.process(&out);
    assert_eq!(terminal.screen().contents(), "b\nb");
    assert!(terminal.screen().hide_cursor());
}

#[test]
fn looks_arrive_as_the_theme_has_them() {
    let looks = [
        Look::PLAIN,
        Look::PLAIN.bold(),
        Look::of(Ink::Bad),
        Look::of(Ink::Quiet).italic(),
        Look::of(Ink::Agent(3)).underline(),
        Look::of(Ink::Added).reverse(),
    ];
    for theme in [Theme::Dark, Theme::Light, Theme::Ansi, Theme::Colourless, Theme::Plain] {
        let mut line = TextLine::default();
        looks.iter().for_each(|look| line.push("x", *look));
        let mut ours = emulator(20, 1);
        let mut out = Vec::new();
        FullScreenTerminal::new(20, 1).draw(&mut out, &[line.clone()], None, theme).unwrap();
        ours.process(&out);
        let mut painted = emulator(20, 1);
        painted.process(line.painted(theme).as_bytes());
        for column in 0..6 {
            let (one, other) = (ours.screen().cell(0, column), painted.screen().cell(0, column));
            let looks = |cell: Option<&vt100::Cell>| {
                let cell = cell.unwrap();
                (cell.fgcolor(), cell.bold(), cell.dim(), cell.italic(), cell.underline(), cell.inverse())
            };
            assert_eq!(looks(one), looks(other), "{theme:?} {:?}", looks(one));
        }
    }
}

#[test]
fn rows_are_a_widget() {
    let mut terminal = Terminal::new(TestBackend::new(6, 3)).unwrap();
    let rows = [row("wide: 日本"), row("ok"), row("x"), row("y")];
    terminal
        .draw(|frame| frame.render_widget(TextRows { rows: &rows, theme: Theme::Dark }, frame.area()))
        .unwrap();
    terminal.backend().assert_buffer_lines(["wide: ", "ok    ", "x     "]);
}

#[test]
fn wide_text_stays_in_its_columns() {
    let mut terminal = emulator(12, 2);
    let mut out = Vec::new();
    let rows = [row("日本語 │ end"), row("e\u{301}a │ end")];
    FullScreenTerminal::new(12, 2).draw(&mut out, &rows, None, Theme::Dark).unwrap();
    terminal.process(&out);
    assert_eq!(terminal.screen().contents(), "日本語 │ end\ne\u{301}a │ end");
}
