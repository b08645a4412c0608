//! What agents have used: turns, calls, tokens, money. Unknown stays unknown, which is not zero.

use posse_protocol::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures of one agent, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// How many agents these are of.
    pub agents: u64,
    /// Model calls made.
    pub turns: u64,
    /// Tool calls answered.
    pub tool_calls: u64,
    /// Tokens, as far as reported.
    pub usage: Usage,
    /// What it cost in US dollars, as far as known.
    pub cost_usd: Option<f64>,
    /// How many of the agents called a model at a cost that is not known: then it cost more than that.
    pub cost_unknown: u64,
}

impl Figures {
    /// These and others together.
    #[must_use]
    pub fn with(mut self, others: Self) -> Self {
        self.agents = self.agents.saturating_add(others.agents);
        self.turns = self.turns.saturating_add(others.turns);
        self.tool_calls = self.tool_calls.saturating_add(others.tool_calls);
        self.usage.add(others.usage);
        self.cost_unknown = self.cost_unknown.saturating_add(others.cost_unknown);
        if let Some(cost) = others.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
        self
    }

    /// Adds what one agent has used more.
    pub(crate) fn add(&mut self, more: &NewlyUsed) {
        self.turns = self.turns.saturating_add(more.turns);
        self.tool_calls = self.tool_calls.saturating_add(more.tool_calls);
        self.usage.add(more.usage);
        if let Some(cost) = more.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
        match more.unknown {
            CostChange::Same => {}
            CostChange::NoLongerKnown => self.cost_unknown = self.cost_unknown.saturating_add(1),
            CostChange::NowKnown => self.cost_unknown = self.cost_unknown.saturating_sub(1),
        }
    }
}

/// Whether the cost of an agent has become known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CostChange {
    #[default]
    Same,
    NoLongerKnown,
    NowKnown,
}

/// What one agent has used more.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct NewlyUsed {
    pub(crate) turns: u64,
    pub(crate) tool_calls: u64,
    pub(crate) usage: Usage,
    pub(crate) cost_usd: Option<f64>,
    pub(crate) unknown: CostChange,
}
