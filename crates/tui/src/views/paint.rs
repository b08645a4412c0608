//! Full-screen views on a terminal: rows become the cells of ratatui's buffer, and what differs from the last frame is
//! written, on the alternate screen. What was on the screen before comes back when it is left.

use std::io::{self, Write};

use posse_terminal::{Look, TextLine, Theme};
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::{Position, Rect, Size};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Terminal;
use ratatui_core::widgets::Widget;

/// The alternate screen, without a cursor. Keys that can be told apart are asked for on each screen.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[>1u\x1b[?25l\x1b[0m\x1b[2J";
/// Back to where we came from: ordinary text, the cursor seen, the main screen.
const LEAVE: &[u8] = b"\x1b[<u\x1b[0m\x1b[?25h\x1b[?1049l";
/// What is written between these is shown at once.
const BEGIN_FRAME: &[u8] = b"\x1b[?2026h";
const END_FRAME: &[u8] = b"\x1b[?2026l";

/// Rows of text as a widget.
pub(crate) struct TextRows<'a> {
    pub(crate) rows: &'a [TextLine],
    pub(crate) theme: Theme,
}

impl Widget for TextRows<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        for (y, row) in (area.top()..area.bottom()).zip(self.rows) {
            let mut x = area.left();
            for span in row.spans() {
                let room = usize::from(area.right().saturating_sub(x));
                if room == 0 {
                    break;
                }
                (x, _) = buffer.set_stringn(x, y, span.text(), room, style(self.theme, span.look));
            }
        }
    }
}

/// The alternate screen of a terminal. It writes nothing by itself: the terminal is given with each call.
pub(crate) struct FullScreenTerminal {
    terminal: Terminal<FrameBytes>,
    entered: bool,
}

impl FullScreenTerminal {
    /// A screen of this size, which is not shown yet.
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        let bytes = FrameBytes { out: Vec::new(), size: Size::new(columns, rows) };
        let Ok(terminal) = Terminal::new(bytes);
        Self { terminal, entered: false }
    }

    /// The terminal has another size: everything is drawn again.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.terminal.backend_mut().size = Size::new(columns, rows);
    }

    /// Draws a frame: what has changed since the last one. The first enters the alternate screen.
    pub(crate) fn draw(
        &mut self,
        out: &mut impl Write,
        rows: &[TextLine],
        cursor: Option<(usize, usize)>,
        theme: Theme,
    ) -> io::Result<()> {
        if !self.entered {
            out.write_all(ENTER)?;
            self.entered = true;
        }
        let Ok(_) = self.terminal.draw(|frame| {
            let area = frame.area();
            frame.render_widget(TextRows { rows, theme }, area);
            let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
            let place = cursor.map(|(row, column)| Position::new(short(column), short(row)));
            if let Some(place) = place.filter(|place| area.contains(*place)) {
                frame.set_cursor_position(place);
            }
        });
        let bytes = std::mem::take(&mut self.terminal.backend_mut().out);
        out.write_all(BEGIN_FRAME)?;
        out.write_all(&bytes)?;
        out.write_all(END_FRAME)?;
        out.flush()
    }

    /// Draws everything with the next frame: something else has written to the terminal.
    pub(crate) fn forget(&mut self) {
        let Ok(()) = self.terminal.clear();
    }

    /// Leaves the alternate screen. The next frame would enter it again.
    pub(crate) fn leave(&mut self, out: &mut impl Write) -> io::Result<()> {
        if !std::mem::take(&mut self.entered) {
            return Ok(());
        }
        out.write_all(LEAVE)?;
        out.flush()?;
        self.forget();
        self.terminal.backend_mut().out.clear();
        Ok(())
    }
}

/// How a look is drawn, from the theme's own sequence: there is one table of colours.
fn style(theme: Theme, look: Look) -> Style {
    let sequence = theme.sequence(look);
    let codes = sequence.trim_start_matches("\x1b[").trim_end_matches('m');
    let mut codes = codes.split(';').filter_map(|code| code.parse::<u8>().ok());
    let mut style = Style::new();
    while let Some(code) = codes.next() {
        style = match code {
            1 => style.add_modifier(Modifier::BOLD),
            2 => style.add_modifier(Modifier::DIM),
            3 => style.add_modifier(Modifier::ITALIC),
            4 => style.add_modifier(Modifier::UNDERLINED),
            7 => style.add_modifier(Modifier::REVERSED),
            9 => style.add_modifier(Modifier::CROSSED_OUT),
            // The sixteen colours of the terminal are the first of its 256.
            30..=37 => style.fg(Color::Indexed(code - 30)),
            38 => match (codes.next(), codes.next()) {
                (Some(5), Some(number)) => style.fg(Color::Indexed(number)),
                _ => style,
            },
            _ => style,
        };
    }
    style
}

/// What ratatui draws, as bytes.
struct FrameBytes {
    out: Vec<u8>,
    size: Size,
}

impl FrameBytes {
    fn look(&mut self, cell: &Cell) {
        self.out.extend_from_slice(b"\x1b[0");
        let modifiers = [
            (Modifier::BOLD, 1),
            (Modifier::DIM, 2),
            (Modifier::ITALIC, 3),
            (Modifier::UNDERLINED, 4),
            (Modifier::REVERSED, 7),
            (Modifier::CROSSED_OUT, 9),
        ];
        for (_, code) in modifiers.iter().filter(|(modifier, _)| cell.modifier.contains(*modifier)) {
            self.out.extend_from_slice(format!(";{code}").as_bytes());
        }
        match cell.fg {
            Color::Indexed(number @ 0..8) => {
                self.out.extend_from_slice(format!(";{}", 30 + number).as_bytes())
            }
            Color::Indexed(number) => self.out.extend_from_slice(format!(";38;5;{number}").as_bytes()),
            _ => {}
        }
        self.out.push(b'm');
    }

    fn go(&mut self, column: u16, row: u16) {
        let sequence = format!("\x1b[{};{}H", row.saturating_add(1), column.saturating_add(1));
        self.out.extend_from_slice(sequence.as_bytes());
    }
}

impl Backend for FrameBytes {
    type Error = std::convert::Infallible;

    fn draw<'a, I>(&mut self, content: I) -> Result<(), Self::Error>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut next = None;
        let mut look = None;
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                self.go(x, y);
            }
            if look != Some((cell.fg, cell.modifier)) {
                self.look(cell);
                look = Some((cell.fg, cell.modifier));
            }
            self.out.extend_from_slice(cell.symbol().as_bytes());
            // Terminals do not agree on the width of everything else: the next cell says where it is.
            next = cell.symbol().is_ascii().then_some((x.saturating_add(1), y));
        }
        self.out.extend_from_slice(b"\x1b[0m");
        Ok(())
    }

    fn hide_cursor(&mut self) -> Result<(), Self::Error> {
        self.out.extend_from_slice(b"\x1b[?25l");
        Ok(())
    }

    fn show_cursor(&mut self) -> Result<(), Self::Error> {
        self.out.extend_from_slice(b"\x1b[?25h");
        Ok(())
    }

    fn get_cursor_position(&mut self) -> Result<Position, Self::Error> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Self::Error> {
        let position = position.into();
        self.go(position.x, position.y);
        Ok(())
    }

    fn clear(&mut self) -> Result<(), Self::Error> {
        self.out.extend_from_slice(b"\x1b[0m\x1b[2J");
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> Result<(), Self::Error> {
        self.clear()
    }

    fn size(&self) -> Result<Size, Self::Error> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> Result<WindowSize, Self::Error> {
        Ok(WindowSize { columns_rows: self.size, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
