//! The tree itself: its agents, and how their states change between admission and settling.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use posse_protocol::{AgentId, Budget, Grant, Spent};
use serde::{Deserialize, Serialize};

use crate::budget::finite;
use crate::limits::Limits;
use crate::names::AgentNames;
use crate::node::{Node, State};
use crate::slots::{Freed, Slots, Unparked};

/// The agents of one session. Owned by the crew that runs the session. A call with an unknown id changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    pub(crate) limits: Limits,
    pub(crate) main: AgentId,
    /// Never shrinks: settled agents can still be read. At most `limits.agents_max` and main.
    pub(crate) nodes: BTreeMap<AgentId, Node>,
    pub(crate) names: AgentNames,
    pub(crate) slots: Slots,
}

impl Tree {
    /// A tree with a running main agent, which is called `main` and counts in no cap.
    pub fn new(limits: Limits, main: AgentId, grant: Grant, budget: Budget) -> Self {
        let budget = Budget { cost_usd: finite(budget.cost_usd), ..budget };
        let node = Node::main(main, grant, budget);
        let mut names = AgentNames::default();
        names.set(node.name.clone(), main);
        Self {
            limits: limits.bounded(),
            main,
            nodes: BTreeMap::from([(main, node)]),
            names,
            slots: Slots::default(),
        }
    }

    /// Updates what an agent itself has spent so far: totals, which never go down. `tokens` includes estimates where usage
    /// is unknown.
    pub fn spent(&mut self, id: AgentId, spent: &Spent, tokens: u64) {
        if let Some(node) = self.nodes.get_mut(&id).filter(|node| !node.state.is_settled()) {
            node.tokens = node.tokens.max(tokens);
            node.spent = Spent {
                turns: node.spent.turns.max(spent.turns),
                usage: spent.usage,
                time_ms: node.spent.time_ms.max(spent.time_ms),
                cost_usd: dearer(node.spent.cost_usd, spent.cost_usd),
            };
        }
    }

    /// Parks an agent that waits for its children: it gives its slot back.
    pub fn park(&mut self, id: AgentId) -> Freed {
        self.rest(id, State::Parked)
    }

    /// Ends the waiting of a parked agent. It continues unless a question is open. If no slot is free, it gets the next one,
    /// ahead of queued agents.
    pub fn unpark(&mut self, id: AgentId) -> Unparked {
        match self.nodes.get(&id) {
            Some(node) if node.state == State::Running => Unparked::Granted,
            Some(node) if node.state == State::Parked && node.asking > 0 => {
                self.change(id, |node| node.state = State::NeedsPerson);
                Unparked::Waiting
            }
            Some(node) if node.state == State::Parked => self.come_back(id),
            _ => Unparked::Waiting,
        }
    }

    /// An agent asks a person: it gives its slot back. Questions may overlap with each other and with waiting for
    /// children; each is answered once. An agent that has not started cannot ask.
    pub fn person_needed(&mut self, id: AgentId) -> Freed {
        let Some(node) = self.nodes.get(&id) else { return Freed::default() };
        if matches!(node.state, State::Pending | State::Queued) {
            return Freed::default();
        }
        self.change(id, |node| node.asking = node.asking.saturating_add(1));
        self.rest(id, State::NeedsPerson)
    }

    /// Closes a question of an agent. After the last one it continues unless it waits for children, as after `unpark`.
    pub fn person_answered(&mut self, id: AgentId) -> Unparked {
        self.change(id, |node| node.asking = node.asking.saturating_sub(1));
        match self.nodes.get(&id) {
            Some(node) if node.state == State::Running => Unparked::Granted,
            Some(node) if node.state == State::NeedsPerson && node.asking == 0 => self.come_back(id),
            _ => Unparked::Waiting,
        }
    }

    /// Lets an agent wait without a slot. If it waits for its children and for a person, it counts as parked.
    fn rest(&mut self, id: AgentId, waiting: State) -> Freed {
        let Some(node) = self.nodes.get(&id) else { return Freed::default() };
        match (&node.state, &node.endpoint) {
            (State::Running, Some(endpoint)) => self.slots.give_back(endpoint),
            (State::Running, None) => {}
            // One that was on its way back waits again: the slot it waited for goes to another.
            (State::Returning, _) => self.slots.returning.retain(|&returning| returning != id),
            (State::NeedsPerson, _) if waiting == State::Parked => {}
            _ => return Freed::default(),
        }
        self.change(id, |node| node.state = waiting);
        self.fill()
    }

