//! A request body made of a few shared buffers, with its length known beforehand.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// Head, then a transcript's chunks, then the rest.
pub(crate) struct PiecesBody {
    head: std::array::IntoIter<Bytes, 2>,
    chunks: Arc<Vec<Bytes>>,
    next: usize,
    rest: Option<Bytes>,
    left: u64,
}

impl PiecesBody {
    /// The three together are `total` bytes.
    pub(crate) fn new(head: [Bytes; 2], chunks: Arc<Vec<Bytes>>, rest: Bytes, total: usize) -> Self {
        Self { head: head.into_iter(), chunks, next: 0, rest: Some(rest), left: total as u64 }
    }

    fn take(&mut self) -> Option<Bytes> {
        if let Some(head) = self.head.next() {
            return Some(head);
        }
        let chunk = self.chunks.get(self.next).cloned();
        self.next += 1;
        chunk.or_else(|| self.rest.take())
    }
}

impl Body for PiecesBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let piece = self.take();
        if let Some(piece) = &piece {
            self.left = self.left.saturating_sub(piece.len() as u64);
        }
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
