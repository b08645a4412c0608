//! How an agent ends, once, and how its report gets to its parent, once.

use posse_protocol::{AgentId, Ending, Receipt};

use crate::budget::{Bill, charge};
use crate::node::State;
use crate::slots::Freed;
use crate::tree::{Tree, dearer};

/// What the end of an agent leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// The agents that may run now.
    pub freed: Freed,
    /// The agent that gets its report; none for the main agent, and if the parent has ended before.
    pub parent: Option<AgentId>,
    /// Descendants that had not settled, deepest first. They are marked as stopping: stop and settle them. Empty if the
    /// caller settled them first, as it should.
    pub orphans: Vec<AgentId>,
}

impl Tree {
    /// Ends an agent, exactly once: `None` if it has ended before. Frees its slot. The part of its budget that was not spent
    /// returns to its parent; what it and those below it spent is charged to the parent.
    pub fn settle(&mut self, id: AgentId, ending: &Ending, receipt: &Receipt) -> Option<Settled> {
        let node = self.nodes.get(&id).filter(|node| !node.state.is_settled())?;
        let parent = node.parent;
        self.leave_slot(id);
        let orphans = self.unsettled_below(id);
        self.stop(&orphans);

        self.change(id, |node| {
            node.tokens = node.tokens.max(receipt.usage.total_tokens().unwrap_or(0));
            node.spent.turns = node.spent.turns.max(receipt.turns);
            node.spent.cost_usd = dearer(node.spent.cost_usd, receipt.cost_usd);
            node.asking = 0;
            node.state = State::Settled(ending.clone());
        });
        self.charge_for(id, receipt);
        let parent = parent.filter(|&parent| self.hand_in(parent, id));
        Some(Settled { freed: self.fill(), parent, orphans })
    }

    /// Gives back its slot, or leaves the queue for one.
    fn leave_slot(&mut self, id: AgentId) {
        let Some(node) = self.nodes.get(&id) else { return };
        match (&node.state, &node.endpoint) {
            (State::Running, Some(endpoint)) => self.slots.give_back(endpoint),
            (State::Queued | State::Returning, _) => self.slots.forget(|waiting| waiting == id),
            _ => {}
        }
    }

    /// Charges the agent that pays for another, which is the parent unless that ended earlier.
    fn charge_for(&mut self, id: AgentId, receipt: &Receipt) {
        let Some(child) = self.nodes.get_mut(&id) else { return };
        // Main keeps what is left below it: nobody is above it to pay, and it may be taken up again.
        let Some(parent) = child.parent else { return };
        let bill = Bill::of(child);
        let left_behind: Vec<AgentId> = child.live.drain(..).chain(child.strays.drain(..)).collect();
        let payer = self.payer(parent);
        let Some(node) = self.nodes.get_mut(&payer) else { return };
        node.live.retain(|&live| live != id);
        node.strays.retain(|&stray| stray != id);
        node.strays.extend(left_behind);
        charge(node, bill);
        // What is below it is known here; what the caller wrote about that does not matter.
        node.ledger.below.add(&Receipt {
            turns: receipt.turns,
            tool_calls: receipt.tool_calls,
            commands_total: receipt.commands_total,
            commands_failed: receipt.commands_failed,
            usage: receipt.usage,
            cost_usd: receipt.cost_usd,
            below: bill.ledger.below,
            ..Receipt::default()
        });
    }

    /// Who pays for a child of this agent: it or the nearest above it that has not settled, and in the end main.
    pub(crate) fn payer(&self, parent: AgentId) -> AgentId {
        let mut payer = parent;
        while let Some(node) = self.nodes.get(&payer).filter(|node| node.state.is_settled()) {
            let Some(above) = node.parent else { break };
            payer = above;
        }
        payer
    }

    /// Hands a settled child's report to its parent; false if the parent has settled. Such a parent never reads it,
    /// unless it is main and is reopened.
    fn hand_in(&mut self, parent: AgentId, child: AgentId) -> bool {
        let Some(parent) = self.nodes.get_mut(&parent) else { return false };
        let settled = parent.state.is_settled();
        if !settled || parent.parent.is_none() {
            parent.reports.push_back(child);
        }
        !settled
    }

    /// Settled children whose reports the parent was not given yet, first settled first; all or those in `of`. They count
    /// as given from now on. This works for a settled parent too, for an agent that continues its conversation.
    pub fn take_reports(&mut self, parent: AgentId, of: Option<&[AgentId]>) -> Vec<AgentId> {
        let Some(node) = self.nodes.get_mut(&parent) else { return Vec::new() };
        let (taken, kept): (Vec<AgentId>, Vec<AgentId>) =
            std::mem::take(&mut node.reports).into_iter().partition(|id| of.is_none_or(|of| of.contains(id)));
        node.reports = kept.into();
        for id in &taken {
            if let Some(child) = self.nodes.get_mut(id) {
                child.delivered = true;
            }
        }
        taken
    }
}
