//! The slots of running agents, and the queues for them. Knows ids and endpoints, not agents.

use std::collections::{BTreeMap, VecDeque};

use posse_protocol::{AgentId, QueueReason};
use serde::{Deserialize, Serialize};

use crate::node::Endpoint;

/// The agents that got a slot because one became free. They hold it already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Freed {
    /// Queued agents that may start.
    pub start: Vec<AgentId>,
    /// Parked agents that may continue.
    pub go_on: Vec<AgentId>,
}

/// Whether an agent that waited may continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unparked {
    /// Now: it holds its slot.
    Granted,
    /// Later: it still waits for something else, or for a slot; then a `go_on` will name it. A stopping agent is never named.
    Waiting,
}

/// The slots of a session. Main never takes one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Slots {
    running: usize,
    /// Those at work by endpoint, without zeros.
    at_endpoint: BTreeMap<String, usize>,
    /// Who waits for a first slot, first come first.
    pub(crate) queue: VecDeque<AgentId>,
    /// Who has waited and wants to go on, first come first; before the queue.
    pub(crate) returning: VecDeque<AgentId>,
}

impl Slots {
    /// How many hold a slot.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// Why an agent of this endpoint cannot have a slot now.
    pub(crate) fn blocked(&self, endpoint: &Endpoint, running_max: usize) -> Option<QueueReason> {
        if self.running >= running_max {
            return Some(QueueReason::RunningCap);
        }
        // An endpoint for no agent at all would keep its agents waiting for ever.
        let agents_max = endpoint.agents_max?.max(1);
        let busy = self.at_endpoint.get(&endpoint.name).copied().unwrap_or(0);
        (busy >= agents_max).then_some(QueueReason::Endpoint)
    }

    /// Takes a slot; the caller has asked whether there is one.
    pub(crate) fn take(&mut self, endpoint: &Endpoint) {
        self.running += 1;
        *self.at_endpoint.entry(endpoint.name.clone()).or_default() += 1;
    }

    pub(crate) fn give_back(&mut self, endpoint: &Endpoint) {
        self.running = self.running.saturating_sub(1);
        if let Some(busy) = self.at_endpoint.get_mut(&endpoint.name) {
            *busy = busy.saturating_sub(1);
            if *busy == 0 {
                self.at_endpoint.remove(&endpoint.name);
            }
        }
    }

    /// Takes out of both queues those that `gone` names.
    pub(crate) fn forget(&mut self, gone: impl Fn(AgentId) -> bool) {
        self.queue.retain(|&id| !gone(id));
        self.returning.retain(|&id| !gone(id));
    }
}
