//! BoundedLines from a stranger: each with a limit, so that no line takes more memory than that, however long it is.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use crate::limits::READ_BYTES;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BoundedLine {
    /// Its bytes, without the end of the line.
    Whole(Vec<u8>),
    /// It was longer than the limit. All of it was passed over.
    TooLong,
}

/// Reads lines up to a limit.
pub(crate) struct BoundedLines<R> {
    reader: BufReader<R>,
    bytes_max: usize,
    /// What was read of the line that is not whole yet: reading may be given up in the middle and taken up again.
    part: Vec<u8>,
    too_long: bool,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    pub(crate) fn new(reader: R, bytes_max: usize) -> Self {
        let reader = BufReader::with_capacity(READ_BYTES, reader);
        Self { reader, bytes_max, part: Vec::new(), too_long: false }
    }

    /// The next line; none at the end. A last line without an end counts as one.
    pub(crate) async fn next(&mut self) -> io::Result<Option<BoundedLine>> {
        loop {
            let there = self.reader.fill_buf().await?;
            if there.is_empty() {
                let nothing = self.part.is_empty() && !self.too_long;
                return Ok(if nothing { None } else { Some(self.take()) });
            }
            let end = there.iter().position(|byte| *byte == b'\n');
            let piece = &there[..end.unwrap_or(there.len())];
            let passed = piece.len() + usize::from(end.is_some());
            self.too_long |= self.part.len() + piece.len() > self.bytes_max;
            if self.too_long {
                self.part = Vec::new();
            } else {
                self.part.extend_from_slice(piece);
            }
            self.reader.consume(passed);
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn take(&mut self) -> BoundedLine {
        let part = std::mem::take(&mut self.part);
        match std::mem::take(&mut self.too_long) {
            true => BoundedLine::TooLong,
            false => BoundedLine::Whole(part),
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
