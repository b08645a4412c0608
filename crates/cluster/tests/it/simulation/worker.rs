//! A worker of the simulated world: it takes offers, acts while it may, and forgets everything when it crashes.

use posse_cluster::{BufferLimits, LeaseTimes, WorkerLease, WorkerPhase, WorkerSend};

use super::checks::Work;
use super::network::Clock;

pub(super) type RunName = u64;

/// One run of an agent by a worker.
pub(super) struct Run {
    pub(super) name: RunName,
    pub(super) agent: usize,
    pub(super) lease: WorkerLease<Work, u64>,
    /// Whether its epoch was noted.
    pub(super) has_begun: bool,
    pub(super) is_stale: bool,
}

pub(super) struct SimulatedWorker {
    pub(super) clock: Clock,
    pub(super) runs: Vec<Run>,
    pub(super) down_until_ms: u64,
}

/// What a run does at one moment.
pub(super) enum Deed {
    /// An effect happened, and this is the item about it.
    Acted {
        epoch: u64,
        work: Work,
    },
    Full,
}

impl SimulatedWorker {
    pub(super) fn take(
        &mut self,
        agent: usize,
        name: RunName,
        (times, unacked_bytes_max): (LeaseTimes, usize),
        real_ms: u64,
    ) {
        let buffer = BufferLimits { unacked_bytes_max, piece_bytes_max: 3, item_bytes_max: 2 };
        let lease = WorkerLease::new(times, buffer, self.clock.read(real_ms));
        self.runs.push(Run { name, agent, lease, has_begun: false, is_stale: false });
    }
}

impl Run {
    /// Works for a moment: an effect if it may have one, its end if all is done.
    pub(super) fn work(&mut self, now_ms: u64, wanted: u64, nonce: u64) -> Option<Deed> {
        match self.lease.phase() {
            WorkerPhase::Held if self.lease.pushed() >= wanted => {
                self.lease.finish(self.name, now_ms);
                None
            }
            WorkerPhase::Held if self.lease.is_full() => Some(Deed::Full),
            WorkerPhase::Held if self.lease.may_act(now_ms) => {
                let work = Work { nonce };
                let bytes = 1 + (nonce % 2) as usize;
                self.lease.push(work, bytes).ok()?;
                Some(Deed::Acted { epoch: self.lease.epoch(), work })
            }
            WorkerPhase::Stale => {
                self.lease.finish(self.name, now_ms);
                None
            }
            _ => None,
        }
    }

    pub(super) fn sends(&mut self, now_ms: u64) -> Vec<WorkerSend<Work, u64>> {
        self.lease.tick(now_ms)
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.lease.phase(), WorkerPhase::Done | WorkerPhase::Refused(_))
            || self.lease.phase() == WorkerPhase::GivenUp && self.lease.tick_at_ms().is_none()
    }
}
