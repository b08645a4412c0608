//! Every finished line is in the terminal exactly once and in order, and nothing is left of any live region: in a terminal
//! that cuts its rows, in two that reflow them, whatever the person does with their size.

use super::emulator::{Emulator, Vt100};
use super::story::{
    LINES, Resized, assert_begun, assert_no_ghost, assert_whole, finished, harsh, packed, play, usual,
};
use super::tmux::Tmux;
use super::xterm::Xterm;

const COLUMNS: [u16; 3] = [40, 80, 200];

#[test]
fn in_a_terminal_that_cuts_rows() {
    for columns in COLUMNS {
        let mut terminal = Vt100::new(columns, 24);
        play(&mut terminal, (columns, 24), &[]);
        let all: String = (0..LINES).map(|number| packed(&finished(number).text())).collect();
        assert_eq!(packed(&terminal.lines().concat()), all);
        let at_once: Vec<_> =
            usual(columns).into_iter().map(|resized| Resized { late: 0, ..resized }).collect();
        // Where rows are cut, a number can be read only as long as there is room for it.
        let readable =
            |resized: Resized| Resized { size: (resized.size.0.max(7), resized.size.1), ..resized };
        for resizes in [at_once, harsh().into_iter().map(readable).collect()] {
            let mut terminal = Vt100::new(columns, 24);
            play(&mut terminal, (columns, 24), &resizes);
            let lines = terminal.lines();
            assert_no_ghost(&lines);
            assert_begun(&lines);
        }
        // This terminal cannot switch autowrap off. So rows that are drawn before it is known to be narrower take
        // more rows than they should, and some stay; but no finished line is lost.
        let mut terminal = Vt100::new(columns, 24);
        play(&mut terminal, (columns, 24), &usual(columns));
        assert_begun(&terminal.lines());
    }
}

#[test]
fn in_xterm_js() {
    for columns in COLUMNS {
        for resizes in [usual(columns), harsh()] {
            let mut terminal = Xterm::new(columns, 24);
            play(&mut terminal, (columns, 24), &resizes);
            assert_whole(&terminal.lines());
        }
    }
}

#[test]
fn in_tmux() {
    for columns in COLUMNS {
        let mut terminal = Tmux::new(columns, 24);
        play(&mut terminal, (columns, 24), &usual(columns));
        assert_whole(&terminal.lines());
    }
}

#[test]
fn in_tmux_when_the_region_does_not_fit_any_more() {
    let mut terminal = Tmux::new(80, 24);
    play(&mut terminal, (80, 24), &harsh());
    assert_begun(&terminal.lines());
}
