//! Home in the simulated world: one lease and one disk per agent. The disk takes a while, and a crash loses what is on its way.

use std::collections::VecDeque;

use posse_cluster::{HomeAction, HomeInput, HomeLease, HomeRestored, LeaseTimes};

use super::checks::{Disk, Settlement, Work};
use super::network::Clock;
use super::worker::RunName;

pub(super) type Action = HomeAction<Work, u64, RunName>;
pub(super) type Input = HomeInput<Work, u64, RunName>;

/// Something on its way to the disk.
#[derive(Clone, Debug)]
pub(super) enum Write {
    Grant { holder: RunName, epoch: u64, lease_ms: u64 },
    Items { epoch: u64, items: Vec<Work> },
    Settle(Settlement),
    Aside { holder: RunName, epoch: u64 },
}

pub(super) struct AgentAtHome {
    pub(super) lease: HomeLease<u64, RunName>,
    pub(super) disk: Disk,
    /// Writes with the real time at which they are durable, in order.
    pub(super) writes: VecDeque<(u64, Write)>,
    pub(super) wanted: u64,
}

impl AgentAtHome {
    pub(super) fn new(times: LeaseTimes, wanted: u64) -> Self {
        let (disk, writes) = (Disk::default(), VecDeque::new());
        Self { lease: HomeLease::new(times), disk, writes, wanted }
    }

    pub(super) fn write(&mut self, durable_ms: u64, write: Write) {
        let after = self.writes.back().map_or(0, |(at, _)| *at);
        self.writes.push_back((durable_ms.max(after), write));
    }

    /// Makes the next write durable, if it is time. Gives back what the lease is told.
    pub(super) fn flush(&mut self, real_ms: u64) -> Option<Input> {
        if self.writes.front().is_none_or(|(at, _)| *at > real_ms) {
            return None;
        }
        let (_, write) = self.writes.pop_front()?;
        Some(match write {
            Write::Grant { holder, epoch, lease_ms } => {
                (self.disk.epoch, self.disk.holder, self.disk.lease_ms) = (epoch, Some(holder), lease_ms);
                HomeInput::GrantRecorded { epoch }
            }
            Write::Items { epoch, items } => {
                self.disk.items.extend(items.into_iter().map(|item| (epoch, item)));
                HomeInput::Recorded { upto: self.disk.items.len() as u64 }
            }
            Write::Settle(settlement) => {
                let with_result = matches!(settlement, Settlement::Result(_));
                self.disk.settled.push(settlement);
                HomeInput::Settled { with_result }
            }
            Write::Aside { holder, epoch } => {
                self.disk.aside.push((holder, epoch));
                HomeInput::TakenAside { holder, epoch }
            }
        })
    }

    /// Home is killed: only the disk is left.
    pub(super) fn crash(&mut self, times: LeaseTimes, clock: &Clock, real_ms: u64) {
        self.writes.clear();
        let Disk { epoch, holder, lease_ms, items, settled, .. } = &self.disk;
        let (epoch, holder, lease_ms, recorded) = (*epoch, *holder, *lease_ms, items.len() as u64);
        let now_ms = clock.read(real_ms);
        let from = HomeRestored { epoch, holder, lease_ms, recorded };
        self.lease = HomeLease::restored(times, from, now_ms);
        if !settled.is_empty() {
            let _: Vec<Action> = self.lease.handle(now_ms, HomeInput::Settled { with_result: false });
        }
    }
}