    /// An agent waits for nothing but a slot.
    fn come_back(&mut self, id: AgentId) -> Unparked {
        if self.nodes.get(&id).is_some_and(|node| node.stopping) {
            self.change(id, |node| node.state = State::Parked);
            return Unparked::Waiting;
        }
        if self.begin(id) {
            return Unparked::Granted;
        }
        self.slots.returning.push_back(id);
        self.change(id, |node| node.state = State::Returning);
        Unparked::Waiting
    }

    /// Stops an agent and everything below it: nothing new starts there, and queued agents never start. Returns the agents
    /// that were not stopping yet, deepest first, for the caller to stop and settle.
    pub fn cancel(&mut self, id: AgentId) -> Vec<AgentId> {
        let mut stop = self.unsettled_below(id);
        stop.extend(self.nodes.get(&id).filter(|node| !node.state.is_settled()).map(|node| node.id));
        stop.retain(|id| self.nodes.get(id).is_some_and(|node| !node.stopping));
        self.stop(&stop);
        stop
    }

    /// Marks agents as stopping, and takes them out of the queues for a slot.
    pub(crate) fn stop(&mut self, ids: &[AgentId]) {
        for &id in ids {
            self.change(id, |node| {
                node.stopping = true;
                // It does not come back any more, so nobody should wait for that.
                if node.state == State::Returning {
                    node.state = State::Parked;
                }
            });
        }
        if !ids.is_empty() {
            let nodes = &self.nodes;
            self.slots.forget(|id| nodes.get(&id).is_none_or(|node| node.stopping));
        }
    }

    /// The descendants of an agent that have not settled, deepest first. Does not go through settled ones.
    pub(crate) fn unsettled_below(&self, id: AgentId) -> Vec<AgentId> {
        let mut found = Vec::new();
        let mut open = vec![id];
        while let Some(node) = open.pop().and_then(|id| self.nodes.get(&id)) {
            for &below in node.live.iter().chain(&node.strays) {
                found.push((self.nodes.get(&below).map_or(0, |node| node.depth), below));
                open.push(below);
            }
        }
        found.sort_by_key(|&(depth, id)| Reverse((depth, id)));
        found.into_iter().map(|(_, id)| id).collect()
    }

    /// Gives a slot to an agent if one is free for it.
    pub(crate) fn begin(&mut self, id: AgentId) -> bool {
        let Some(node) = self.nodes.get(&id) else { return false };
        if let Some(endpoint) = &node.endpoint {
            if self.slots.blocked(endpoint, self.limits.running_max).is_some() {
                return false;
            }
            self.slots.take(endpoint);
        }
        self.change(id, |node| node.state = State::Running);
        true
    }

    /// Hands out free slots: first to returning agents, then to the queue. An agent whose endpoint is busy does not block
    /// those behind it.
    pub(crate) fn fill(&mut self) -> Freed {
        let returning = std::mem::take(&mut self.slots.returning);
        let (go_on, returning) = self.let_in(returning);
        self.slots.returning = returning;
        let queue = std::mem::take(&mut self.slots.queue);
        let (start, queue) = self.let_in(queue);
        self.slots.queue = queue;
        Freed { start, go_on }
    }

    /// Gives slots to as many agents as possible, in order; returns them and those that still wait.
    fn let_in(&mut self, waiting: VecDeque<AgentId>) -> (Vec<AgentId>, VecDeque<AgentId>) {
        let mut lucky = Vec::new();
        let mut others = VecDeque::new();
        for id in waiting {
            if self.slots.running() < self.limits.running_max && self.begin(id) {
                lucky.push(id);
            } else {
                others.push_back(id);
            }
        }
        (lucky, others)
    }

    /// Changes an agent that has not settled, and counts the change if others can see it.
    pub(crate) fn change(&mut self, id: AgentId, change: impl FnOnce(&mut Node)) {
        let Some(node) = self.nodes.get_mut(&id).filter(|node| !node.state.is_settled()) else { return };
        let before = (node.word(), node.stopping);
        change(node);
        if before == (node.word(), node.stopping) {
            return;
        }
        node.changes.own += 1;
        if let Some(parent) = node.parent.and_then(|parent| self.nodes.get_mut(&parent)) {
            parent.changes.children += 1;
        }
    }
}

/// The larger of two amounts, as far as known. NaN counts as not known.
pub(crate) fn dearer(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    let known = |usd: &f64| usd.is_finite() && *usd >= 0.0;
    match (a.filter(known), b.filter(known)) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}
