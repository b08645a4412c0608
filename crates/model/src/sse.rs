//! Server-sent events: bytes in, frames out. It knows nothing of what the frames hold.
//!
//! Bytes may be cut anywhere, lines may end in LF, CRLF or CR, a byte-order mark and comments are skipped, several
//! `data` lines make one frame. A frame has a greatest size; bytes that are not UTF-8 become U+FFFD.

use crate::limits;

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The event's name; empty where the stream gives none.
    pub event: String,
    /// Its data lines, joined by line feeds.
    pub data: String,
}

/// What is wrong with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A frame is longer than is accepted.
    #[error("an event of the stream is longer than {} bytes", limits::FRAME_BYTES_MAX)]
    FrameTooLong,
}

/// Takes a stream apart, piece by piece.
#[derive(Debug)]
pub struct SseDecoder {
    bytes_max: usize,
    line: Vec<u8>,
    event: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_cr: bool,
    first_line: bool,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::with_limit(limits::FRAME_BYTES_MAX)
    }
}

impl SseDecoder {
    /// A decoder that accepts frames of at most so many bytes.
    pub fn with_limit(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            line: Vec::new(),
            event: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            first_line: true,
        }
    }

    /// Takes more bytes; complete frames are added to `out`. After an error the decoder is of no more use.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), SseError> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                return self.keep(bytes);
            };
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            self.after_cr = bytes[end] == b'\r';
            bytes = rest;
            if self.line.is_empty() {
                self.must_fit(line)?;
                out.extend(self.take_line(line));
            } else {
                self.keep(line)?;
                out.extend(self.end_line());
            }
        }
        Ok(())
    }

    /// The frame the stream ended in, if its last blank line is all that is missing.
    pub fn finish(mut self) -> Option<Frame> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.take_frame()
    }

    fn keep(&mut self, part: &[u8]) -> Result<(), SseError> {
        self.must_fit(part)?;
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn must_fit(&self, part: &[u8]) -> Result<(), SseError> {
        let bytes = self.line.len() + self.data.len() + part.len();
        if bytes > self.bytes_max { Err(SseError::FrameTooLong) } else { Ok(()) }
    }

    fn end_line(&mut self) -> Option<Frame> {
        let mut line = std::mem::take(&mut self.line);
        let frame = self.take_line(&line);
        // The buffer goes back, so that a long stream does not allocate a line at a time.
        line.clear();
        self.line = line;
        frame
    }

    fn take_line(&mut self, mut content: &[u8]) -> Option<Frame> {
        if std::mem::take(&mut self.first_line) {
            content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
        }
        if content.is_empty() {
            return self.take_frame();
        }
        self.field(content);
        None
    }

    fn field(&mut self, line: &[u8]) {
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.event.clear();
                self.event.extend_from_slice(value);
            }
            // Comments (an empty name), `id`, `retry` and names of the future.
            _ => {}
        }
    }

    fn take_frame(&mut self) -> Option<Frame> {
        let event = std::mem::take(&mut self.event);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let data = std::mem::take(&mut self.data);
        Some(Frame { event: text(event), data: text(data) })
    }
}

/// Text out of bytes. A character is whole here however the stream was cut, so what is not UTF-8 never was.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
