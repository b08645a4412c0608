//! The offers that wait for a worker, for couriers that have no broker to keep them. Pure: no clock, no IO.

use std::collections::{BTreeMap, BTreeSet};

use posse_protocol::AgentId;

use crate::courier::{CourierError, PostedOffer};
use crate::limits;
use crate::names::{LabelName, WorkerName};

/// Which offer of an agent is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub(crate) struct OfferKey {
    pub(crate) agent: AgentId,
    pub(crate) epoch: u64,
    pub(crate) attempt: u64,
}

impl OfferKey {
    pub(crate) fn of(offer: &PostedOffer) -> Self {
        Self { agent: offer.agent, epoch: offer.epoch, attempt: offer.attempt }
    }
}

/// All offers, in the order they came.
#[derive(Debug, Default)]
pub(crate) struct OfferBook {
    entries: BTreeMap<AgentId, Entry>,
    next_order: u64,
}

#[derive(Debug)]
struct Entry {
    offer: PostedOffer,
    order: u64,
    state: State,
    /// Workers that gave it back: they do not get the same offer again.
    given_back: BTreeSet<WorkerName>,
    /// Workers that took earlier offers of this epoch, and nothing came of it.
    idle: BTreeMap<WorkerName, Idle>,
}

/// How often in a row that was, and how many offers the worker leaves to others now.
#[derive(Clone, Copy, Debug, Default)]
struct Idle {
    times: u32,
    left: u32,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Leased(WorkerName),
    /// Used up; kept until it is withdrawn or offered anew, so that the same offer again changes nothing.
    Done(WorkerName),
}

impl Entry {
    /// Who leaves the next offer to others. Home offers again what nobody has claimed: whoever took the last offer did not.
    fn idle_next(&self, epoch: u64) -> BTreeMap<WorkerName, Idle> {
        if epoch != self.offer.epoch {
            return BTreeMap::new();
        }
        let mut idle = self.idle.clone();
        idle.values_mut().for_each(|idle| idle.left = idle.left.saturating_sub(1));
        if let State::Leased(worker) | State::Done(worker) = &self.state
            && (idle.contains_key(worker) || idle.len() < limits::WORKERS_MAX)
        {
            let idle = idle.entry(worker.clone()).or_default();
            idle.times = idle.times.saturating_add(1);
            // A claim may be on its way while home offers again: once is no fault.
            idle.left = (idle.times - 1).min(limits::OFFERS_LEFT_MAX);
        }
        idle
    }
}

impl OfferBook {
    /// Adds an offer, or replaces an older one of the agent. Says whether it is new.
    pub(crate) fn post(&mut self, offer: PostedOffer) -> Result<bool, CourierError> {
        let known = self.entries.get(&offer.agent).map(|entry| (entry.offer.epoch, entry.offer.attempt));
        match known {
            Some(known) if known >= (offer.epoch, offer.attempt) => return Ok(false),
            None if self.entries.len() >= limits::OFFERS_MAX => {
                return Err(CourierError::Full { what: "offers", max: limits::OFFERS_MAX });
            }
            _ => {}
        }
        self.next_order += 1;
        let idle =
            self.entries.get(&offer.agent).map(|entry| entry.idle_next(offer.epoch)).unwrap_or_default();
        let (agent, order, given_back) = (offer.agent, self.next_order, BTreeSet::new());
        self.entries.insert(agent, Entry { offer, order, state: State::Waiting, given_back, idle });
        Ok(true)
    }

    pub(crate) fn withdraw(&mut self, agent: AgentId) {
        self.entries.remove(&agent);
    }

    /// The oldest offer that is for this worker. It is the worker's until it is done or given back, or the worker is gone.
    pub(crate) fn take(&mut self, worker: &WorkerName, labels: &BTreeSet<LabelName>) -> Option<PostedOffer> {
        let is_for = |entry: &&mut Entry| {
            entry.state == State::Waiting
                && entry.offer.wants.fit(worker, labels)
                && !entry.given_back.contains(worker)
                && entry.idle.get(worker).is_none_or(|idle| idle.left == 0)
        };
        let entry = self.entries.values_mut().filter(is_for).min_by_key(|entry| entry.order)?;
        entry.state = State::Leased(worker.clone());
        Some(entry.offer.clone())
    }

    pub(crate) fn done(&mut self, worker: &WorkerName, key: OfferKey) {
        if let Some(entry) = self.leased(worker, key) {
            entry.state = State::Done(worker.clone());
        }
    }

    /// The worker never saw it.
    pub(crate) fn unused(&mut self, worker: &WorkerName, key: OfferKey) {
        if let Some(entry) = self.leased(worker, key) {
            entry.state = State::Waiting;
        }
    }

    pub(crate) fn give_back(&mut self, worker: &WorkerName, key: OfferKey) {
        if let Some(entry) = self.leased(worker, key) {
            entry.state = State::Waiting;
            entry.given_back.insert(worker.clone());
            entry.idle.remove(worker);
        }
    }

    /// A worker's connection has ended: its offers wait for others, or for it when it is back.
    pub(crate) fn gone(&mut self, worker: &WorkerName) {
        for entry in self.entries.values_mut() {
            if entry.state == State::Leased(worker.clone()) {
                entry.state = State::Waiting;
            }
            entry.given_back.remove(worker);
        }
    }

    fn leased(&mut self, worker: &WorkerName, key: OfferKey) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(&key.agent)?;
        let is_same = OfferKey::of(&entry.offer) == key && entry.state == State::Leased(worker.clone());
        is_same.then_some(entry)
    }
}
