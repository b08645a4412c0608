//! A block of lines at the bottom of the terminal that is drawn again and again in the same place. It must not know
//! what the lines say.

use std::io::{self, Write};

use crate::output::guarded;

/// What stands on the screen now. The cursor is at the end of its last line.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// The columns of each of its lines.
    lines: Vec<usize>,
}

/// One line of a block: with its colours, and how many columns it takes.
pub(crate) struct Line {
    pub(crate) painted: String,
    pub(crate) columns: usize,
}

impl Block {
    /// Draws these lines in place of the ones before.
    pub(crate) fn draw(&mut self, lines: &[Line], width: usize, out: &mut dyn Write) -> io::Result<()> {
        // Without wrapping, a line that is wider than it was counted stays one; in one write, nothing flickers.
        let mut text = format!("{}\x1b[?7l", self.to_the_top(width));
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            text.push_str("\x1b[2K");
            text.push_str(&guarded(&line.painted, true));
        }
        text.push_str("\x1b[J\x1b[?7h");
        self.lines = lines.iter().map(|line| line.columns).collect();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Takes the block away; the cursor stands where it began.
    pub(crate) fn clear(&mut self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let text = format!("{}\x1b[J", self.to_the_top(width));
        self.lines.clear();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Where the block begins. A terminal that has become narrower since has broken its lines into several rows.
    fn to_the_top(&self, width: usize) -> String {
        let rows: usize = self.lines.iter().map(|columns| columns.div_ceil(width.max(1)).max(1)).sum();
        if rows > 1 { format!("\r\x1b[{}A", rows - 1) } else { "\r".to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::columns;

    fn lines(texts: &[&str]) -> Vec<Line> {
        let line = |text: &&str| Line { painted: text.to_string(), columns: columns(text) };
        texts.iter().map(line).collect()
    }

    /// What a terminal shows; `\n` moves to the beginning of the next line, as terminals do for programs.
    fn screen(bytes: &[u8]) -> String {
        let mut parser = vt100::Parser::new(8.try_into().unwrap(), 20.try_into().unwrap(), 0);
        parser.process(String::from_utf8_lossy(bytes).replace('\n', "\r\n").as_bytes());
        parser.screen().contents()
    }

    #[test]
    fn blocks_take_each_others_place() {
        let steps: [(&[&str], &str); 5] = [
            (&["one"], "text\none"),
            (&["one", "two", "three"], "text\none\ntwo\nthree"),
            (&["1", "2"], "text\n1\n2"),
            (&["日本語", "x"], "text\n日本語\nx"),
            (&["end"], "text\nend"),
        ];
        assert_eq!(steps.len(), 5);
        let mut block = Block::default();
        let mut bytes = b"text\n".to_vec();
        for (texts, expected) in steps {
            block.draw(&lines(texts), 20, &mut bytes).unwrap();
            assert_eq!(screen(&bytes), expected);
        }
        block.clear(20, &mut bytes).unwrap();
        assert_eq!(screen(&bytes), "text");
        let before = bytes.len();
        block.clear(20, &mut bytes).unwrap();
        assert_eq!(bytes.len(), before, "nothing is left to take away");
    }

    #[test]
    fn a_narrower_terminal_has_more_rows_to_take_away() {
        let mut block = Block::default();
        block.draw(&lines(&["0123456789", "01234", ""]), 20, &mut Vec::new()).unwrap();
        let mut bytes = Vec::new();
        block.clear(4, &mut bytes).unwrap();
        assert_eq!(bytes, b"\r\x1b[5A\x1b[J");
    }
}
