//! What an agent and everything below it used together. Pure; it must not know the database.

use std::collections::HashMap;

use posse_protocol::{AgentId, Usage};

use crate::AgentRow;

/// Sums over one agent and all its descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// How many agents, itself included.
    pub agents: u64,
    /// Model calls made.
    pub turns: u64,
    /// Tool calls answered.
    pub tool_calls: u64,
    /// Tokens, as far as reported.
    pub usage: Usage,
    /// What it cost, as far as known.
    pub cost_usd: Option<f64>,
    /// How many of the agents called a model at a cost that is not known.
    pub cost_unknown: u64,
}

impl Totals {
    fn of(row: &AgentRow) -> Self {
        Self {
            agents: 1,
            turns: row.turns,
            tool_calls: row.tool_calls,
            usage: row.usage,
            cost_usd: row.cost_usd,
            cost_unknown: u64::from(row.cost_unknown),
        }
    }

    fn add(&mut self, below: Self) {
        self.agents = self.agents.saturating_add(below.agents);
        self.turns = self.turns.saturating_add(below.turns);
        self.tool_calls = self.tool_calls.saturating_add(below.tool_calls);
        self.usage.add(below.usage);
        self.cost_unknown = self.cost_unknown.saturating_add(below.cost_unknown);
        if let Some(cost) = below.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
    }
}

/// The totals of every agent among the rows, which may be in any order; in time linear in their number.
///
/// Leaves are taken off first, so that each agent is added to its parent once. Rows that name each other as parents,
/// which no session has, keep what does not depend on the circle.
pub fn subtree_totals(rows: &[AgentRow]) -> HashMap<AgentId, Totals> {
    let mut totals: HashMap<AgentId, Totals> = rows.iter().map(|row| (row.id, Totals::of(row))).collect();
    let mut parents: HashMap<AgentId, AgentId> = rows
        .iter()
        .filter_map(|row| Some((row.id, row.parent?)))
        .filter(|(_, parent)| totals.contains_key(parent))
        .collect();
    let mut children_left: HashMap<AgentId, usize> = HashMap::new();
    for parent in parents.values() {
        *children_left.entry(*parent).or_default() += 1;
    }
    let mut complete: Vec<AgentId> =
        rows.iter().map(|row| row.id).filter(|id| !children_left.contains_key(id)).collect();
    while let Some(id) = complete.pop() {
        let Some(parent) = parents.remove(&id) else { continue };
        let below = totals.get(&id).copied().unwrap_or_default();
        if let Some(above) = totals.get_mut(&parent) {
            above.add(below);
        }
        if let Some(left) = children_left.get_mut(&parent) {
            *left -= 1;
            if *left == 0 {
                complete.push(parent);
            }
        }
    }
    totals
}
