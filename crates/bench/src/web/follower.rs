//! A plain follower: an HTTP client without anything around it, that reads the event stream of the server as it comes.

use std::time::Instant;

use anyhow::ensure;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::web::clocked::{now_us, stamps};

/// What a follower has got.
#[derive(Default)]
pub(crate) struct PlainFollowed {
    /// When each frame came: what the server sends at once is one.
    pub(crate) frames: Vec<Instant>,
    /// Messages in them.
    pub(crate) messages: usize,
    /// Events of the record among these.
    pub(crate) events: usize,
    pub(crate) bytes: usize,
    /// Times in what agents wrote, with when they came here; only where these are wanted.
    pub(crate) stamps: Vec<(u64, u64)>,
}

/// Where and what to follow.
#[derive(Clone)]
pub(crate) struct PlainFollow {
    /// `HOST:PORT`.
    pub(crate) host: String,
    pub(crate) token: String,
    pub(crate) session: String,
    pub(crate) wants_stamps: bool,
}

impl PlainFollow {
    /// Follows until it is told to stop.
    pub(crate) async fn run(self, mut stop: watch::Receiver<bool>) -> anyhow::Result<PlainFollowed> {
        let mut stream = TcpStream::connect(&self.host).await?;
        stream.set_nodelay(true)?;
        let request = format!(
            "GET /api/events?follow={}:0 HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\r\n",
            self.session, self.host, self.token
        );
        stream.write_all(request.as_bytes()).await?;
        let (mut buffer, mut followed) = (Vec::with_capacity(64 * 1024), PlainFollowed::default());
        let mut has_head = false;
        loop {
            tokio::select! {
                read = stream.read_buf(&mut buffer) => ensure!(read? > 0, "the stream has ended"),
                _ = stop.wait_for(|stop| *stop) => return Ok(followed),
            }
            if !has_head {
                let Some(end) = place(&buffer, b"\r\n\r\n") else { continue };
                ensure!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer));
                buffer.drain(..end + 4);
                has_head = true;
            }
            let taken = self.take(&buffer, &mut followed)?;
            buffer.drain(..taken);
        }
    }

    /// Takes whole chunks, and says how many bytes they were.
    fn take(&self, buffer: &[u8], followed: &mut PlainFollowed) -> anyhow::Result<usize> {
        let (mut at, now, came_us) = (0, Instant::now(), now_us());
        while let Some(line) = place(&buffer[at..], b"\r\n") {
            let length = usize::from_str_radix(std::str::from_utf8(&buffer[at..at + line])?, 16)?;
            let begin = at + line + 2;
            ensure!(length > 0, "the stream has ended");
            if buffer.len() < begin + length + 2 {
                break;
            }
            let text = &buffer[begin..begin + length];
            followed.frames.push(now);
            followed.bytes += length;
            for line in text.split(|byte| *byte == b'\n') {
                followed.messages += usize::from(line.starts_with(b"event: "));
                followed.events += usize::from(line.starts_with(b"id: "));
            }
            if self.wants_stamps {
                followed.stamps.extend(stamps(text).map(|stamp| (stamp, came_us)));
            }
            at = begin + length + 2;
        }
        Ok(at)
    }
}

fn place(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|one| one == part)
}
