//! Calls of git whose input or output is too long for memory: it is passed on piece by piece, while git runs.

use std::{fs::File, io::SeekFrom};

use posse_sandbox::{TalkStreams, start_talking};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncSeekExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{
    GitError,
    call::{Git, not_run, text_of},
};
use crate::{WorkspaceError, limits};

/// What git reads: nothing, some bytes, or a file from a place in it on.
#[derive(Debug)]
pub(crate) enum FlowInput {
    Bytes(Vec<u8>),
    File(File, u64),
}

impl Git {
    /// Hands what git writes to `take`, piece by piece. An error of it ends git at once, and this call.
    pub(crate) async fn flow(
        self,
        arguments: &[&str],
        input: FlowInput,
        mut take: impl FnMut(&[u8]) -> Result<(), WorkspaceError>,
    ) -> Result<(), WorkspaceError> {
        let command = self.prepared(arguments).await?;
        // Git ends when this is dropped.
        let (git, streams) = start_talking(command).await.map_err(not_run)?;
        let TalkStreams { input: into, mut output } = streams;
        let reading = async {
            let mut piece = vec![0; limits::COPY_BYTES];
            loop {
                match output.read(&mut piece).await {
                    Ok(count @ 1..) => take(&piece[..count])?,
                    // An error on a pipe is its end.
                    _ => return Ok(()),
                }
            }
        };
        tokio::try_join!(feed(input, into), reading)?;
        text_of(arguments[0], git.wait().await).map(drop)
    }

    /// Writes all that git says behind what is in a file. Says how long the file is then.
    pub(crate) async fn flow_into(
        self,
        arguments: &[&str],
        input: Vec<u8>,
        to: File,
    ) -> Result<u64, WorkspaceError> {
        let command = self.prepared(arguments).await?;
        let (git, streams) = start_talking(command).await.map_err(not_run)?;
        let TalkStreams { input: into, output } = streams;
        let mut to = tokio::fs::File::from_std(to);
        let writing = async {
            to.seek(SeekFrom::End(0)).await.map_err(failed)?;
            copy(output, &mut to).await?;
            to.sync_all().await.map_err(failed)?;
            to.metadata().await.map_err(failed)
        };
        let ((), written) = tokio::try_join!(feed(FlowInput::Bytes(input), into), writing)?;
        text_of(arguments[0], git.wait().await)?;
        Ok(written.len())
    }

    /// The records that git writes with a NUL after each, one by one.
    pub(crate) async fn each_record(
        mut self,
        arguments: &[&str],
        mut take: impl FnMut(&[u8]) -> Result<(), WorkspaceError>,
    ) -> Result<(), WorkspaceError> {
        let (mut parts, input) = (Parts::ending_in(0), self.take_stdin());
        let input = FlowInput::Bytes(input);
        self.flow(arguments, input, |piece| parts.hear(arguments[0], piece, &mut take)).await
    }
}

/// Takes what git writes apart, each part with the same byte at its end.
#[derive(Debug)]
pub(crate) struct Parts {
    end: u8,
    rest: Vec<u8>,
}

impl Parts {
    pub(crate) fn ending_in(end: u8) -> Self {
        Self { end, rest: Vec::new() }
    }

    /// Hands on the parts that are whole. `call` is what says them.
    pub(crate) fn hear(
        &mut self,
        call: &str,
        mut piece: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), WorkspaceError>,
    ) -> Result<(), WorkspaceError> {
        while let Some(at) = memchr::memchr(self.end, piece) {
            if self.rest.is_empty() {
                take(&piece[..at])?;
            } else {
                self.rest.extend_from_slice(&piece[..at]);
                take(&self.rest)?;
                self.rest.clear();
            }
            piece = &piece[at + 1..];
        }
        self.rest.extend_from_slice(piece);
        match self.rest.len() <= limits::GIT_RECORD_BYTES_MAX {
            true => Ok(()),
            false => Err(GitError::TooMuch { call: call.to_owned() }.into()),
        }
    }
}

/// Writes all of it. That git reads no more is no failure here: how it ends tells more.
pub(super) async fn feed(
    input: FlowInput,
    mut into: Box<dyn AsyncWrite + Send + Unpin>,
) -> Result<(), WorkspaceError> {
    match input {
        FlowInput::Bytes(bytes) => {
            let _ = into.write_all(&bytes).await;
        }
        FlowInput::File(file, from) => {
            let mut file = tokio::fs::File::from_std(file);
            file.seek(SeekFrom::Start(from)).await.map_err(failed)?;
            let mut piece = vec![0; limits::COPY_BYTES];
            loop {
                let count = file.read(&mut piece).await.map_err(failed)?;
                if count == 0 || into.write_all(&piece[..count]).await.is_err() {
                    break;
                }
            }
        }
    }
    let _ = into.shutdown().await;
    Ok(())
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    to: &mut (impl AsyncWrite + Unpin),
) -> Result<(), WorkspaceError> {
    let mut piece = vec![0; limits::COPY_BYTES];
    while let Ok(count @ 1..) = from.read(&mut piece).await {
        to.write_all(&piece[..count]).await.map_err(failed)?;
    }
    to.flush().await.map_err(failed)
}

fn failed(source: std::io::Error) -> WorkspaceError {
    WorkspaceError::Io { path: "Posse's own folder".to_owned(), source }
}
