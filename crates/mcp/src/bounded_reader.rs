//! What a program writes, with a bound on the length of a line. rmcp drops lines that are too long and says nothing; here that ends
//! the connection, with the reason.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use crate::limits;

/// Why a connection was ended by us.
pub(crate) type Trouble = Arc<OnceLock<String>>;

/// A stream of lines that ends at one which is too long.
pub(crate) struct BoundedReader<R> {
    inner: R,
    line_bytes: usize,
    trouble: Trouble,
}

impl<R> BoundedReader<R> {
    pub(crate) fn new(inner: R, trouble: Trouble) -> Self {
        Self { inner, line_bytes: 0, trouble }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.trouble.get().is_some() {
            return Poll::Ready(Ok(()));
        }
        let before = into.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, into))?;
        let read = &into.filled()[before..];
        self.line_bytes = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => read.len() - end - 1,
            None => self.line_bytes + read.len(),
        };
        if self.line_bytes > limits::MESSAGE_BYTES_MAX {
            let _ = self
                .trouble
                .set(format!("it sent more than {} MiB in one line", limits::MESSAGE_BYTES_MAX >> 20));
            into.set_filled(before);
        }
        Poll::Ready(Ok(()))
    }
}
