//! The updates of a session that another process runs: reads its event stream. What is in it is data of a stranger.

use std::pin::Pin;
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use http_body::Body as _;
use hyper::body::Incoming;
use posse_protocol::{Event, Progress, Update};

use crate::failure::{CallError, CallErrorKind};
use crate::frames::{END, EVENT, PROGRESS};
use crate::limits::{FRAME_BYTES_MAX, SILENCE_MS_MAX};

/// An event stream that is being read.
pub struct RemoteUpdates {
    body: Incoming,
    lines: FrameLines,
    over: bool,
}

impl RemoteUpdates {
    pub(crate) fn new(body: Incoming) -> Self {
        Self { body, lines: FrameLines::default(), over: false }
    }

    /// The next update; none once the session is over. An error if the other process is gone before that.
    pub async fn next(&mut self) -> Result<Option<Update>, CallError> {
        while !self.over {
            while let Some(frame) = self.lines.next_frame()? {
                match frame.name.as_str() {
                    EVENT => {
                        let event: Event = serde_json::from_slice(&frame.data).map_err(not_understood)?;
                        return Ok(Some(Update::Event(event.into())));
                    }
                    PROGRESS => {
                        // A newer Posse may have kinds of progress that this one does not know.
                        if let Ok(progress) = serde_json::from_slice::<Progress>(&frame.data) {
                            return Ok(Some(Update::Progress(progress)));
                        }
                    }
                    END => {
                        self.over = true;
                        return Ok(None);
                    }
                    _ => {}
                }
            }
            self.read().await?;
        }
        Ok(None)
    }

    async fn read(&mut self) -> Result<(), CallError> {
        let body = &mut self.body;
        let reading = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
        let silent = |_| CallError::unreachable("nothing was heard of it for too long");
        let frame =
            tokio::time::timeout(Duration::from_millis(SILENCE_MS_MAX), reading).await.map_err(silent)?;
        let gone = || CallError::unreachable("it has ended the connection");
        let frame = frame.ok_or_else(gone)?.map_err(CallError::unreachable)?;
        if let Ok(data) = frame.into_data() {
            self.lines.add(&data)?;
        }
        Ok(())
    }
}

fn not_understood(error: serde_json::Error) -> CallError {
    CallError::new(
        CallErrorKind::Internal,
        format!("An event of the other process is not understood: {error}."),
    )
}

/// One frame of an event stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct StreamFrame {
    name: String,
    data: Vec<u8>,
}

/// Puts frames together from pieces that end anywhere.
#[derive(Default)]
struct FrameLines {
    pieces: BytesMut,
    /// How much of it was searched for the end of a line.
    searched: usize,
    frame: StreamFrame,
}

impl FrameLines {
    fn add(&mut self, data: &[u8]) -> Result<(), CallError> {
        if self.pieces.len() + self.frame.data.len() + data.len() > FRAME_BYTES_MAX {
            let message = format!("An event of the other process has more than {FRAME_BYTES_MAX} bytes.");
            return Err(CallError::new(CallErrorKind::TooLarge, message));
        }
        self.pieces.extend_from_slice(data);
        Ok(())
    }

    /// The next frame that is complete. One without data says nothing.
    fn next_frame(&mut self) -> Result<Option<StreamFrame>, CallError> {
        while let Some(end) = self.pieces[self.searched..].iter().position(|byte| *byte == b'\n') {
            let line = self.pieces.split_to(self.searched + end);
            self.pieces.advance(1);
            self.searched = 0;
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if !line.is_empty() {
                self.line(line);
                continue;
            }
            let frame = std::mem::take(&mut self.frame);
            if !frame.data.is_empty() {
                return Ok(Some(frame));
            }
        }
        self.searched = self.pieces.len();
        Ok(None)
    }

    fn line(&mut self, line: &[u8]) {
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.frame.name = String::from_utf8_lossy(value).into_owned(),
            b"data" => {
                if !self.frame.data.is_empty() {
                    self.frame.data.push(b'\n');
                }
                self.frame.data.extend_from_slice(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_the_same_wherever_the_pieces_end() {
        let stream = ": still here\n\nid: 1\nevent: event\ndata: {\"a\":1}\n\nevent: progress\r\ndata:one\r\ndata: two\r\n\r\nevent: end\ndata: null\n\nevent: event\ndata: half";
        let wanted = [("event", "{\"a\":1}"), ("progress", "one\ntwo"), ("end", "null")];
        let wanted =
            wanted.map(|(name, data)| StreamFrame { name: name.to_owned(), data: data.as_bytes().to_vec() });
        let mut splits = 0;
        for size in 1..=stream.len() {
            let mut lines = FrameLines::default();
            let mut found = Vec::new();
            for piece in stream.as_bytes().chunks(size) {
                lines.add(piece).unwrap();
                while let Some(frame) = lines.next_frame().unwrap() {
                    found.push(frame);
                }
            }
            assert_eq!(found, wanted, "in pieces of {size}");
            splits += 1;
        }
        assert_eq!(splits, stream.len());
    }

    #[test]
    fn a_frame_without_end_is_refused() {
        let mut lines = FrameLines::default();
        let piece = vec![b'x'; 1 << 20];
        let refused = (0..).find_map(|_| lines.add(&piece).err()).unwrap();
        assert_eq!(refused.kind, CallErrorKind::TooLarge);
    }
}
