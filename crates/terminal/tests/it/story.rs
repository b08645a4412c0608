//! A chat as it goes: 500 finished lines, regions that grow and shrink, and a person who resizes the terminal.

use posse_terminal::{Ink, Region, Screen, TextLine, Theme};

use super::emulator::Emulator;

pub(crate) const LINES: usize = 500;
/// Stands in every row of every region, and nowhere else.
const GHOST: char = '~';

/// What the person does with the terminal, after so many finished lines.
pub(crate) struct Resized {
    pub(crate) after: usize,
    pub(crate) size: (u16, u16),
    /// How many frames are drawn before the program knows.
    pub(crate) late: usize,
}

/// Resizes that happen: narrower, wider, shorter, taller, both, to and fro, noticed at once and late.
pub(crate) fn usual(columns: u16) -> Vec<Resized> {
    let part = |percent: u16| columns * percent / 100;
    let sizes = [
        (part(90), 24, 0),
        (part(50), 24, 0),
        (part(100), 24, 1),
        (part(100), 16, 0),
        (part(60), 24, 2),
        (part(61), 24, 0),
        (part(60), 40, 0),
        (part(110), 30, 3),
        (part(55), 20, 1),
        (part(150), 24, 2),
        (part(80), 18, 3),
        (part(100), 24, 0),
    ];
    sizes
        .into_iter()
        .enumerate()
        .map(|(number, (columns, rows, late))| Resized {
            after: 60 + number * 35,
            size: (columns, rows),
            late,
        })
        .collect()
}

/// Resizes that nobody expects.
pub(crate) fn harsh() -> Vec<Resized> {
    let sizes = [(200, 50), (20, 50), (20, 3), (1, 1), (300, 60), (7, 60), (2, 2), (80, 1), (80, 24)];
    sizes
        .into_iter()
        .enumerate()
        .map(|(number, size)| Resized { after: 60 + number * 45, size, late: 0 })
        .collect()
}

/// A finished line: short, longer than any screen, with wide characters, with combining ones, or next to nothing. It has
/// one kind of combined character only: xterm.js takes one for another when it reflows a line with several.
pub(crate) fn finished(number: usize) -> TextLine {
    let rest = match number % 8 {
        0 => "x".repeat(number % 90),
        1 => "all words of a sentence ".repeat(30),
        2 => "日本語".repeat(number % 70),
        3 => "e\u{301}xo".repeat(number % 50),
        4 => String::new(),
        5 => "y".repeat(number),
        6 => format!("{}é日", "z".repeat(number % 41)),
        _ => "ok".to_owned(),
    };
    TextLine::plain(&format!("#{number:04} "))
        .with(&rest, Ink::Code)
        .with(&format!(" ${number:04}"), Ink::Quiet)
}

/// A region of at most a third of the screen, other rows and another cursor each time.
fn region(step: usize, (columns, rows): (u16, u16)) -> Region {
    let (columns, rows) = (usize::from(columns), usize::from(rows));
    let height = [1, 8, 2, 5, 8, 3, 8, 8, 8, 0, 4][step % 11].min(rows / 3);
    let row = |number: usize| match (step + number) % 4 {
        0 => TextLine::of(&format!("~{number} "), Ink::Accent).with(&"~".repeat(columns * 2), Ink::Bad),
        1 => TextLine::plain(&format!("~ {step}")),
        2 => TextLine::plain(&"~日".repeat(columns / 4)),
        _ => TextLine::plain("~ e\u{301}"),
    };
    let lines: Vec<_> = (0..height).map(row).collect();
    let cursor =
        (!step.is_multiple_of(3) && height > 0).then_some((step % height.max(1), step * 7 % columns));
    Region { lines, cursor }
}

/// Plays it all, to the moment after the program has left, with or without joined rows.
pub(crate) fn play(terminal: &mut dyn Emulator, size: (u16, u16), resizes: &[Resized], is_joined: bool) {
    let mut screen = Screen::new(size.0, size.1, Theme::Dark);
    screen.join_rows(is_joined);
    let mut known = size;
    let mut news = None;
    let mut step = 0;
    for number in 0..LINES {
        if let Some(resized) = resizes.iter().find(|resized| resized.after == number) {
            terminal.resize(resized.size.0, resized.size.1);
            news = Some((resized.late, resized.size));
        }
        // One line after the other, two at once, or two frames without a line between them.
        let batch: Vec<_> = match number % 5 {
            1 => Vec::new(),
            2 => vec![finished(number - 1), finished(number)],
            _ => vec![finished(number)],
        };
        for lines in [&batch[..], &[]] {
            match &mut news {
                Some((0, size)) => {
                    known = *size;
                    screen.resize(known.0, known.1);
                    news = None;
                }
                Some((late, _)) => *late -= 1,
                None => {}
            }
            step += 1;
            terminal.write(&screen.frame(lines, &region(step, known)));
        }
    }
    terminal.write(&screen.leave());
}

/// Every finished line is there, as one line, once and in order, and nothing else.
pub(crate) fn assert_whole(lines: &[String]) {
    let found: Vec<_> = lines.iter().map(|line| packed(line)).filter(|line| !line.is_empty()).collect();
    let expected: Vec<_> = (0..LINES).map(|number| packed(&finished(number).text())).collect();
    if let Some(at) = (0..found.len().max(LINES)).find(|at| found.get(*at) != expected.get(*at)) {
        panic!("line {at} is {:?} and not {:?}", found.get(at), expected.get(at));
    }
}

/// A text without its spaces: a wide character that does not fit into a row leaves one at its end.
pub(crate) fn packed(text: &str) -> String {
    text.replace(' ', "")
}

/// Every finished line begins once and in order, whatever else is there.
pub(crate) fn assert_begun(lines: &[String]) {
    let number = |line: &str| line.strip_prefix('#')?.get(..4)?.parse::<usize>().ok();
    let found: Vec<_> = lines.iter().filter_map(|line| number(line)).collect();
    let wrong = (0..found.len().max(LINES)).find(|at| found.get(*at) != Some(at));
    assert_eq!(wrong, None, "{:?}", &found[wrong.unwrap_or(0).min(found.len())..]);
}

/// Nothing is left of any region.
pub(crate) fn assert_no_ghost(lines: &[String]) {
    let ghosts: Vec<_> = lines.iter().filter(|line| line.contains(GHOST)).collect();
    assert!(ghosts.is_empty(), "{ghosts:#?}");
}
