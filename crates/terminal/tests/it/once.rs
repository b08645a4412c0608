//! Every finished line is in the terminal exactly once and in order, and nothing is left of any live region: in a terminal
//! that cuts its rows, in two that reflow them, whatever the person does with their size.

use posse_terminal::{Region, Screen, TextLine, Theme};

use super::emulator::{Emulator, Vt100};
use super::story::{
    LINES, Resized, assert_begun, assert_no_ghost, assert_whole, finished, harsh, packed, play, usual,
};
use super::tmux::Tmux;
use super::xterm::Xterm;

const COLUMNS: [u16; 3] = [40, 80, 200];

#[test]
fn in_a_terminal_that_cuts_rows() {
    for (columns, is_joined) in COLUMNS.into_iter().zip([false, true, false]) {
        let mut terminal = Vt100::new(columns, 24);
        play(&mut terminal, (columns, 24), &[], is_joined);
        let all: String = (0..LINES).map(|number| packed(&finished(number).text())).collect();
        assert_eq!(packed(&terminal.lines().concat()), all);
        let at_once: Vec<_> =
            usual(columns).into_iter().map(|resized| Resized { late: 0, ..resized }).collect();
        // Where rows are cut, a number can be read only as long as there is room for it.
        let readable =
            |resized: Resized| Resized { size: (resized.size.0.max(7), resized.size.1), ..resized };
        for resizes in [at_once, harsh().into_iter().map(readable).collect()] {
            let mut terminal = Vt100::new(columns, 24);
            play(&mut terminal, (columns, 24), &resizes, is_joined);
            let lines = terminal.lines();
            assert_no_ghost(&lines);
            assert_begun(&lines);
        }
        // This terminal cannot switch autowrap off. So rows that are drawn before it is known to be narrower take
        // more rows than they should, and some stay; but no finished line is lost.
        let mut terminal = Vt100::new(columns, 24);
        play(&mut terminal, (columns, 24), &usual(columns), is_joined);
        assert_begun(&terminal.lines());
    }
}

#[test]
fn in_xterm_js() {
    for columns in COLUMNS {
        for resizes in [usual(columns), harsh()] {
            let mut terminal = Xterm::new(columns, 24);
            play(&mut terminal, (columns, 24), &resizes, true);
            assert_whole(&terminal.lines());
        }
    }
}

#[test]
fn in_xterm_js_that_was_not_recognised() {
    let mut terminal = Xterm::new(80, 24);
    play(&mut terminal, (80, 24), &usual(80), false);
    assert_begun(&terminal.lines());
}

#[test]
fn in_tmux() {
    for (columns, is_joined) in COLUMNS.into_iter().flat_map(|columns| [(columns, false), (columns, true)]) {
        let mut terminal = Tmux::new(columns, 24);
        play(&mut terminal, (columns, 24), &usual(columns), is_joined);
        assert_whole(&terminal.lines());
    }
}

#[test]
fn in_tmux_when_the_region_does_not_fit_any_more() {
    let mut terminal = Tmux::new(80, 24);
    play(&mut terminal, (80, 24), &harsh(), false);
    assert_begun(&terminal.lines());
}

#[test]
fn in_tmux_at_the_top_of_the_screen() {
    let mut terminal = Tmux::new(80, 24);
    let mut screen = Screen::new(80, 24, Theme::Dark);
    let region = |rows: usize| Region { lines: vec![TextLine::plain("~ row"); rows], cursor: None };
    for rows in [5, 0, 3, 23] {
        terminal.write(&screen.frame(&[], &region(rows)));
        terminal.resize(100, 24);
        screen.resize(100, 24);
        terminal.write(&screen.frame(&[], &region(rows / 2)));
    }
    terminal.write(&screen.frame(&[TextLine::plain("first")], &region(5)));
    terminal.write(&screen.leave());
    let lines = terminal.lines();
    assert_eq!(
        lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()).collect::<Vec<_>>(),
        ["first"]
    );
    assert_eq!(lines.iter().position(|line| line.starts_with("first")), Some(0));
}

/// A person opens a full-screen view on the alternate screen, resizes the terminal there, and comes back.
fn behind_a_full_screen_view(is_joined: bool, make: fn() -> Box<dyn Emulator>) {
    for above in [3, 12, 60] {
        for (columns, rows) in [(40, 24), (120, 30), (80, 12), (50, 40)] {
            let mut terminal = make();
            let mut screen = Screen::new(80, 24, Theme::Dark);
            screen.join_rows(is_joined);
            let region = Region { lines: vec![TextLine::plain(&"~ row ".repeat(12)); 4], cursor: None };
            let lines: Vec<_> = (0..above).map(finished).collect();
            terminal.write(&screen.frame(&lines, &region));
            terminal.write(b"\x1b[?1049h\x1b[2J\x1b[10;10Ha view");
            terminal.resize(columns, rows);
            terminal.write(b"\x1b[2J\x1b[4;4Hthe same view\x1b[?1049l");
            screen.resize(columns, rows);
            terminal.write(&screen.frame(&[finished(above)], &region));
            terminal.write(&screen.leave());
            let found = terminal.lines();
            let numbers: Vec<_> = found.iter().filter_map(|line| line.strip_prefix('#')?.get(..4)).collect();
            let expected: Vec<_> = (0..=above).map(|number| format!("{number:04}")).collect();
            assert_eq!(numbers, expected, "{columns}x{rows}");
            assert_no_ghost(&found);
        }
    }
}

#[test]
fn behind_a_full_screen_view_in_every_terminal() {
    behind_a_full_screen_view(false, || Box::new(Vt100::new(80, 24)));
    behind_a_full_screen_view(true, || Box::new(Xterm::new(80, 24)));
    behind_a_full_screen_view(false, || Box::new(Tmux::new(80, 24)));
}
