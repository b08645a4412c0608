//! Restores the tree of a session that another process had started, from the recorded events of its agents.
//!
//! Everything that happened is repeated in the order of the record: agents are put below their parents, and those that had
//! ended are settled, so that budgets, names and reports are as they were. Then the agents that had not ended are queued, in
//! the order of their admission, and get slots like any others.
//!
//! A recorded grant never gives an agent more rights than its parent has now: it is intersected with the parent's. Agents whose
//! records contradict each other are left out. What agents had already seen of each other is not recorded: each sees all of
//! it once more.

use std::cmp::Reverse;

use posse_policy::meet;
use posse_protocol::{AgentId, Approval, Budget, Seq, Spent};

use crate::budget::{self, Bill};
use crate::known::{Known, KnownEnd, KnownMain, Misfit, Restored, StopCause};
use crate::limits::{self, Limits};
use crate::names::AgentNames;
use crate::node::{Node, State};
use crate::tree::{Tree, dearer};

/// One thing to be done over again: an agent by its place in the list, or main.
#[derive(Clone, Copy)]
enum Move {
    Admit(usize),
    Settle(usize),
    SettleMain,
}

impl Tree {
    /// The tree of a session that another process had begun.
    pub fn restored(limits: Limits, main: KnownMain, mut agents: Vec<Known>) -> Restored {
        agents.sort_by_key(|known| known.admitted_at);
        let mut tree = Self::new(limits, main.id, main.grant, sound(main.budget));
        tree.spent(main.id, &main.spent, main.tokens);
        let mut refused = Vec::new();
        let mut placed = vec![false; agents.len()];
        for next in moves(main.settled.as_ref(), &agents) {
            match next {
                Move::Admit(at) => match tree.put_back(&agents[at]) {
                    Ok(()) => placed[at] = true,
                    Err(misfit) => refused.push((agents[at].id, misfit)),
                },
                Move::Settle(at) if placed[at] => tree.settle_again(&agents[at]),
                Move::Settle(_) => {}
                Move::SettleMain => {
                    if let Some(end) = &main.settled {
                        tree.settle(main.id, &end.ending, &end.receipt);
                    }
                }
            }
        }
        let open = agents.iter().zip(placed).filter(|(known, placed)| *placed && known.settled.is_none());
        let open: Vec<&Known> = open.map(|(known, _)| known).collect();
        let stopping = tree.stop_unfit(&open);
        for known in open {
            if tree.node(known.id).is_some_and(|node| !node.stopping) {
                tree.enqueue(known.id);
            }
        }
        let freed = tree.fill();
        Restored { tree, freed, stopping, refused }
    }

    /// Reopens the main agent after it has settled, for another prompt of the person; `budget` includes what it has spent.
    /// What its children cost stays charged, and reports that it has not got wait for it. False if it has not settled.
    pub fn reopen_main(&mut self, budget: Budget) -> bool {
        let Some(main) = self.nodes.get_mut(&self.main).filter(|main| main.state.is_settled()) else {
            return false;
        };
        main.state = State::Running;
        main.stopping = false;
        main.budget = sound(budget);
        main.changes.own += 1;
        true
    }

    /// Gives an agent that has not settled another budget, which includes what it has spent.
    pub fn set_budget(&mut self, id: AgentId, budget: Budget) {
        if let Some(node) = self.nodes.get_mut(&id).filter(|node| !node.state.is_settled()) {
            node.budget = sound(budget);
            node.changes.own += 1;
        }
    }

    /// Changes what the main agent does without asking. Its sub-agents keep what they have; new ones get no more than this.
    pub fn set_approval(&mut self, id: AgentId, approval: Approval) {
        if let Some(node) = self.nodes.get_mut(&id).filter(|node| node.parent.is_none()) {
            node.grant.approval = approval;
        }
    }

    /// Lets an agent spend more. Tokens and money come out of the budgets above it, so those grow as much; turns and time are
    /// its own. What has no limit stays without one. Gives back the budgets that changed, its own first.
    pub fn top_up(&mut self, id: AgentId, more: Budget) -> Vec<(AgentId, Budget)> {
        if self.nodes.get(&id).is_none_or(|node| node.state.is_settled()) {
            return Vec::new();
        }
        let mut changed = Vec::new();
        let (mut at, mut more, mut below) = (Some(id), more, None::<Budget>);
        while let Some(node) = at.and_then(|at| self.nodes.get_mut(&at)) {
            if let Some(below) = below {
                budget::reserve(node, below);
            }
            let before = node.budget;
            node.budget = sound(Budget {
                turns: before.turns.map(|turns| turns.saturating_add(more.turns.unwrap_or(0))),
                tokens: before.tokens.map(|tokens| tokens.saturating_add(more.tokens.unwrap_or(0))),
                time_ms: before.time_ms.map(|ms| ms.saturating_add(more.time_ms.unwrap_or(0))),
                cost_usd: before.cost_usd.map(|usd| usd + more.cost_usd.unwrap_or(0.0).max(0.0)),
            });
            // What was set aside for it grows by what it got.
            let tokens = more.tokens.filter(|_| before.tokens.is_some());
            let cost_usd = more.cost_usd.map(|usd| usd.max(0.0)).filter(|_| before.cost_usd.is_some());
            below = Some(Budget { tokens, cost_usd, ..Budget::UNLIMITED });
            if node.budget != before {
                node.changes.own += 1;
                changed.push((node.id, node.budget));
            }
            (more.turns, more.time_ms) = (None, None);
            at = node.parent;
        }
        changed
    }

