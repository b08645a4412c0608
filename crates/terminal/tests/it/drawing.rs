//! What single frames draw, and with how many bytes.

use posse_terminal::{Ink, Region, Screen, TextLine, Theme};

use super::emulator::{Emulator as _, Vt100};
use super::story::packed;

const COLUMNS: [u16; 3] = [40, 80, 200];
/// What a frame may write when one row changes.
const ONE_ROW_BYTES_MAX: usize = 4_096;

fn lines(texts: &[&str]) -> Vec<TextLine> {
    texts.iter().map(|text| TextLine::plain(text)).collect()
}

fn region(texts: &[&str], cursor: Option<(usize, usize)>) -> Region {
    Region { lines: lines(texts), cursor }
}

/// A terminal of ten rows with the shell's prompt in it, and the writer for it.
fn terminal(columns: u16) -> (Vt100, Screen) {
    let mut terminal = Vt100::new(columns, 10);
    terminal.write(b"$ posse\r\n");
    (terminal, Screen::new(columns, 10, Theme::Dark))
}

/// The rows of the screen down to the last one with text.
fn rows(terminal: &Vt100) -> Vec<String> {
    let mut rows = terminal.rows();
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}

#[test]
fn the_region_is_below_what_is_finished() {
    for columns in COLUMNS {
        let (mut terminal, mut screen) = terminal(columns);
        terminal.write(&screen.frame(&lines(&["one"]), &region(&["busy", "", "> hello"], Some((2, 7)))));
        assert_eq!(rows(&terminal), ["$ posse", "one", "busy", "", "> hello"]);
        assert_eq!(terminal.reversed(), [(4, 7)]);
        assert_eq!(terminal.0.screen().cursor_position(), (2, 0));
        assert!(terminal.0.screen().hide_cursor());

        terminal.write(&screen.frame(&lines(&["two", "", "three"]), &region(&["> "], Some((0, 0)))));
        assert_eq!(rows(&terminal), ["$ posse", "one", "two", "", "three", ">"]);
        assert_eq!(terminal.reversed(), [(5, 0)]);
        assert_eq!(terminal.0.screen().cursor_position(), (5, 0));

        terminal.write(&screen.leave());
        assert_eq!(rows(&terminal), ["$ posse", "one", "two", "", "three"]);
        assert_eq!(terminal.0.screen().cursor_position(), (5, 0));
        assert!(!terminal.0.screen().hide_cursor());
    }
}

#[test]
fn it_grows_and_shrinks_and_scrolls_at_the_bottom() {
    for columns in COLUMNS {
        let (mut terminal, mut screen) = terminal(columns);
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        for height in [3, 9, 2, 0, 9, 4, 5, 1] {
            terminal.write(&screen.frame(&[], &region(&names[..height], None)));
            let mut shown = rows(&terminal);
            // What scrolled away stays away.
            shown.retain(|row| row != "$ posse");
            assert_eq!(shown, names[..height]);
        }
        terminal.write(&screen.leave());
        assert_eq!(rows(&terminal), ["$ posse"]);
        assert_eq!(terminal.lines().iter().filter(|line| !line.trim().is_empty()).count(), 1);
    }
}

#[test]
fn lines_that_are_too_long_are_wrapped_when_finished_and_cut_when_alive() {
    for columns in COLUMNS {
        let (mut terminal, mut screen) = terminal(columns);
        let long = "日本x".repeat(usize::from(columns) / 4);
        terminal.write(&screen.frame(&lines(&[&long]), &region(&[&long, "> "], Some((0, 9_999)))));
        let shown = rows(&terminal);
        assert_eq!(shown.len(), 5, "{shown:?}");
        assert_eq!(packed(&terminal.lines()[1..3].concat()), long);
        assert!(shown[3].contains('…') && shown[4] == ">", "{shown:?}");
        let last = columns - 2;
        assert!(terminal.reversed().contains(&(3, last)), "{:?}", terminal.reversed());
    }
}

