//! What a command has written so far, and how it ended: what the system-specific part tells the rest.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    time::sleep_until,
};

use crate::{CapturedOutput, CommandExit, OutputLimits, Touched, capture::Capture};

/// The streams of a command that somebody talks with while it runs.
pub struct TalkStreams {
    /// What it reads. Its input is at its end when this is dropped.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// What it writes to its standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
}

/// What a command has written so far.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) output: Mutex<Capture>,
    pub(crate) stderr: Mutex<Capture>,
}

impl Streams {
    pub(crate) fn new(limits: OutputLimits) -> Self {
        Self { output: Mutex::new(Capture::new(limits)), stderr: Mutex::new(Capture::new(limits)) }
    }
}

pub(crate) fn so_far(capture: &Mutex<Capture>) -> CapturedOutput {
    capture.lock().unwrap_or_else(PoisonError::into_inner).so_far()
}

/// Waits until a command has run for as long as it may, counted from then. That may become longer meanwhile.
pub(crate) async fn passed(then: Instant, mut deadline: watch::Receiver<Duration>) {
    loop {
        let limit = *deadline.borrow_and_update();
        // What lies too far ahead to be reckoned with is never.
        let over = async {
            match then.checked_add(limit) {
                Some(end) => sleep_until(end.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = over => return,
            Ok(()) = deadline.changed() => {}
        }
    }
}

/// How a command ended, as the system-specific part tells it.
pub(crate) struct CommandEnd {
    pub(crate) exit: CommandExit,
    pub(crate) duration: Duration,
    pub(crate) notes: Vec<String>,
    pub(crate) touched: Touched,
}