    /// Puts an agent where it was, or charges main with what it had spent if it has no place.
    fn put_back(&mut self, known: &Known) -> Result<(), Misfit> {
        let mut node = node_of(known);
        if let Err(misfit) = self.fits(known) {
            if let Ok(name) = AgentNames::given(&known.name) {
                self.names.hold(name, known.id);
            }
            node.budget = Budget::UNLIMITED;
            if let Some(main) = self.nodes.get_mut(&self.main) {
                budget::charge(main, Bill::of(&node));
            }
            return Err(misfit);
        }
        if let Some(parent) = self.nodes.get(&known.parent) {
            node.grant = meet(&parent.grant, &node.grant);
            node.stopping = parent.stopping || parent.state.is_settled();
        }
        if let Some(predecessor) = known.continues.and_then(|id| self.nodes.get(&id)) {
            node.grant = meet(&node.grant, &predecessor.grant);
        }
        self.attach(node);
        Ok(())
    }

    /// Whether an agent's record goes together with what is in the tree.
    fn fits(&self, known: &Known) -> Result<(), Misfit> {
        let parent = self.nodes.get(&known.parent).ok_or(Misfit::UnknownParent)?;
        if self.nodes.contains_key(&known.id) {
            return Err(Misfit::IdTwice);
        }
        if known.depth != parent.depth.saturating_add(1) {
            return Err(Misfit::WrongDepth);
        }
        let followable = |node: &&Node| node.state.is_settled() && node.continued_by.is_none();
        let predecessor = known.continues.map(|id| self.nodes.get(&id).filter(followable));
        if matches!(predecessor, Some(None)) {
            return Err(Misfit::BadPredecessor);
        }
        if AgentNames::given(&known.name).as_ref() != Ok(&known.name) {
            return Err(Misfit::BadName);
        }
        if self.names.find(&known.name).is_some_and(|owner| Some(owner) != known.continues) {
            return Err(Misfit::NameTwice);
        }
        // Main is a node, and no sub-agent. What the session allows today counts for new agents only.
        if self.nodes.len() > limits::AGENTS_MAX {
            return Err(Misfit::TooManyAgents { max: limits::AGENTS_MAX });
        }
        Ok(())
    }

    fn settle_again(&mut self, known: &Known) {
        let Some(end) = &known.settled else { return };
        self.settle(known.id, &end.ending, &end.receipt);
        if !known.delivered {
            return;
        }
        if let Some(node) = self.nodes.get_mut(&known.id) {
            node.delivered = true;
        }
        if let Some(parent) = self.nodes.get_mut(&known.parent)
            && parent.reports.back() == Some(&known.id)
        {
            parent.reports.pop_back();
        }
    }

    /// Marks those that must not go on as stopping, with everything below them.
    fn stop_unfit(&mut self, open: &[&Known]) -> Vec<(AgentId, StopCause)> {
        let mut stopping = Vec::new();
        for known in open {
            let Some(node) = self.nodes.get(&known.id) else { continue };
            let (depth, max) = (node.depth, self.limits.depth_max);
            let cause = if node.stopping {
                StopCause::ParentGone
            } else if known.stopping {
                StopCause::Cancelled
            } else if depth > max {
                StopCause::TooDeep { depth, max }
            } else if known.endpoint.is_none() {
                StopCause::NoEndpoint
            } else {
                continue;
            };
            self.cancel(known.id);
            stopping.push((depth, known.id, cause));
        }
        stopping.sort_by_key(|&(depth, id, _)| Reverse((depth, id)));
        stopping.into_iter().map(|(_, id, cause)| (id, cause)).collect()
    }
}

/// Everything that happened, in order. An agent that is said to have ended before it began ended right after.
fn moves(main: Option<&KnownEnd>, agents: &[Known]) -> Vec<Move> {
    let mut moves: Vec<(Seq, Move)> = main.map(|end| (end.at, Move::SettleMain)).into_iter().collect();
    for (at, known) in agents.iter().enumerate() {
        moves.push((known.admitted_at, Move::Admit(at)));
        let end = known.settled.as_ref().map(|end| end.at.max(known.admitted_at));
        moves.extend(end.map(|end| (end, Move::Settle(at))));
    }
    // Stable: of two at the same place the first is first.
    moves.sort_by_key(|&(at, _)| at);
    moves.into_iter().map(|(_, next)| next).collect()
}

fn node_of(known: &Known) -> Node {
    Node {
        parent: Some(known.parent),
        name: known.name.clone(),
        role: known.role.clone(),
        title: known.title.chars().take(limits::TITLE_CHARS_MAX).collect(),
        depth: known.depth,
        state: State::Pending,
        endpoint: known.endpoint.clone(),
        continues: known.continues,
        spent: Spent { cost_usd: dearer(None, known.spent.cost_usd), ..known.spent },
        tokens: known.tokens,
        ..Node::main(known.id, known.grant.clone(), sound(known.budget))
    }
}

/// A budget whose money is an amount. Less than nothing, or no number, is nothing.
fn sound(budget: Budget) -> Budget {
    Budget { cost_usd: budget::finite(budget.cost_usd).map(|usd| usd.max(0.0)), ..budget }
}
