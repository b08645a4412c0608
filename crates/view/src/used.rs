//! What one agent has used, event by event.

use posse_protocol::{Receipt, Usage};

use crate::AgentView;
use crate::figures::{CostChange, NewlyUsed};

/// Sums of the same costs in another order differ by less.
const ROUNDING_USD: f64 = 1e-9;

/// What one agent has used itself. Each of these says what is new, for those above it.
impl AgentView {
    /// A model call begins.
    pub(crate) fn used_turn(&mut self) -> NewlyUsed {
        self.add_own(NewlyUsed { turns: 1, ..NewlyUsed::default() })
    }

    /// A tool call was answered.
    pub(crate) fn used_tool(&mut self) -> NewlyUsed {
        self.add_own(NewlyUsed { tool_calls: 1, ..NewlyUsed::default() })
    }

    /// A model replied.
    pub(crate) fn used_reply(&mut self, usage: Usage, cost_usd: Option<f64>) -> NewlyUsed {
        let cost_usd = cost_usd.filter(|usd| usd.is_finite() && *usd >= 0.0);
        self.unpriced_calls = self.unpriced_calls.saturating_add(u64::from(cost_usd.is_none()));
        self.add_own(NewlyUsed { usage, cost_usd, ..NewlyUsed::default() })
    }

    /// The agent ended. Its receipt covers its whole life and may know more than its events: not every agent has each
    /// of its steps on record, and older replies have no cost.
    pub(crate) fn used_in_all(&mut self, receipt: &Receipt) -> NewlyUsed {
        let told = self.own;
        self.unpriced_calls = self.unpriced_after(receipt);
        let mut more = self.add_own(NewlyUsed {
            turns: u64::from(receipt.turns).saturating_sub(told.turns),
            tool_calls: u64::from(receipt.tool_calls).saturating_sub(told.tool_calls),
            usage: beyond(receipt.usage, told.usage),
            cost_usd: receipt.cost_usd.map(|all| all - told.cost_usd.unwrap_or(0.0)),
            unknown: CostChange::Same,
        });
        // The sum of both differs from it by rounding.
        self.own.cost_usd = receipt.cost_usd.or(self.own.cost_usd);
        if told.cost_usd == self.own.cost_usd {
            more.cost_usd = None;
        }
        more
    }

    fn unpriced_after(&self, receipt: &Receipt) -> u64 {
        match (receipt.cost_usd, self.own.cost_usd) {
            // It has priced what the replies do not.
            (Some(all), told) if told.is_none_or(|told| all > told + ROUNDING_USD) => 0,
            (None, None) => self.unpriced_calls.max(self.own.turns).max(u64::from(receipt.turns)),
            _ => self.unpriced_calls,
        }
    }

    fn add_own(&mut self, mut more: NewlyUsed) -> NewlyUsed {
        let before = self.own.cost_unknown;
        self.own.add(&more);
        // A call that never came back has no reply, and nobody knows what it cost.
        let unknown = self.unpriced_calls > 0 || (self.own.cost_usd.is_none() && self.own.turns > 0);
        self.own.cost_unknown = u64::from(unknown);
        more.unknown = match (before, self.own.cost_unknown) {
            (0, 1..) => CostChange::NoLongerKnown,
            (1.., 0) => CostChange::NowKnown,
            _ => CostChange::Same,
        };
        more
    }
}

/// What is missing to these tokens in those that are known already; none where nothing is.
fn beyond(all: Usage, known: Usage) -> Usage {
    let beyond = |all: Option<u64>, known: Option<u64>| match (all, known) {
        (Some(all), Some(known)) => Some(all.saturating_sub(known)).filter(|more| *more > 0),
        (all, None) => all,
        (None, _) => None,
    };
    Usage {
        input_tokens: beyond(all.input_tokens, known.input_tokens),
        cached_tokens: beyond(all.cached_tokens, known.cached_tokens),
        cache_write_tokens: beyond(all.cache_write_tokens, known.cache_write_tokens),
        output_tokens: beyond(all.output_tokens, known.output_tokens),
        reasoning_tokens: beyond(all.reasoning_tokens, known.reasoning_tokens),
    }
}
