//! F1: what a session prints is in the terminal's scrollback exactly once and in order, whatever happens beside it.

use std::num::NonZeroU16;

use posse_protocol::Ending;
use posse_terminal::{Region, Screen, Theme};
use posse_tui::{ChatInput, region};

use super::support::*;

const LINES: usize = 500;

/// A chat in a terminal.
struct ChatInTerminal {
    stage: ChatStage,
    screen: Screen,
    terminal: vt100::Parser,
}

impl ChatInTerminal {
    fn new(columns: u16, rows: u16) -> Self {
        let terminal = vt100::Parser::new(size(rows), size(columns), 1_000_000);
        let stage = ChatStage::sized(columns, rows).begun();
        Self { stage, screen: Screen::new(columns, rows, Theme::Dark), terminal }
    }

    /// As the edge does it: what is finished, and the region below it.
    fn draw(&mut self) {
        let printed = self.stage.chat.take_printed();
        if self.stage.chat.full_screen().is_none() {
            self.terminal.process(&self.screen.frame(&printed, &region(&self.stage.chat)));
        }
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        self.terminal.screen_mut().set_size(size(rows), size(columns));
        self.screen.resize(columns, rows);
        self.stage.input(ChatInput::Resized { columns, rows });
    }

    /// Everything in the scrollback and on the screen.
    fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let screen = self.terminal.screen_mut();
        for offset in (0..=screen.scrollback_len()).rev() {
            screen.set_scrollback(offset);
            lines.extend(screen.rows(0, u16::MAX).take(if offset == 0 { usize::MAX } else { 1 }));
        }
        lines
    }
}

fn size(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).unwrap()
}

/// What happens beside the reply: agents come and go, views open and close, the person types, the terminal is resized.
fn beside(chat: &mut ChatInTerminal, number: usize, sizes: &[(u16, u16)]) {
    let agent = u32::try_from(number / 20).unwrap() + 2;
    match number % 20 {
        3 => chat.stage.admit(agent, 1, &format!("finder-{agent}"), "look around"),
        5 => drop(chat.stage.event(agent, started(1))),
        11 => drop(chat.stage.keys("words ")),
        13 => drop(chat.stage.keys("\x15")),
        14 => drop(chat.stage.keys("\x14")),
        16 => drop(chat.stage.keys(ESC)),
        17 => drop(chat.stage.event(agent, settled(Ending::Completed, "nothing there"))),
        19 if !sizes.is_empty() => {
            let (columns, rows) = sizes[(number / 20) % sizes.len()];
            chat.resize(columns, rows);
        }
        _ => {}
    }
}

#[test]
fn every_finished_line_is_in_the_scrollback_once() {
    let resizes: [&[(u16, u16)]; 2] = [&[], &[(60, 20), (120, 40), (40, 12), (80, 24), (200, 50), (30, 10)]];
    for (columns, sizes) in
        [40, 80, 200].into_iter().flat_map(|columns| resizes.map(|sizes| (columns, sizes)))
    {
        let mut chat = ChatInTerminal::new(columns, 24);
        let mut reply = String::new();
        for number in 0..LINES {
            let paragraph = format!("#{number:04} *some* words\n\n").replacen('#', "\\#", 1);
            let (first, second) = paragraph.split_at(number % paragraph.len());
            for piece in [first, second] {
                chat.stage.streams(piece);
                chat.draw();
            }
            reply.push_str(&paragraph);
            chat.stage.now_ms += 130;
            beside(&mut chat, number, sizes);
            chat.draw();
        }
        chat.stage.event(1, replied(&reply, 10));
        chat.draw();
        chat.terminal.process(&chat.screen.frame(&[], &Region::default()));
        chat.terminal.process(&chat.screen.leave());
        let lines = chat.lines();
        let found: Vec<_> =
            lines.iter().filter(|line| line.starts_with('#')).map(|line| &line[..5]).collect();
        let expected: Vec<_> = (0..LINES).map(|number| format!("#{number:04}")).collect();
        assert_eq!(found, expected, "{columns} columns, resized: {}", !sizes.is_empty());
        let reports = lines.iter().filter(|line| line.starts_with("✓ finder-")).count();
        assert_eq!(reports, LINES / 20);
        let ghosts =
            lines.iter().filter(|line| line.starts_with("› words") || line.contains("Esc stops")).count();
        assert_eq!(ghosts, 0, "nothing is left of the live region: {columns} columns");
    }
}
