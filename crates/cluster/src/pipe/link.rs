//! One end of a pipe: a task that writes frames, messages before parts of blobs, and the reading of frames.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use super::frame::{MAGIC, PipeFrame};
use crate::courier::CourierError;
use crate::limits;

/// Where frames go.
#[derive(Clone, Debug)]
pub(super) struct Link {
    urgent: mpsc::Sender<PipeFrame>,
    bulk: mpsc::Sender<PipeFrame>,
}

/// The other ends of a link, for the task that writes.
pub(super) struct LinkQueue {
    urgent: mpsc::Receiver<PipeFrame>,
    bulk: mpsc::Receiver<PipeFrame>,
}

impl Link {
    pub(super) fn new() -> (Self, LinkQueue) {
        let (urgent, urgent_out) = mpsc::channel(limits::FRAMES_WAITING_MAX);
        let (bulk, bulk_out) = mpsc::channel(limits::PARTS_WAITING_MAX);
        (Self { urgent, bulk }, LinkQueue { urgent: urgent_out, bulk: bulk_out })
    }

    /// Queues a frame, if there is room.
    pub(super) fn try_send(&self, frame: PipeFrame) -> Result<(), CourierError> {
        self.urgent.try_send(frame).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => {
                CourierError::Full { what: "frames that wait", max: limits::FRAMES_WAITING_MAX }
            }
            mpsc::error::TrySendError::Closed(_) => CourierError::Closed,
        })
    }

    /// Queues a frame, when there is room.
    pub(super) async fn send(&self, frame: PipeFrame) -> Result<(), CourierError> {
        self.urgent.send(frame).await.map_err(|_| CourierError::Closed)
    }

    /// Queues a frame that everything else overtakes.
    pub(super) async fn send_bulk(&self, frame: PipeFrame) -> Result<(), CourierError> {
        self.bulk.send(frame).await.map_err(|_| CourierError::Closed)
    }
}

impl LinkQueue {
    /// Writes until nobody queues any more.
    pub(super) async fn write_all(mut self, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
        to.write_all(MAGIC).await?;
        to.flush().await?;
        loop {
            let frame = tokio::select! {
                biased;
                Some(frame) = self.urgent.recv() => frame,
                Some(frame) = self.bulk.recv() => frame,
                else => return to.shutdown().await,
            };
            to.write_all(&frame.head()?).await?;
            if let Some(tail) = frame.tail() {
                to.write_all(tail).await?;
            }
            if self.urgent.is_empty() && self.bulk.is_empty() {
                to.flush().await?;
            }
        }
    }
}

/// What an error of a stream means for its pipe.
pub(super) fn pipe_error(error: io::Error) -> CourierError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => CourierError::Refused("the pipe ended too early".to_owned()),
        io::ErrorKind::InvalidData => CourierError::Refused(error.to_string()),
        _ => CourierError::Down(error.to_string()),
    }
}

/// Reads until the other side's first words, past what a login may have printed before them.
pub(super) async fn find_magic(from: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    let mut matched = 0;
    for _ in 0..limits::LOGIN_BYTES_MAX {
        let byte = from.read_u8().await?;
        matched = match byte == MAGIC[matched] {
            true => matched + 1,
            // Its first byte is nowhere else in it.
            false => usize::from(byte == MAGIC[0]),
        };
        if matched == MAGIC.len() {
            return Ok(());
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "the other side does not speak this protocol"))
}
