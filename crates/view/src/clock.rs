//! The time an agent has spent. It stands still while a person is asked, by the agent or below it, and while nobody works
//! on the session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A clock that is told the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkClock {
    /// What was spent before it last started.
    pub spent_ms: u64,
    /// Since when it goes; none while it stands still.
    pub since_ms: Option<u64>,
    /// Questions to a person that are open, of the agent and below it.
    pub asked: u32,
    /// Whether the agent is at work, so that the clock goes whenever nobody is asked.
    pub at_work: bool,
}

impl WorkClock {
    /// What was spent until now.
    pub fn spent_ms(&self, now_ms: u64) -> u64 {
        let now = self.since_ms.map_or(0, |since| now_ms.saturating_sub(since));
        self.spent_ms.saturating_add(now)
    }

    pub(crate) fn start(&mut self, at_ms: u64) {
        self.at_work = true;
        self.settle(at_ms);
    }

    /// Goes on after an interruption, with what had been spent by then.
    pub(crate) fn resume(&mut self, spent_ms: u64, at_ms: u64) {
        self.stop(at_ms);
        self.spent_ms = spent_ms;
        self.start(at_ms);
    }

    pub(crate) fn stop(&mut self, at_ms: u64) {
        self.at_work = false;
        self.settle(at_ms);
    }

    /// Stops for good, at what was measured.
    pub(crate) fn end(&mut self, spent_ms: u64, at_ms: u64) {
        self.stop(at_ms);
        self.spent_ms = spent_ms;
    }

    pub(crate) fn ask(&mut self, at_ms: u64) {
        self.asked = self.asked.saturating_add(1);
        self.settle(at_ms);
    }

    pub(crate) fn answer(&mut self, at_ms: u64) {
        self.asked = self.asked.saturating_sub(1);
        self.settle(at_ms);
    }

    /// Goes or stands still, as it should from now on.
    fn settle(&mut self, at_ms: u64) {
        let goes = self.at_work && self.asked == 0;
        if goes && self.since_ms.is_none() {
            self.since_ms = Some(at_ms);
        } else if !goes {
            self.spent_ms = self.spent_ms(at_ms);
            self.since_ms = None;
        }
    }
}
