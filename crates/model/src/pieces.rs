//! The messages of a transcript as bytes. Whatever the number of messages, a request is made of few buffers: a
//! socket takes one large buffer far quicker than a thousand small ones.
//!
//! Finished messages are gathered into chunks that are never touched again and are shared by all clones. Only the
//! newest messages, less than a chunk of them, are copied for each request, so that copying does not grow with the
//! conversation.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::limits::CHUNK_BYTES;

/// Encoded messages, append-only.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    /// Gathered, in order.
    chunks: Arc<Vec<Bytes>>,
    /// The newest messages; the last one is always here.
    loose: Vec<Bytes>,
    loose_bytes: usize,
    len: usize,
}

impl Pieces {
    pub(crate) fn push(&mut self, piece: Bytes) {
        if self.loose_bytes >= CHUNK_BYTES {
            let chunk = self.gather(self.loose.len(), &[]);
            Arc::make_mut(&mut self.chunks).push(chunk);
            self.loose.clear();
            self.loose_bytes = 0;
        }
        self.loose_bytes += piece.len();
        self.loose.push(piece);
        self.len += 1;
    }

    /// How many messages there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The last message.
    pub(crate) fn last(&self) -> Option<&Bytes> {
        self.loose.last()
    }

    pub(crate) fn chunks(&self) -> Arc<Vec<Bytes>> {
        Arc::clone(&self.chunks)
    }

    /// Everything behind the chunks in one buffer, with `ending` in the place of the last `without` messages.
    pub(crate) fn rest(&self, without: usize, ending: &[Bytes]) -> Bytes {
        self.gather(self.loose.len().saturating_sub(without), ending)
    }

    fn gather(&self, loose: usize, ending: &[Bytes]) -> Bytes {
        let ending_bytes: usize = ending.iter().map(Bytes::len).sum();
        let mut bytes = BytesMut::with_capacity(self.loose_bytes + ending_bytes);
        for piece in self.loose[..loose].iter().chain(ending) {
            bytes.extend_from_slice(piece);
        }
        bytes.freeze()
    }
}