#[test]
fn a_frame_without_a_change_is_empty_and_one_row_costs_little() {
    for (columns, is_joined) in COLUMNS.into_iter().flat_map(|columns| [(columns, false), (columns, true)]) {
        let mut terminal = Vt100::new(columns, 60);
        let mut screen = Screen::new(columns, 60, Theme::Dark);
        screen.join_rows(is_joined);
        let rows_of = |changed: usize| -> Region {
            let row = |number: usize| {
                let text = if number == changed { "new " } else { "old " };
                TextLine::of(&text.repeat(usize::from(columns)), Ink::Accent).with("end", Ink::Bad)
            };
            Region { lines: (0..30).map(row).collect(), cursor: Some((29, 3)) }
        };
        assert!(screen.frame(&[], &Region::default()).is_empty());
        assert!(screen.leave().is_empty());
        terminal.write(&screen.frame(&[], &rows_of(99)));
        for changed in 0..30 {
            let before = terminal.rows();
            let bytes = screen.frame(&[], &rows_of(changed));
            // Two rows: this one is new, the one before it is old again.
            let [begin, end] = [&b"\x1b[?2026h\x1b[?25l"[..], b"\x1b[?2026l"];
            assert!(bytes.starts_with(begin) && bytes.ends_with(end));
            assert!(bytes.len() < ONE_ROW_BYTES_MAX, "{}", bytes.len());
            terminal.write(&bytes);
            assert!(screen.frame(&[], &rows_of(changed)).is_empty());
            let after = terminal.rows();
            assert!(after[changed].starts_with("new") && before[changed].starts_with("old"));
            assert_eq!(after.iter().filter(|row| row.starts_with("old")).count(), 29);
        }
    }
}

#[test]
fn other_colours_and_another_program_draw_it_again() {
    let (mut terminal, mut screen) = terminal(80);
    let shown = Region { lines: vec![TextLine::of("busy", Ink::Bad), "> ".into()], cursor: None };
    terminal.write(&screen.frame(&[], &shown));
    screen.set_theme(Theme::Light);
    let bytes = String::from_utf8(screen.frame(&[], &shown)).unwrap();
    assert!(bytes.contains("\x1b[38;5;124mbusy") && !bytes.contains('>'), "{bytes:?}");
    terminal.write(bytes.as_bytes());

    terminal.write(&screen.leave());
    terminal.write(b"an editor\r\nhalf");
    screen.forget();
    terminal.write(&screen.frame(&[], &shown));
    assert_eq!(rows(&terminal), ["$ posse", "an editor", "busy", ">"]);

    terminal.write(b"\x1b[?1049h\x1b[2J\x1b[5;5Ha full screen\x1b[?1049l");
    screen.forget();
    terminal.write(&screen.frame(&lines(&["done"]), &shown));
    assert_eq!(rows(&terminal), ["$ posse", "an editor", "done", "busy", ">"]);
}

#[test]
fn a_region_that_is_too_tall_shows_its_cursor_or_its_end() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    let cases = [
        (4, None, "ijk"),
        (4, Some((10, 0)), "ijk"),
        (4, Some((9, 0)), "ijk"),
        (4, Some((2, 0)), "cde"),
        (4, Some((0, 0)), "abc"),
        (4, Some((99, 0)), "ijk"),
        (2, None, "k"),
        (1, Some((0, 0)), ""),
        (0, Some((0, 0)), ""),
    ];
    assert_eq!(cases.len(), 9);
    for (rows_max, cursor, want) in cases {
        let mut terminal = Vt100::new(80, 10);
        let mut screen = Screen::new(80, rows_max, Theme::Dark);
        terminal.write(&screen.frame(&[], &region(&names, cursor)));
        assert_eq!(rows(&terminal).concat(), want, "{rows_max} {cursor:?}");
    }
}

#[test]
fn a_terminal_that_becomes_shorter_unnoticed_loses_nothing() {
    for columns in COLUMNS {
        let (mut terminal, mut screen) = terminal(columns);
        let mut texts = ["a", "b", "c", "d", "e"];
        terminal.write(&screen.frame(&lines(&["one", "two", "three", "four"]), &region(&texts, None)));
        terminal.resize(columns, 7);
        texts[4] = "f";
        terminal.write(&screen.frame(&[], &region(&texts, None)));
        terminal.write(&screen.frame(&[], &region(&texts[..4], None)));
        screen.resize(columns, 7);
        terminal.write(&screen.frame(&lines(&["five"]), &region(&["> "], None)));
        let all: Vec<_> = terminal.lines().iter().map(|row| row.trim_end().to_owned()).collect();
        assert_eq!(all[..7], ["$ posse", "one", "two", "three", "four", "five", ">"]);
        assert!(all[7..].iter().all(String::is_empty));
    }
}
