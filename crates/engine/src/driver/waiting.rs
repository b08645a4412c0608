//! Waiting for a model, a tool or news, within what a cancel, a message that interrupts, and the time of the agent allow.

use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::agents::clock::Clock;
use crate::limits::{LAST_WORD_MS_MAX, LAST_WORD_MS_MIN};

/// How much working time an agent has.
pub(super) struct TimeLimit {
    clock: Clock,
    /// None if it has all the time it wants.
    deadline: Option<Duration>,
    /// How long a last report may take once the time is over.
    last_word: Duration,
}

impl TimeLimit {
    pub(super) fn new(clock: Clock, time_ms: Option<u64>) -> Self {
        let deadline = time_ms.map(Duration::from_millis);
        let last_word = Duration::from_millis(last_word_ms(time_ms.unwrap_or(0)));
        Self { clock, deadline, last_word }
    }

    pub(super) fn elapsed_ms(&self) -> u64 {
        self.clock.elapsed().as_millis() as u64
    }

    /// Makes sure that there is time for a last report.
    pub(super) fn allow_last_word(&mut self) {
        self.deadline = self.deadline.map(|at| at.max(self.clock.elapsed() + self.last_word));
    }

    /// Gives a moment for a last report, and after that none.
    pub(super) fn only_last_word(&mut self) {
        self.deadline = Some(self.clock.elapsed() + self.last_word);
    }

    async fn over(&self) {
        match self.deadline {
            Some(deadline) => self.clock.reaches(deadline).await,
            None => std::future::pending().await,
        }
    }
}

/// How long an agent with so much time has for a last report when that is over.
pub(crate) fn last_word_ms(time_ms: u64) -> u64 {
    (time_ms / 10).clamp(LAST_WORD_MS_MIN, LAST_WORD_MS_MAX)
}

/// How a piece of waiting ended.
pub(super) enum Waited<T> {
    Done(T),
    Cancelled,
    TimeUp,
    Interrupted,
}

/// Waits for some work until it is done, or something comes before that.
pub(super) async fn wait<T>(
    work: impl Future<Output = T>,
    cancel: &CancellationToken,
    time: &TimeLimit,
    interrupts: Option<&mut watch::Receiver<()>>,
) -> Waited<T> {
    let interrupted = async {
        let told = match interrupts {
            Some(interrupts) => interrupts.changed().await.is_ok(),
            None => false,
        };
        if !told {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Waited::Cancelled,
        () = time.over() => Waited::TimeUp,
        () = interrupted => Waited::Interrupted,
        done = work => Waited::Done(done),
    }
}
