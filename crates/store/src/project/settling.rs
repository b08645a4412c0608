//! The end of an agent: its prompts, its session and itself are told what its report says. The receipt covers the
//! agent's whole life and may know more than its events tell: not every agent has each of its steps on record, and
//! older replies have no cost. It must not know how reports are made.

use posse_protocol::{AgentState, Receipt, Report};

use super::agent_figures::{AgentFigures, AgentTotals};
use super::figures::{Cost, Tokens, figure};
use super::tally::{AgentTally, SessionTally};
use super::{Change, Sql, agents, messages, sessions};
use crate::StoreError;

/// Sums of the same costs in another order differ by less.
const ROUNDING_USD: f64 = 1e-9;

/// Must run after the calls of the agent have their rows.
pub(super) fn settled(
    change: &Change<'_>,
    agent: &mut AgentFigures,
    report: &Report,
    session: &mut SessionTally,
) -> Result<(), StoreError> {
    raise(change.sql, agent, &report.receipt, session)?;
    messages::settled(change, agent, report)?;
    if change.is_main() {
        sessions::status(change, AgentState::from(&report.ending))?;
    }
    agents::settled(change, agent, report)
}

/// The agent has answered and rests: its prompts are completed, and it has not ended. Must run after the calls of the agent
/// have their rows.
pub(super) fn rested(
    change: &Change<'_>,
    agent: &mut AgentFigures,
    report: Option<&Report>,
) -> Result<(), StoreError> {
    if let Some(report) = report {
        messages::settled(change, agent, report)?;
        agents::answered(change, agent, report)?;
    }
    if change.is_main() {
        sessions::status(change, AgentState::Resting)?;
    }
    agents::rested(change, agent)
}

/// Adds what the receipt knows beyond the events to the agent and to its session.
fn raise(
    sql: Sql<'_>,
    agent: &mut AgentFigures,
    receipt: &Receipt,
    session: &mut SessionTally,
) -> Result<(), StoreError> {
    let Some(told) = agent.told(sql)? else { return Ok(()) };
    if let Some(all) = receipt.cost_usd {
        // A receipt covers the agent's whole life, so only what is new in it is added to the session.
        session.cost.usd = Some(session.cost.usd.unwrap_or(0.0) + all - told.cost.usd.unwrap_or(0.0));
        agent.cost(sql, all)?;
    }
    let rest = told.rest(receipt);
    if !rest.has_figures() {
        return Ok(());
    }
    agent.add(sql, &rest)?;
    session.turns += rest.turns;
    session.tokens.add(rest.tokens);
    session.cost.unknown += rest.cost.unknown;
    Ok(())
}

impl AgentTotals {
    /// What is missing to the receipt's figures.
    fn rest(&self, receipt: &Receipt) -> AgentTally {
        let beyond = |all: u32, told: i64| (i64::from(all) - told).max(0);
        let tokens = Tokens::of(receipt.usage).beyond(&self.tokens);
        let in_all = [tokens.input, tokens.output].into_iter().flatten().reduce(i64::saturating_add);
        AgentTally {
            turns: beyond(receipt.turns, self.turns),
            tool_calls: beyond(receipt.tool_calls, self.tool_calls),
            tokens,
            total_tokens: in_all,
            cost: Cost { usd: None, unknown: self.unknown(receipt) - self.cost.unknown },
            ..AgentTally::default()
        }
    }

    /// Of how many model calls the cost stays unknown.
    fn unknown(&self, receipt: &Receipt) -> i64 {
        match (receipt.cost_usd, self.cost.usd) {
            // It has priced what the replies do not.
            (Some(all), told) if told.is_none_or(|told| all > told + ROUNDING_USD) => 0,
            (None, None) => self.cost.unknown.max(self.turns).max(figure(u64::from(receipt.turns))),
            _ => self.cost.unknown,
        }
    }
}
