//! The tree of a session's agents, drawn again and again in the same place of the terminal.

use std::io;

use posse_view::SessionView;

use super::block::{Block, Line};
use super::terminal::Terminal;
use super::tree;
use crate::limits::TICK_MS;
use crate::output::{Style, columns, counted, now_ms};

/// A tree at the bottom of the terminal.
pub(crate) struct LiveTree {
    terminal: Terminal,
    block: Block,
    drawn_at_ms: u64,
}

impl LiveTree {
    /// On this process's terminal; none where there is none to draw on.
    pub(crate) fn of_terminal() -> Option<Self> {
        let terminal = Terminal::of_process();
        let draws = terminal.spins && terminal.streams;
        draws.then(|| Self { terminal, block: Block::default(), drawn_at_ms: 0 })
    }

    /// Draws it, unless that was done a moment ago: then the next tick does.
    pub(crate) fn draw_sometimes(&mut self, view: &SessionView) -> io::Result<()> {
        if now_ms().saturating_sub(self.drawn_at_ms) < TICK_MS { Ok(()) } else { self.draw(view) }
    }

    /// Draws as much of it as fits.
    pub(crate) fn draw(&mut self, view: &SessionView) -> io::Result<()> {
        self.drawn_at_ms = now_ms();
        let (width, height) = self.terminal.size();
        let text = |style| tree::agents(style, view, width.saturating_sub(1), self.drawn_at_ms);
        let (painted, plain) = (text(self.terminal.style), text(Style::plain()));
        let lines = painted.lines().zip(plain.lines());
        let mut lines = lines
            .map(|(painted, plain)| Line { painted: painted.to_string(), columns: columns(plain) })
            .collect::<Vec<_>>();
        let room = height.saturating_sub(1).max(1);
        if lines.len() > room {
            let left = counted((lines.len() - room + 1) as u64, "more line");
            lines.truncate(room - 1);
            lines.push(Line { columns: columns(&left) + 2, painted: format!("… {left}") });
        }
        self.block.draw(&lines, width, self.terminal.block())
    }

    /// Leaves all of it on the screen.
    pub(crate) fn finish(&mut self, view: &SessionView) -> io::Result<()> {
        let (width, _) = self.terminal.size();
        self.block.clear(width, self.terminal.block())?;
        let text = tree::agents(self.terminal.style, view, width.saturating_sub(1), now_ms());
        self.terminal.aside(&text)
    }
}
