//! The little HTTP/1.1 a fake server needs: read one request, write one answer. No routes, no scripts.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::captured::Captured;

const HEAD_BYTES_MAX: usize = 64 * 1024;

/// One connection with what was read beyond the last request.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, buffer: Vec::with_capacity(16 * 1024) }
    }

    /// The next request; `None` when the client is done.
    pub(crate) async fn request(&mut self) -> io::Result<Option<Captured>> {
        let Some(head_end) = self.head_end().await? else { return Ok(None) };
        let head = String::from_utf8_lossy(&self.buffer[..head_end]).into_owned();
        self.buffer.drain(..head_end + 4);
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ');
        let method = first.next().unwrap_or_default().to_owned();
        let path = first.next().unwrap_or_default().to_owned();
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut request = Captured { method, path, headers, body: Vec::new() };
        request.body = if request.header("transfer-encoding").is_some() {
            self.chunked().await?
        } else {
            let length = request.header("content-length").and_then(|v| v.parse().ok()).unwrap_or(0);
            self.take(length).await?
        };
        Ok(Some(request))
    }

    async fn head_end(&mut self) -> io::Result<Option<usize>> {
        let mut from = 0;
        loop {
            if let Some(at) = self.buffer[from..].windows(4).position(|w| w == b"\r\n\r\n") {
                return Ok(Some(from + at));
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(io::Error::other("request head too long"));
            }
            from = self.buffer.len().saturating_sub(3);
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }

    async fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        self.buffer.reserve(length.saturating_sub(self.buffer.len()));
        while self.buffer.len() < length {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let rest = self.buffer.split_off(length);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    async fn chunked(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line().await?;
            let length = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            body.extend(self.take(length).await?);
            self.take(2).await?;
            if length == 0 {
                return Ok(body);
            }
        }
    }

    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(at) = self.buffer.windows(2).position(|w| w == b"\r\n") {
                let line = self.take(at + 2).await?;
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// A whole answer with its length.
    pub(crate) async fn answer(&mut self, status: u16, headers: &str, body: &[u8]) -> io::Result<()> {
        let mut out = format!(
            "HTTP/1.1 {status} Scripted\r\n{headers}content-length: {}\r\nconnection: keep-alive\r\n\r\n",
            body.len()
        )
        .into_bytes();
        out.extend_from_slice(body);
        self.stream.write_all(&out).await
    }

    /// Begins an answer of unknown length.
    pub(crate) async fn begin_stream(&mut self, content_type: &str) -> io::Result<()> {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncache-control: no-store\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        self.stream.write_all(head.as_bytes()).await
    }

    /// One piece of it.
    pub(crate) async fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut out = format!("{:x}\r\n", bytes.len()).into_bytes();
        out.extend_from_slice(bytes);
        out.extend_from_slice(b"\r\n");
        self.stream.write_all(&out).await
    }

    /// Its proper end.
    pub(crate) async fn end_stream(&mut self) -> io::Result<()> {
        self.stream.write_all(b"0\r\n\r\n").await
    }

    /// Returns when the client has gone.
    pub(crate) async fn until_closed(&mut self) {
        let mut sink = [0u8; 256];
        while matches!(self.stream.read(&mut sink).await, Ok(n) if n > 0) {}
    }
}
