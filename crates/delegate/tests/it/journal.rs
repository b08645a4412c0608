//! What a record would hold of a tree, kept beside it: who was admitted and who ended, in which order.

use std::collections::BTreeMap;

use posse_delegate::{
    Admission, Known, KnownEnd, KnownMain, Limits, Refusal, Request, Restored, Settled, Tree,
};
use posse_protocol::{AgentId, Ending, Receipt, Seq};

/// The record of one tree.
#[derive(Default)]
pub(crate) struct Journal {
    last: u64,
    admitted: BTreeMap<AgentId, (Seq, String)>,
    ended: BTreeMap<AgentId, KnownEnd>,
}

impl Journal {
    fn next(&mut self) -> Seq {
        self.last += 1;
        Seq(self.last)
    }

    pub(crate) fn admit(&mut self, tree: &mut Tree, request: Request) -> Result<Admission, Refusal> {
        let id = request.id;
        let admission = tree.admit(request)?;
        let at = self.next();
        self.admitted.insert(id, (at, admission.name.clone()));
        Ok(admission)
    }

    pub(crate) fn settle(
        &mut self,
        tree: &mut Tree,
        id: AgentId,
        ending: &Ending,
        receipt: &Receipt,
    ) -> Option<Settled> {
        let settled = tree.settle(id, ending, receipt)?;
        let end = KnownEnd { at: self.next(), ending: ending.clone(), receipt: receipt.clone() };
        self.ended.insert(id, end);
        Some(settled)
    }

    /// Main was taken up again: that it had ended does not matter any more.
    pub(crate) fn reopened(&mut self, tree: &Tree) {
        self.ended.remove(&tree.main());
    }

    pub(crate) fn main(&self, tree: &Tree) -> KnownMain {
        let node = tree.node(tree.main()).unwrap();
        KnownMain {
            id: node.id,
            grant: node.grant.clone(),
            budget: node.budget,
            spent: node.spent,
            tokens: node.tokens,
            settled: self.ended.get(&node.id).cloned(),
        }
    }

    /// The sub-agents, in the order of their ids.
    pub(crate) fn agents(&self, tree: &Tree) -> Vec<Known> {
        let known = |(id, (at, name)): (&AgentId, &(Seq, String))| {
            let node = tree.node(*id).unwrap();
            Known {
                id: *id,
                parent: node.parent.unwrap(),
                name: name.clone(),
                role: node.role.clone(),
                title: node.title.clone(),
                depth: node.depth,
                grant: node.grant.clone(),
                budget: node.budget,
                endpoint: node.endpoint.clone(),
                continues: node.continues,
                spent: node.spent,
                tokens: node.tokens,
                admitted_at: *at,
                settled: self.ended.get(id).cloned(),
                delivered: node.delivered,
                stopping: node.stopping && !node.state.is_settled(),
            }
        };
        self.admitted.iter().map(known).collect()
    }

    pub(crate) fn restored(&self, limits: Limits, tree: &Tree) -> Restored {
        Tree::restored(limits, self.main(tree), self.agents(tree))
    }

    /// Agents in the order of their admission.
    pub(crate) fn order(&self) -> Vec<AgentId> {
        let mut order: Vec<(Seq, AgentId)> = self.admitted.iter().map(|(id, (at, _))| (*at, *id)).collect();
        order.sort();
        order.into_iter().map(|(_, id)| id).collect()
    }
}
