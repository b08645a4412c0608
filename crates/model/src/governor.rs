//! How many requests an endpoint gets at once, as a pure state machine: time is passed in, nothing waits here.
//!
//! ```text
//!             join            grant                      leave(Success)
//!   (caller) ------> waiting ------> running ------------------------------> gone, 5 in a row: limit + 1
//!                       |    first in,  |     leave(SlowDown{until_ms})
//!                       |    first out  +----------------------------------> gone, limit / 2, hold until then
//!                       |               |     leave(Neither)
//!                       +-- forget      +----------------------------------> gone
//! ```
//!
//! Nothing is granted while the endpoint is on hold or `limit` requests run.

use std::collections::VecDeque;

use crate::limits;

/// Names one request to the governor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(u64);

/// How a request ended, as far as the endpoint's load is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered.
    Success,
    /// The endpoint asked to be left alone until then.
    SlowDown {
        /// On the caller's clock.
        until_ms: u64,
    },
    /// It failed or was dropped, for reasons that say nothing about load.
    Neither,
}

/// The state of one endpoint.
#[derive(Clone, Debug)]
pub struct Governor {
    max: usize,
    limit: usize,
    running: usize,
    hold_until_ms: u64,
    successes: u32,
    next: u64,
    waiting: VecDeque<Ticket>,
}

impl Governor {
    /// An endpoint that takes at most so many requests at once.
    pub fn new(max_concurrent: usize) -> Self {
        let max = max_concurrent.clamp(1, limits::CONCURRENT_MAX);
        Self {
            max,
            limit: max,
            running: 0,
            hold_until_ms: 0,
            successes: 0,
            next: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Lowers the greatest number of requests, if this is lower.
    pub fn restrict(&mut self, max_concurrent: usize) {
        self.max = self.max.min(max_concurrent.max(1));
        self.limit = self.limit.min(self.max);
    }

    /// Puts a request at the end of the queue.
    pub fn join(&mut self) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.waiting.push_back(ticket);
        ticket
    }

    /// The next request that may run now; it counts as running from here on. Ask until there is none.
    pub fn grant(&mut self, now_ms: u64) -> Option<Ticket> {
        if now_ms < self.hold_until_ms || self.running >= self.limit {
            return None;
        }
        let ticket = self.waiting.pop_front()?;
        self.running += 1;
        Some(ticket)
    }

    /// When to ask again if nobody leaves before: the end of the hold, while somebody waits for it.
    pub fn wake_ms(&self, now_ms: u64) -> Option<u64> {
        (now_ms < self.hold_until_ms && !self.waiting.is_empty()).then_some(self.hold_until_ms)
    }

    /// A waiting request is no longer wanted.
    pub fn forget(&mut self, ticket: Ticket) {
        self.waiting.retain(|waiting| *waiting != ticket);
    }

    /// A running request has ended.
    pub fn leave(&mut self, outcome: Outcome) {
        self.running = self.running.saturating_sub(1);
        match outcome {
            Outcome::Neither => {}
            Outcome::SlowDown { until_ms } => {
                self.limit = (self.limit / 2).max(1);
                self.hold_until_ms = self.hold_until_ms.max(until_ms);
                self.successes = 0;
            }
            Outcome::Success => {
                self.successes += 1;
                if self.successes >= limits::RECOVERY_SUCCESSES && self.limit < self.max {
                    self.limit += 1;
                    self.successes = 0;
                }
            }
        }
    }

    /// How many requests may run at once now.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// How many run now.
    pub fn running(&self) -> usize {
        self.running
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}
