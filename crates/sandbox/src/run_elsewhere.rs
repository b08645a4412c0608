//! Runs one command where there are no process groups to lean on: the direct child is killed, not what it started.

#![allow(clippy::disallowed_types)] // this is the crate the ban points to

use std::{
    process::Stdio,
    sync::Mutex,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::Child,
    sync::watch,
    time::timeout,
};

use crate::{
    Command, CommandExit, SandboxError, Touched, What,
    capture::Capture,
    limits, no_confinement,
    streams::{CommandEnd, Streams, TalkStreams, passed},
};

/// A command that has been started. Dropping it kills the child.
pub(crate) struct StartedCommand {
    child: Child,
    command: Command,
    at: Instant,
}

/// Starts a command; one that is to be confined is refused.
pub(crate) async fn start(command: Command) -> Result<StartedCommand, SandboxError> {
    let at = Instant::now();
    if command.confinement.is_some() {
        return Err(SandboxError::NotConfined(no_confinement::REASON.to_owned()));
    }
    if !command.cwd.is_dir() {
        return Err(SandboxError::NoFolder(command.cwd));
    }
    let (program, arguments) = command.words();
    let mut process = tokio::process::Command::new(&program);
    process
        .args(arguments)
        .current_dir(&command.cwd)
        .env_clear()
        .envs(command.environment().0)
        .kill_on_drop(true);
    process.stdin(if command.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    process.stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = program.to_string_lossy().into_owned();
    let child = process.spawn().map_err(|source| SandboxError::Start { program, source })?;
    Ok(StartedCommand { child, command, at })
}

impl StartedCommand {
    /// Its input and its output, for whoever talks with it instead of reading what it wrote afterwards. Once.
    pub(crate) fn take_streams(&mut self) -> Option<TalkStreams> {
        let (input, output) = (self.child.stdin.take()?, self.child.stdout.take()?);
        Some(TalkStreams { input: Box::new(input), output: Box::new(output) })
    }

    /// Sees the command to its end.
    pub(crate) async fn finish(
        mut self,
        into: &Streams,
        mut stop: watch::Receiver<bool>,
        deadline: watch::Receiver<Duration>,
    ) -> CommandEnd {
        let (stdin, stdout, errors) =
            (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take());
        // A shell command's streams come out as one.
        let errors_into =
            if matches!(self.command.what, What::Shell(_)) { &into.output } else { &into.stderr };
        let bytes = self.command.stdin.take().unwrap_or_default();
        let feed = async {
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(&bytes).await;
            }
        };
        let read = async { tokio::join!(feed, collect(stdout, &into.output), collect(errors, errors_into)) };
        let all = async { tokio::join!(read, self.child.wait()).1 };
        let asked = async {
            if stop.wait_for(|stop| *stop).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let exit = tokio::select! {
            status = all => CommandExit::Code(status.ok().and_then(|status| status.code()).unwrap_or(-1)),
            () = passed(Instant::now(), deadline) => CommandExit::DeadlineExceeded,
            () = asked => CommandExit::Code(-1),
        };
        let _ = timeout(Duration::from_millis(limits::REAP_MS), self.child.kill()).await;
        CommandEnd { exit, duration: self.at.elapsed(), notes: Vec::new(), touched: Touched::default() }
    }
}

async fn collect(reader: Option<impl AsyncRead + Unpin>, into: &Mutex<Capture>) {
    let Some(mut reader) = reader else { return };
    let mut chunk = vec![0; limits::READ_CHUNK_BYTES];
    while let Ok(count @ 1..) = reader.read(&mut chunk).await {
        if let Ok(mut capture) = into.lock() {
            capture.push(&chunk[..count]);
        }
    }
}
