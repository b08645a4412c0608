//! Room for agents on a worker: so many at work, and more that wait for others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::limits;

/// See the module.
pub(crate) struct AgentPlaces {
    /// How many are at work at the same time.
    capacity: usize,
    /// Agents that are at work, those that wait for others not counted.
    busy: AtomicUsize,
    /// All of them.
    taken: AtomicUsize,
    /// Told when there may be room.
    pub(crate) freed: Notify,
}

impl AgentPlaces {
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        let (busy, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { capacity, busy, taken, freed: Notify::new() })
    }

    /// How many more could begin now. Those that wait for others take no room, but there is an end to it: each has a folder and some
    /// memory.
    pub(crate) fn room(&self) -> usize {
        let waiting_max = self.capacity.saturating_add(limits::RUNS_WAITING_MAX);
        let altogether = waiting_max.saturating_sub(self.taken.load(Ordering::Acquire));
        self.capacity.saturating_sub(self.busy.load(Ordering::Acquire)).min(altogether)
    }

    /// Whether nobody is at work.
    pub(crate) fn is_idle(&self) -> bool {
        self.busy.load(Ordering::Acquire) == 0
    }
}

/// Room that an agent takes while it works.
pub(crate) struct Busy {
    places: Arc<AgentPlaces>,
    waits: AtomicUsize,
}

impl Busy {
    pub(crate) fn new(places: &Arc<AgentPlaces>) -> Arc<Self> {
        places.busy.fetch_add(1, Ordering::AcqRel);
        places.taken.fetch_add(1, Ordering::AcqRel);
        Arc::new(Self { places: Arc::clone(places), waits: AtomicUsize::new(0) })
    }

    /// While the guard lives, the agent waits for others and takes no room: they may need it.
    pub(crate) fn wait(self: &Arc<Self>) -> Waits {
        if self.waits.fetch_add(1, Ordering::AcqRel) == 0 {
            self.places.busy.fetch_sub(1, Ordering::AcqRel);
            self.places.freed.notify_one();
        }
        Waits(Arc::clone(self))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.places.busy.fetch_sub(1, Ordering::AcqRel);
        self.places.taken.fetch_sub(1, Ordering::AcqRel);
        self.places.freed.notify_one();
    }
}

/// See [`Busy::wait`].
pub(crate) struct Waits(Arc<Busy>);

impl Drop for Waits {
    fn drop(&mut self) {
        // It goes on at once, even if there is one more then: nobody waits for room that another one holds.
        if self.0.waits.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.places.busy.fetch_add(1, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_wait_take_no_room_up_to_a_limit() {
        let places = AgentPlaces::new(2);
        let mut held = Vec::new();
        for _ in 0..limits::RUNS_WAITING_MAX {
            assert_eq!(places.room(), 2);
            let busy = Busy::new(&places);
            let waits = busy.wait();
            held.push((busy, waits));
        }
        assert!(places.is_idle());
        let working = [Busy::new(&places), Busy::new(&places)];
        assert_eq!(places.room(), 0, "two are at work");
        let waits = working.each_ref().map(|busy| (busy.wait(), busy.wait()));
        assert_eq!(places.room(), 0, "as many wait as may");
        held.truncate(1_000);
        assert_eq!(places.room(), 2);
        drop((waits, working, held));
        assert_eq!((places.room(), places.is_idle()), (2, true));
    }
}
