//! A command that runs: its output so far, its end, and how to stop it. Knows nothing of how it is run.
//!
//! ```text
//! start ─► Job ──► wait ─► Finished      (as often as asked, by whoever has a copy)
//!           ├────► output                (what it has written so far)
//!           ├────► extend                (more time, and more of its output)
//!           ├────► stop                  (asked to end, then ended)
//!           └────► the last copy dropped (ended at once)
//! ```

use std::{
    io,
    sync::{Arc, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, task::AbortHandle};

#[cfg(not(unix))]
use crate::run_elsewhere as system;
#[cfg(unix)]
use crate::run_unix as system;
use crate::{
    CapturedOutput, Command, CommandExit, CommandOutcome, OutputLimits, OutputPart, SandboxError, Touched,
    streams::{CommandEnd, Streams, TalkStreams, so_far},
};

/// A started command. Copies stand for the same command; dropping the last one ends it and all that it started.
#[derive(Clone, Debug)]
pub struct CommandHandle(Arc<Held>);

#[derive(Debug)]
struct Held {
    streams: Arc<Streams>,
    stop: watch::Sender<bool>,
    deadline: watch::Sender<Duration>,
    finished: watch::Receiver<Option<CommandOutcome>>,
    task: AbortHandle,
}

impl Drop for Held {
    fn drop(&mut self) {
        // The task owns the process, which ends when it is dropped.
        self.task.abort();
    }
}

/// Runs a command to its end, its deadline, or until the future is dropped; then nothing of it is left.
pub async fn run(command: Command) -> Result<CommandOutcome, SandboxError> {
    Ok(start(command).await?.wait().await)
}

/// Starts a command and leaves it running. Its deadline holds as ever.
pub async fn start(command: Command) -> Result<CommandHandle, SandboxError> {
    let (output, deadline) = (command.output, command.deadline);
    Ok(see_to(system::start(command).await?, output, deadline))
}

/// Starts a command to talk with. What it writes to its standard output is kept by nobody else; its standard error is
/// captured as ever, unless it is a shell command.
pub async fn start_talking(command: Command) -> Result<(CommandHandle, TalkStreams), SandboxError> {
    let (output, deadline) = (command.output, command.deadline);
    let mut started = system::start(Command { stdin: Some(Vec::new()), ..command }).await?;
    let streams = started.take_streams().ok_or_else(|| io::Error::other("its streams are missing"))?;
    Ok((see_to(started, output, deadline), streams))
}

/// Sees a command to its end on a task of its own.
fn see_to(started: system::StartedCommand, output: OutputLimits, deadline: Duration) -> CommandHandle {
    let streams = Arc::new(Streams::new(output));
    let (stop, stopping) = watch::channel(false);
    let (deadline, until) = watch::channel(deadline);
    let (result, finished) = watch::channel(None);
    let task = tokio::spawn({
        let streams = Arc::clone(&streams);
        async move {
            let ending = started.finish(&streams, stopping, until).await;
            let (output, stderr) = (so_far(&streams.output), so_far(&streams.stderr));
            let CommandEnd { exit, duration, notes, touched } = ending;
            let _ = result.send(Some(CommandOutcome { exit, output, stderr, duration, notes, touched }));
        }
    });
    CommandHandle(Arc::new(Held { streams, stop, deadline, finished, task: task.abort_handle() }))
}

impl CommandHandle {
    /// What it has written to its standard error so far; nothing for a shell command.
    pub fn stderr(&self) -> CapturedOutput {
        so_far(&self.0.streams.stderr)
    }

    /// What it has written so far; for a program without a shell, its standard output.
    pub fn output(&self) -> CapturedOutput {
        so_far(&self.0.streams.output)
    }

    /// The newest of what it has written after so many bytes, at most so much. None if there is nothing new.
    pub fn newest(&self, after: u64, bytes_max: usize) -> Option<OutputPart> {
        self.0.streams.output.lock().unwrap_or_else(PoisonError::into_inner).newest(after, bytes_max)
    }

    /// Lets it run for this long, counted from its start, and keeps as much of its output as this from now on.
    pub fn extend(&self, deadline: Duration, output: OutputLimits) {
        for capture in [&self.0.streams.output, &self.0.streams.stderr] {
            capture.lock().unwrap_or_else(PoisonError::into_inner).widen(output);
        }
        self.0.deadline.send_replace(deadline);
    }

    /// Asks it to end and, if it does not soon, ends it and all that it started. Returns at once; [`CommandHandle::wait`] tells
    /// when it is done.
    pub fn stop(&self) {
        self.0.stop.send_replace(true);
    }

    /// Its end, if it has ended.
    pub fn finished(&self) -> Option<CommandOutcome> {
        self.0.finished.borrow().clone()
    }

    /// Waits for its end. May be asked by several at once, and again afterwards.
    pub async fn wait(&self) -> CommandOutcome {
        let mut finished = self.0.finished.clone();
        let ended = finished.wait_for(Option::is_some).await.ok().and_then(|ended| ended.clone());
        ended.unwrap_or_else(|| CommandOutcome {
            exit: CommandExit::Signal(9),
            output: self.output(),
            stderr: so_far(&self.0.streams.stderr),
            duration: Duration::ZERO,
            notes: vec!["it was ended because the program that ran it is ending".to_owned()],
            touched: Touched::default(),
        })
    }
}
