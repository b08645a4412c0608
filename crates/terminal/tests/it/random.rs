//! Random frames and resizes, and terminals that lie about their size.

use posse_terminal::{Ink, Region, Screen, TextLine, Theme};

use super::emulator::{Emulator as _, Vt100};
use super::story::packed;

const STEPS: usize = 10_000;
const SEEDS: u64 = 4;

/// A small generator of numbers; the same seed gives the same numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % end.max(1)
    }

    fn size(&mut self, begin: usize, end: usize) -> u16 {
        u16::try_from(begin + self.below(end - begin)).unwrap()
    }

    fn text(&mut self) -> String {
        let pieces = ["word ", "日本", "e\u{301}", "\u{1b}[2J", "\t", "👩‍💻", "\u{200b}", "ﷺ", "~"];
        let count = [0, 1, 5, 60][self.below(4)];
        (0..count).map(|_| pieces[self.below(pieces.len())]).collect()
    }

    fn region(&mut self, rows_max: usize) -> Region {
        let lines = (0..self.below(rows_max)).map(|_| TextLine::of(&format!("~{}", self.text()), Ink::Good));
        let lines: Vec<_> = lines.collect();
        let cursor = [None, Some((self.below(lines.len() + 2), self.below(300)))][self.below(2)];
        Region { lines, cursor }
    }
}

#[test]
fn whatever_happens_the_cursor_stays_on_the_screen() {
    for seed in 1..=SEEDS {
        let mut numbers = Numbers(seed);
        let mut terminal = Vt100::new(80, 24);
        let mut screen = Screen::new(80, 24, Theme::Dark);
        for step in 0..STEPS / usize::try_from(SEEDS).unwrap() {
            match numbers.below(12) {
                0 => {
                    let (columns, rows) = (numbers.size(1, 250), numbers.size(1, 80));
                    terminal.resize(columns, rows);
                    screen.resize(columns, rows);
                }
                1 => terminal.resize(numbers.size(1, 9), numbers.size(1, 4)),
                2 => screen.resize(numbers.size(0, 5), numbers.size(0, 65_536)),
                3 => screen.resize(numbers.size(0, 65_536), numbers.size(0, 5)),
                4 => screen.set_theme([Theme::Ansi, Theme::Plain, Theme::Light][numbers.below(3)]),
                5 if numbers.below(2) == 0 => screen.forget(),
                5 => screen.join_rows(numbers.below(2) == 0),
                6 => terminal.write(&screen.leave()),
                _ => {
                    let finished: Vec<_> =
                        (0..numbers.below(4)).map(|_| numbers.text().as_str().into()).collect();
                    let region = numbers.region(60);
                    terminal.write(&screen.frame(&finished, &region));
                    assert!(screen.frame(&[], &region).is_empty(), "seed {seed}, step {step}");
                }
            }
            let (row, column) = terminal.0.screen().cursor_position();
            let (rows, columns) = terminal.0.screen().size();
            assert!(row < rows.get() && column <= columns.get(), "seed {seed}, step {step}: {row} {column}");
        }
    }
}

#[test]
fn lines_are_there_once_where_terminals_only_become_wider() {
    for seed in 1..=SEEDS {
        let mut numbers = Numbers(seed);
        let (mut columns, mut rows) = (10, 24);
        let mut terminal = Vt100::new(columns, rows);
        let mut screen = Screen::new(columns, rows, Theme::Dark);
        let mut expected = String::new();
        for step in 0..STEPS / usize::try_from(SEEDS).unwrap() {
            if numbers.below(12) == 0 {
                (columns, rows) = (columns + numbers.size(0, 3), numbers.size(2, 60));
                terminal.resize(columns, rows);
                screen.resize(columns, rows);
            }
            let count = [0, 0, 1, 3][numbers.below(4)];
            let texts: Vec<_> =
                (0..count).map(|number| format!("#{step}.{number}{}", "x".repeat(step % 99))).collect();
            texts.iter().for_each(|text| expected.push_str(text));
            let finished: Vec<_> = texts.iter().map(|text| TextLine::plain(text)).collect();
            terminal.write(&screen.frame(&finished, &numbers.region(usize::from(rows).min(20))));
        }
        terminal.write(&screen.leave());
        let found: String = terminal.lines().iter().map(|row| packed(row)).collect();
        assert!(expected.len() > 100_000 && found == expected, "seed {seed}");
    }
}
