//! What an agent has spent, and whether it may spend more.

use posse_protocol::{Ending, Reply};

use super::Agent;
use crate::limits;

impl Agent {
    pub(super) fn over_budget(&self) -> Option<(Ending, &'static str)> {
        let budget = &self.settings.budget;
        let over = |limit: Option<u64>, spent: u64| limit.is_some_and(|limit| spent >= limit);
        let tokens = self.tokens_counted.saturating_add(self.kin.tokens);
        // The last report is part of the budget.
        let no_room = budget.tokens.is_some_and(|limit| tokens.saturating_add(self.reply_tokens) > limit);
        let cost_usd = self.spent.cost_usd.unwrap_or(0.0) + self.kin.cost_usd;
        if over(budget.time_ms, self.spent.time_ms) {
            Some((Ending::TimedOut, "your time is over"))
        } else if over(budget.turns.map(u64::from), u64::from(self.spent.turns)) {
            Some((Ending::OutOfTurns, "your turns are used up"))
        } else if over(budget.tokens, tokens) || no_room {
            Some((Ending::OutOfTokens, "your tokens are used up"))
        } else if budget.cost_usd.is_some_and(|limit| cost_usd >= limit) {
            Some((Ending::OutOfMoney, "the money for this task is used up"))
        } else {
            None
        }
    }

    pub(super) fn count(&mut self, reply: &Reply, cost_usd: Option<f64>) {
        let request_bytes = self.settings.fixed_bytes + self.conversation.bytes();
        let reply_bytes = reply.text.len() + reply.calls.iter().map(|c| c.arguments.len()).sum::<usize>();
        let estimate = (request_bytes + reply_bytes) as u64 / limits::BYTES_PER_TOKEN;
        let tokens = reply.usage.total_tokens().unwrap_or(estimate);
        self.tokens_counted = self.tokens_counted.saturating_add(tokens);
        self.reply_tokens = tokens;
        self.spent.usage.add(reply.usage);
        if let Some(cost) = cost_usd {
            self.spent.cost_usd = Some(self.spent.cost_usd.unwrap_or(0.0) + cost);
        }
    }

    /// What a reply costs, where prices and usage are known.
    pub fn cost_of(&self, reply: &Reply) -> Option<f64> {
        self.settings.prices.and_then(|prices| prices.cost_usd(reply.usage))
    }
}
