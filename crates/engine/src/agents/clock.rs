//! An agent's working time. It stands still while a person is asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Clones are the same clock.
#[derive(Clone)]
pub(crate) struct Clock(Arc<Inner>);

struct Inner {
    time: Mutex<Time>,
    /// Says that it stood still or goes on.
    changed: watch::Sender<()>,
}

struct Time {
    began: Instant,
    /// How long it stood still before now.
    stood: Duration,
    /// Since when it stands still, and for how many reasons.
    stands: Option<(Instant, usize)>,
}

impl Default for Clock {
    fn default() -> Self {
        let time = Time { began: Instant::now(), stood: Duration::ZERO, stands: None };
        Self(Arc::new(Inner { time: Mutex::new(time), changed: watch::Sender::default() }))
    }
}

impl Clock {
    fn time(&self) -> MutexGuard<'_, Time> {
        self.0.time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts it anew, with the time that somebody has worked already.
    pub(crate) fn begin(&self, worked: Duration) {
        let mut time = self.time();
        let now = Instant::now();
        time.began = now.checked_sub(worked).unwrap_or(now);
        time.stood = Duration::ZERO;
    }

    pub(crate) fn elapsed(&self) -> Duration {
        let time = self.time();
        let standing = time.stands.map_or(Duration::ZERO, |(since, _)| since.elapsed());
        time.began.elapsed().saturating_sub(time.stood).saturating_sub(standing)
    }

    /// Stops it while the guard lives.
    pub(crate) fn stop(&self) -> Stopped {
        let mut time = self.time();
        let (since, reasons) = time.stands.unwrap_or((Instant::now(), 0));
        time.stands = Some((since, reasons + 1));
        self.0.changed.send_replace(());
        Stopped(self.clone())
    }

    /// Waits until this much working time is over.
    pub(crate) async fn reaches(&self, deadline: Duration) {
        let mut changed = self.0.changed.subscribe();
        loop {
            let left = deadline.saturating_sub(self.elapsed());
            if self.time().stands.is_some() {
                // The sender lives in this clock, so this cannot fail.
                let _ = changed.changed().await;
            } else if left.is_zero() {
                return;
            } else {
                let _ = tokio::time::timeout(left, changed.changed()).await;
            }
        }
    }
}

/// See [`Clock::stop`].
pub(crate) struct Stopped(Clock);

impl Drop for Stopped {
    fn drop(&mut self) {
        let mut time = self.0.time();
        if let Some((since, reasons)) = time.stands {
            time.stands = (reasons > 1).then_some((since, reasons - 1));
            if reasons <= 1 {
                time.stood += since.elapsed();
            }
        }
        self.0.0.changed.send_replace(());
    }
}
