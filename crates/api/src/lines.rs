//! Lines from a stranger on standard input: each with a limit, so that no line takes more memory than that, however long it is.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use crate::limits::LINE_READ_BYTES;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub enum BoundedLine {
    /// Its bytes, without the end of the line.
    Whole(Vec<u8>),
    /// It is longer than the limit, and is passed over. Told as soon as that is known.
    TooLong,
}

/// Reads lines up to a limit.
pub struct BoundedLines<R> {
    reader: BufReader<R>,
    bytes_max: usize,
    /// What was read of the line that is not whole yet: reading may be given up in the middle and taken up again.
    part: Vec<u8>,
    /// Whether the rest of a line is passed over.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    /// Reads lines of at most so many bytes.
    pub fn new(reader: R, bytes_max: usize) -> Self {
        let reader = BufReader::with_capacity(LINE_READ_BYTES, reader);
        Self { reader, bytes_max, part: Vec::new(), skipping: false }
    }

    /// The next line; none at the end. A last line without an end counts as one.
    pub async fn next(&mut self) -> io::Result<Option<BoundedLine>> {
        loop {
            let there = self.reader.fill_buf().await?;
            if there.is_empty() {
                let part = std::mem::take(&mut self.part);
                return Ok((!part.is_empty()).then_some(BoundedLine::Whole(part)));
            }
            let end = there.iter().position(|byte| *byte == b'\n');
            let piece = &there[..end.unwrap_or(there.len())];
            let passed = piece.len() + usize::from(end.is_some());
            let was_skipping = self.skipping;
            let too_long = self.part.len() + piece.len() > self.bytes_max;
            if was_skipping || too_long {
                self.part = Vec::new();
                self.skipping = end.is_none();
            } else {
                self.part.extend_from_slice(piece);
            }
            self.reader.consume(passed);
            match (was_skipping, too_long, end) {
                (false, true, _) => return Ok(Some(BoundedLine::TooLong)),
                (false, false, Some(_)) => {
                    return Ok(Some(BoundedLine::Whole(std::mem::take(&mut self.part))));
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_have_a_limit_and_those_after_a_long_one_are_read() {
        let text = b"one\n\n12345678\n123456789\nlast";
        let mut lines = BoundedLines::new(&text[..], 8);
        let mut read = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            read.push(line);
        }
        let whole = |text: &[u8]| BoundedLine::Whole(text.to_vec());
        assert_eq!(
            read,
            [whole(b"one"), whole(b""), whole(b"12345678"), BoundedLine::TooLong, whole(b"last")]
        );
    }
}
