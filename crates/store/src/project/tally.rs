//! What the events of one transaction add up to, so that each row is touched once and not once an event. Pure.

use posse_protocol::EventKind;

use super::figures::{Cost, Tokens, figure, whole};
use crate::NewEvent;

/// What is added to a session's row.
#[derive(Default)]
pub(super) struct SessionTally {
    pub(super) last_at_ms: i64,
    pub(super) turns: i64,
    pub(super) tokens: Tokens,
    pub(super) cost: Cost,
}

impl SessionTally {
    pub(super) fn note(&mut self, event: &NewEvent) {
        self.last_at_ms = self.last_at_ms.max(whole(event.at_ms));
        match &event.kind {
            EventKind::TurnStarted { .. } => self.turns += 1,
            EventKind::Replied { reply, cost_usd, .. } => {
                self.tokens.add(Tokens::of(reply.usage));
                self.cost.note(*cost_usd);
            }
            _ => {}
        }
    }

    /// Whether there is more to add than that something happened.
    pub(super) fn has_figures(&self) -> bool {
        self.turns > 0 || !self.tokens.is_unknown() || !self.cost.is_nothing()
    }
}

/// What is added to an agent's row, and to that of the prompt it works on.
#[derive(Default)]
pub(super) struct AgentTally {
    pub(super) last_at_ms: i64,
    pub(super) turns: i64,
    pub(super) retries: i64,
    pub(super) tool_calls: i64,
    pub(super) tokens: Tokens,
    pub(super) cost: Cost,
    /// The size of the latest request.
    pub(super) context_tokens: Option<i64>,
    pub(super) total_tokens: Option<i64>,
}

impl AgentTally {
    pub(super) fn note(&mut self, event: &NewEvent) {
        self.last_at_ms = self.last_at_ms.max(whole(event.at_ms));
        match &event.kind {
            EventKind::TurnStarted { .. } => self.turns += 1,
            EventKind::Retrying { .. } => self.retries += 1,
            EventKind::ToolFinished { .. } => self.tool_calls += 1,
            EventKind::Replied { reply, cost_usd, .. } => {
                self.cost.note(*cost_usd);
                self.tokens.add(Tokens::of(reply.usage));
                self.context_tokens = reply.usage.input_tokens.map(figure).or(self.context_tokens);
                if let Some(total) = reply.usage.total_tokens() {
                    self.total_tokens = Some(self.total_tokens.unwrap_or(0).saturating_add(figure(total)));
                }
            }
            _ => {}
        }
    }

    /// Whether there is more to add than that something happened.
    pub(super) fn has_figures(&self) -> bool {
        self.concerns_prompt() || self.retries > 0 || self.tool_calls > 0 || !self.cost.is_nothing()
    }

    /// Whether any of it is counted under the prompt as well.
    pub(super) fn concerns_prompt(&self) -> bool {
        self.turns > 0 || !self.tokens.is_unknown()
    }
}
