//! Questions to the tree. Only a look leaves a trace: how far the looker has seen.

use posse_protocol::AgentId;

use crate::names::first_with_prefix;
use crate::node::{Family, Node};
use crate::tree::Tree;

/// What there is to see for one who has looked before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusLook {
    /// The same as the last time.
    Unchanged,
    /// These agents, oldest first: all the children, or the one asked for. Empty if there is none.
    Changed(Vec<AgentId>),
}

impl Tree {
    /// One agent.
    pub fn node(&self, id: AgentId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    /// All agents, main included, in the order of their ids.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// The main agent.
    pub fn main(&self) -> AgentId {
        self.main
    }

    /// How many sub-agents hold a slot.
    pub fn running(&self) -> usize {
        self.slots.running()
    }

    /// How many agents wait for their first slot.
    pub fn queued(&self) -> usize {
        self.slots.queue.len()
    }

    /// What an agent needs to know of its descendants for its own budget and for idling.
    pub fn family(&self, id: AgentId) -> Family {
        self.nodes.get(&id).map(Node::family).unwrap_or_default()
    }

    /// How many reports an agent was not given yet.
    pub fn undelivered(&self, parent: AgentId) -> usize {
        self.nodes.get(&parent).map_or(0, |node| node.reports.len())
    }

    /// Its children that have not settled, oldest first.
    pub fn live_children(&self, id: AgentId) -> Vec<AgentId> {
        self.nodes.get(&id).map(|node| node.live.clone()).unwrap_or_default()
    }

    /// An agent below `by`, by its name without regard to case, its id, or the beginning of its id.
    pub fn find(&self, by: AgentId, name: &str) -> Option<AgentId> {
        self.find_peer(name).filter(|&id| self.is_below(id, by))
    }

    /// Any agent of the session, in the same ways. A beginning that fits two ids finds none.
    pub fn find_peer(&self, name: &str) -> Option<AgentId> {
        if let Some(id) = self.names.find(name) {
            // A name may be held for an agent that could not be restored.
            return self.nodes.contains_key(&id).then_some(id);
        }
        let prefix = name.trim().to_ascii_lowercase();
        let mut fitting = self.nodes.range(first_with_prefix(&prefix)?..).map(|(id, _)| *id);
        let found = fitting.next().filter(|id| id.to_string().starts_with(&prefix))?;
        let second = fitting.next().filter(|id| id.to_string().starts_with(&prefix));
        second.is_none().then_some(found)
    }

    /// Whether an agent is a child of another, or a child's child, and so on.
    pub fn is_below(&self, id: AgentId, above: AgentId) -> bool {
        let parent = |id: AgentId| self.nodes.get(&id).and_then(|node| node.parent);
        std::iter::successors(parent(id), |&id| parent(id)).any(|id| id == above)
    }

    /// What `by` sees of its children, or of one agent, if any state has changed since it last looked there. How far they
    /// got in their work does not count. What is not below `by` always counts as changed.
    pub fn look(&mut self, by: AgentId, of: Option<AgentId>) -> StatusLook {
        let seen = match of {
            None => self.nodes.get_mut(&by).map(|node| {
                let now = node.changes.children;
                (node.changes.looked_children.replace(now) == Some(now), node.children.clone())
            }),
            Some(of) if self.is_below(of, by) => self.look_at(by, of).map(|same| (same, vec![of])),
            Some(of) => self.nodes.get(&of).map(|node| (false, vec![node.id])),
        };
        match seen {
            Some((true, _)) => StatusLook::Unchanged,
            Some((false, ids)) => StatusLook::Changed(ids),
            None => StatusLook::Changed(Vec::new()),
        }
    }

    /// Whether a descendant is as it was when `by` last looked at it.
    fn look_at(&mut self, by: AgentId, of: AgentId) -> Option<bool> {
        let now = self.nodes.get(&of)?.changes.own;
        Some(self.nodes.get_mut(&by)?.changes.looked.insert(of, now) == Some(now))
    }
}
