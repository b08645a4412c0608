//! The tree itself: who there is, and the moves of an agent's life between admission and settling.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use posse_protocol::{AgentId, Budget, Grant, Spent};
use serde::{Deserialize, Serialize};

use crate::budget::finite;
use crate::limits::Limits;
use crate::names::AgentNames;
use crate::node::{Node, State};
use crate::slots::{Freed, Slots, Unparked};

/// The agents of one session. Owned by whoever drives the session; an id it does not know changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    pub(crate) limits: Limits,
    pub(crate) main: AgentId,
    /// Never shrinks: settled agents stay to be looked at. At most `limits.agents_max` and main.
    pub(crate) nodes: BTreeMap<AgentId, Node>,
    pub(crate) names: AgentNames,
    pub(crate) slots: Slots,
}

impl Tree {
    /// A tree with a main agent at work, which is called `main` and counts in no cap.
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

    /// Takes note of what an agent has spent itself so far: absolute figures, which never go down. `tokens` counts
    /// estimates where usage is unknown.
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

    /// An agent waits for its children: it gives its slot back.
    pub fn park(&mut self, id: AgentId) -> Freed {
        self.rest(id, State::Parked)
    }

    /// What a parked agent waited for is there. It goes on unless a question is open; where no slot is free, its turn
    /// comes before that of queued ones.
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

    /// An agent asks a person something: it gives its slot back. Questions may overlap with each other and with waiting
    /// for children; each is answered once. One that has not begun has nothing to ask.
    pub fn person_needed(&mut self, id: AgentId) -> Freed {
        let Some(node) = self.nodes.get(&id) else { return Freed::default() };
        if matches!(node.state, State::Pending | State::Queued) {
            return Freed::default();
        }
        self.change(id, |node| node.asking = node.asking.saturating_add(1));
        self.rest(id, State::NeedsPerson)
    }

    /// A question of an agent is closed. After the last one it goes on unless it waits for children, as after `unpark`.
    pub fn person_answered(&mut self, id: AgentId) -> Unparked {
        self.change(id, |node| node.asking = node.asking.saturating_sub(1));
        match self.nodes.get(&id) {
            Some(node) if node.state == State::Running => Unparked::Granted,
            Some(node) if node.state == State::NeedsPerson && node.asking == 0 => self.come_back(id),
            _ => Unparked::Waiting,
        }
    }

    /// Lets an agent wait without a slot. One that waits for its children and for a person counts as parked.
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

    /// An agent has nothing to wait for any more but a slot.
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

    /// Stops an agent and everything below it: nothing new begins there and what is queued never starts. Returns those
    /// that were not being stopped yet, deepest first, for the caller to stop and settle.
    pub fn cancel(&mut self, id: AgentId) -> Vec<AgentId> {
        let mut stop = self.unsettled_below(id);
        stop.extend(self.nodes.get(&id).filter(|node| !node.state.is_settled()).map(|node| node.id));
        stop.retain(|id| self.nodes.get(id).is_some_and(|node| !node.stopping));
        self.stop(&stop);
        stop
    }

    /// Marks agents as stopping, and lets none of them wait for a slot any longer.
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

    /// Hands free slots out: first to those that come back, then to the queue. One whose endpoint is busy does not
    /// hold up those behind it.
    pub(crate) fn fill(&mut self) -> Freed {
        let returning = std::mem::take(&mut self.slots.returning);
        let (go_on, returning) = self.let_in(returning);
        self.slots.returning = returning;
        let queue = std::mem::take(&mut self.slots.queue);
        let (start, queue) = self.let_in(queue);
        self.slots.queue = queue;
        Freed { start, go_on }
    }

    /// Gives slots to as many as can have one, in order; returns them and those who wait on.
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

/// The larger of two amounts, where known. What is no amount is not known.
pub(crate) fn dearer(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    let known = |usd: &f64| usd.is_finite() && *usd >= 0.0;
    match (a.filter(known), b.filter(known)) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}
