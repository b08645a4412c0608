//! Agents that wait, for a person or for sub-agents, and hold no slot meanwhile.

use std::sync::Arc;

use posse_delegate::{State as AgentState, Unparked};
use posse_protocol::AgentId;
use tokio::sync::watch;

use super::{AgentSignals, Crew};
use crate::agents::clock::Stopped;
use crate::agents::process_slots::ProcessSlot;

impl Crew {
    /// While the guard lives the agent waits for a person: its clock and those of all above it stand still, and it
    /// needs no slot.
    pub(crate) fn wait_for_person(self: &Arc<Self>, id: AgentId) -> WaitingForPerson {
        let (freed, stopped) = {
            let mut inner = self.lock();
            let above = |id: AgentId| inner.tree.node(id).and_then(|node| node.parent);
            let line = std::iter::successors(Some(id), |id| above(*id)).collect::<Vec<_>>();
            let clocks = line.iter().filter_map(|id| inner.members.get(id));
            let stopped = clocks.map(|member| member.signals.clock.stop()).collect();
            // A slot of the process is of no use meanwhile.
            inner.members.get_mut(&id).map(|member| member.process_slot.take());
            (inner.tree.person_needed(id), stopped)
        };
        self.start_freed(freed);
        WaitingForPerson { crew: Arc::clone(self), id, _stopped: stopped }
    }

    /// While the guard lives, the agent waits for its sub-agents and needs no slot.
    pub(crate) fn park(self: &Arc<Self>, id: AgentId) -> Parked {
        let mut freed = None;
        {
            let mut inner = self.lock();
            if let Some(member) = inner.members.get_mut(&id) {
                member.waits += 1;
                if member.waits == 1 {
                    member.process_slot = None;
                    freed = Some(inner.tree.park(id));
                }
            }
        }
        if let Some(freed) = freed {
            self.start_freed(freed);
        }
        Parked { crew: Arc::clone(self), id }
    }

    /// The turns of those who ask the only agent of a role, first come, first served.
    pub(crate) fn turn_lock(&self, role: &str) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(self.lock().turns.entry(role.to_string()).or_default())
    }

    /// Hears of every agent that ends.
    pub(crate) fn subscribe_ends(&self) -> watch::Receiver<()> {
        self.ended.subscribe()
    }

    /// Waits until an agent that had given its slots back has them again: that of its session, then that of the process.
    pub(crate) async fn wait_for_slot(&self, id: AgentId, signals: &AgentSignals) {
        let mut news = signals.news.subscribe();
        loop {
            let (returning, has_slot) = {
                let inner = self.lock();
                let returning = inner.tree.node(id).is_some_and(|node| node.state == AgentState::Returning);
                let member = inner.members.get(&id);
                let has_slot = id == self.main || member.is_none_or(|member| member.process_slot.is_some());
                (returning, has_slot)
            };
            match (returning, has_slot) {
                (true, _) => drop(news.changed().await),
                (false, true) => return,
                (false, false) => {
                    let slot = self.process_slots.take().await;
                    return self.give_slot(id, slot);
                }
            }
        }
    }

    /// Gives an agent its slot among the agents of the process.
    pub(crate) fn give_slot(&self, id: AgentId, slot: ProcessSlot) {
        if let Some(member) = self.lock().members.get_mut(&id) {
            member.process_slot = Some(slot);
        }
    }
}

/// See [`Crew::wait_for_person`].
pub(crate) struct WaitingForPerson {
    crew: Arc<Crew>,
    id: AgentId,
    _stopped: Vec<Stopped>,
}

impl Drop for WaitingForPerson {
    fn drop(&mut self) {
        // If its slot is taken it gets the next one, as after waiting for sub-agents.
        let _ = self.crew.lock().tree.person_answered(self.id);
    }
}

/// See [`Crew::park`].
pub(crate) struct Parked {
    crew: Arc<Crew>,
    id: AgentId,
}

impl Drop for Parked {
    fn drop(&mut self) {
        let mut inner = self.crew.lock();
        let Some(member) = inner.members.get_mut(&self.id) else { return };
        member.waits = member.waits.saturating_sub(1);
        // If its slot is taken it gets the next one: the driver asks before it calls a model.
        if member.waits == 0 && inner.tree.unpark(self.id) == Unparked::Waiting {
            tracing::debug!(agent = %self.id, "waits for a slot to go on");
        }
    }
}
