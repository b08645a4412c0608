//! What a child may spend. Tokens and money are set aside out of what its parent has left; time and turns are ceilings,
//! because children run side by side and a turn limits the length of one conversation.

use posse_protocol::Budget;

use crate::limits;
use crate::node::{Ledger, Node};
use crate::refusal::Refusal;

const SPENT: &str =
    "Wait for agents that are running, whose unspent part comes back, or do the work yourself";
const OVER: &str = "Finish with what there is";

/// What a child gets of what its parent has left.
pub(crate) fn carve(parent: &Node, wanted: Budget) -> Result<Budget, Refusal> {
    Ok(Budget {
        turns: turns(parent, wanted.turns)?,
        tokens: tokens(parent, wanted.tokens)?,
        time_ms: time_ms(parent, wanted.time_ms)?,
        cost_usd: cost_usd(parent, wanted.cost_usd)?,
    })
}

fn turns(parent: &Node, wanted: Option<u32>) -> Result<Option<u32>, Refusal> {
    let left = parent.budget.turns.map(|all| all.saturating_sub(parent.spent.turns));
    match least(wanted, left) {
        Some(0) => Err(refuse("turns", "0 turns".to_owned(), OVER)),
        turns => Ok(turns),
    }
}

fn time_ms(parent: &Node, wanted: Option<u64>) -> Result<Option<u64>, Refusal> {
    let left = parent.budget.time_ms.map(|all| all.saturating_sub(parent.spent.time_ms));
    match least(wanted, left) {
        Some(0) => Err(refuse("time", "0 seconds".to_owned(), OVER)),
        time => Ok(time),
    }
}

fn tokens(parent: &Node, wanted: Option<u64>) -> Result<Option<u64>, Refusal> {
    let Some(all) = parent.budget.tokens else { return Ok(wanted) };
    let gone = parent.tokens.saturating_add(parent.ledger.tokens);
    let left = all.saturating_sub(gone.saturating_add(parent.ledger.reserved_tokens));
    // In two parts, so that no budget is too large to multiply.
    let share = left / 4 * limits::SHARE_QUARTERS + left % 4 * limits::SHARE_QUARTERS / 4;
    let tokens = wanted.map_or(share, |wanted| wanted.min(share));
    if tokens < limits::TOKENS_MIN {
        let share = format!("{tokens} tokens, and needs {}", limits::TOKENS_MIN);
        return Err(refuse("tokens", share, SPENT));
    }
    Ok(Some(tokens))
}

fn cost_usd(parent: &Node, wanted: Option<f64>) -> Result<Option<f64>, Refusal> {
    let share = parent.budget.cost_usd.map(|all| {
        let gone = parent.spent.cost_usd.unwrap_or(0.0) + parent.ledger.cost_usd;
        (all - gone - parent.ledger.reserved_cost_usd) * (limits::SHARE_QUARTERS as f64) / 4.0
    });
    // Each by itself, because the lesser of a number and what is no number is the number.
    if let Some(usd) = [share, wanted].into_iter().flatten().find(|&usd| !enough(usd)) {
        let usd = if usd > 0.0 { usd } else { 0.0 };
        return Err(refuse("money", format!("{usd:.4} US dollars"), SPENT));
    }
    Ok(match (share, finite(wanted)) {
        (Some(share), Some(wanted)) => Some(wanted.min(share)),
        (share, wanted) => share.or(wanted),
    })
}

/// An amount without end is no limit.
pub(crate) fn finite(usd: Option<f64>) -> Option<f64> {
    usd.filter(|&usd| usd != f64::INFINITY)
}

/// Whether an amount is of use. What is no number is not.
fn enough(usd: f64) -> bool {
    usd >= limits::COST_USD_MIN
}

fn refuse(what: &'static str, share: String, advice: &'static str) -> Refusal {
    Refusal::NoBudget { what, share, advice }
}

fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Sets a child's budget aside.
pub(crate) fn reserve(parent: &mut Node, child: Budget) {
    let ledger = &mut parent.ledger;
    ledger.reserved_tokens = ledger.reserved_tokens.saturating_add(child.tokens.unwrap_or(0));
    ledger.reserved_cost_usd += child.cost_usd.unwrap_or(0.0);
}

/// What the end of an agent costs the one who pays for it.
#[derive(Clone, Copy)]
pub(crate) struct Bill {
    /// What was set aside for it.
    budget: Budget,
    /// What it spent itself.
    tokens: u64,
    cost_usd: f64,
    /// What those below it spent, and what is still set aside for them.
    pub(crate) ledger: Ledger,
}

impl Bill {
    pub(crate) fn of(node: &Node) -> Self {
        let cost_usd = node.spent.cost_usd.unwrap_or(0.0);
        Self { budget: node.budget, tokens: node.tokens, cost_usd, ledger: node.ledger }
    }
}

/// Replaces what was set aside for a child by what it and those below it spent. What is still set aside below it, for
/// agents that go on regardless, is owed by the payer from now on.
pub(crate) fn charge(payer: &mut Node, bill: Bill) {
    let ledger = &mut payer.ledger;
    ledger.reserved_tokens = ledger
        .reserved_tokens
        .saturating_sub(bill.budget.tokens.unwrap_or(0))
        .saturating_add(bill.ledger.reserved_tokens);
    let reserved_usd = ledger.reserved_cost_usd - bill.budget.cost_usd.unwrap_or(0.0);
    // What rounding leaves over is nothing.
    let reserved_usd = if reserved_usd < limits::COST_USD_MIN / 2.0 { 0.0 } else { reserved_usd };
    ledger.reserved_cost_usd = reserved_usd + bill.ledger.reserved_cost_usd;
    ledger.tokens = ledger.tokens.saturating_add(bill.tokens).saturating_add(bill.ledger.tokens);
    ledger.cost_usd += bill.cost_usd + bill.ledger.cost_usd;
}
