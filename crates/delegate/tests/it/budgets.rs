//! What children get of their parents' budgets, and what comes back.

use posse_delegate::{Family, Refusal, Tree, limits};
use posse_protocol::{Below, Budget, Ending, Receipt, Spent};

use crate::scene::{
    MAIN, admit, admitted, id, refused, request, settle, spend, tokens, tree_of, tree_with, used,
};

fn wanting(number: u64, parent: u64, budget: Budget) -> posse_delegate::Request {
    posse_delegate::Request { budget, ..request(number, parent) }
}

fn usd(amount: f64) -> Budget {
    Budget { cost_usd: Some(amount), ..Budget::UNLIMITED }
}

#[test]
fn a_child_gets_what_it_wants_or_three_quarters_of_what_is_left() {
    // parent's tokens, spent before, wanted, got
    let cases = [
        (None, 0, None, None),
        (None, 0, Some(500), Some(500)),
        (Some(100_000), 0, None, Some(75_000)),
        (Some(100_000), 0, Some(65_536), Some(65_536)),
        (Some(100_000), 60_000, Some(65_536), Some(30_000)),
        (Some(100_000), 0, Some(1_000), Some(1_000)),
        (Some(u64::MAX), 0, None, Some(u64::MAX / 4 * 3 + 2)),
    ];
    let mut count = 0;
    for (all, spent, wanted, got) in cases {
        let mut tree = tree_with(Budget { tokens: all, ..Budget::UNLIMITED });
        spend(&mut tree, MAIN, spent);
        let wanted = Budget { tokens: wanted, ..Budget::UNLIMITED };
        let admission = admitted(&mut tree, wanting(1, MAIN, wanted));
        assert_eq!(admission.budget.tokens, got, "{all:?} {spent} {wanted:?}");
        assert_eq!(tree.family(id(MAIN)).reserved_tokens, got.unwrap_or(0));
        count += 1;
    }
    assert_eq!(count, 7);
}

#[test]
fn siblings_share_and_what_was_not_spent_comes_back() {
    let mut tree = tree_with(tokens(100_000));
    let first = admitted(&mut tree, wanting(1, MAIN, tokens(60_000)));
    let second = admitted(&mut tree, wanting(2, MAIN, tokens(60_000)));
    assert_eq!((first.budget.tokens, second.budget.tokens), (Some(60_000), Some(30_000)));
    spend(&mut tree, 1, 10_000);
    settle(&mut tree, 1);
    let want = Family {
        live: 1,
        undelivered: 1,
        tokens: 10_000,
        reserved_tokens: 30_000,
        below: Below { agents: 1, ..Below::default() },
        ..Family::default()
    };
    assert_eq!(tree.family(id(MAIN)), want);
    let third = admitted(&mut tree, wanting(3, MAIN, tokens(60_000)));
    assert_eq!(third.budget.tokens, Some(45_000), "three quarters of 100,000 - 10,000 - 30,000");
}

#[test]
fn spending_of_a_child_counts_in_all_its_ancestors() {
    let mut tree = tree_with(tokens(1_000_000));
    for level in 1..=3 {
        admitted(&mut tree, wanting(level, level - 1, tokens(100_000 / level)));
        spend(&mut tree, level, 1_000 * level);
    }
    for level in (1..=3).rev() {
        let receipt = Receipt {
            turns: 2,
            tool_calls: 3,
            usage: used(1_000 * level),
            cost_usd: Some(0.5),
            ..Receipt::default()
        };
        tree.settle(id(level), &Ending::Completed, &receipt).unwrap();
    }
    let family = tree.family(id(MAIN));
    assert_eq!((family.tokens, family.reserved_tokens, family.cost_usd), (6_000, 0, 1.5));
    let below = Below {
        agents: 3,
        turns: 6,
        tool_calls: 9,
        usage: used(6_000),
        cost_usd: Some(1.5),
        ..Below::default()
    };
    assert_eq!(family.below, below);
    assert_eq!(tree.family(id(1)).tokens, 5_000);
}

#[test]
fn the_larger_of_told_and_measured_spending_is_charged() {
    let cases = [(500, Some(700), 700), (900, Some(700), 900), (900, None, 900)];
    for (told, measured, charged) in cases {
        let mut tree = tree_with(tokens(100_000));
        admit(&mut tree, MAIN, [1]);
        spend(&mut tree, 1, told);
        spend(&mut tree, 1, told / 2);
        let usage = measured.map(used).unwrap_or_default();
        tree.settle(id(1), &Ending::Completed, &Receipt { usage, ..Receipt::default() }).unwrap();
        assert_eq!(tree.family(id(MAIN)).tokens, charged);
    }
}

#[test]
fn a_child_that_overspent_is_charged_in_full() {
    let mut tree = tree_with(tokens(10_000));
    admitted(&mut tree, wanting(1, MAIN, tokens(2_000)));
    spend(&mut tree, 1, 9_500);
    settle(&mut tree, 1);
    let refusal = refused(&mut tree, wanting(2, MAIN, tokens(2_000)));
    assert_eq!(
        refusal.to_string(),
        "not enough tokens for another agent: it would get 375 tokens, and needs 1000. \
         Wait for agents that are running, whose unspent part comes back, or do the work yourself"
    );
}

#[test]
fn time_and_turns_are_ceilings_and_not_sums() {
    let budget = Budget { turns: Some(20), time_ms: Some(60_000), ..Budget::UNLIMITED };
    let mut tree = tree_with(budget);
    tree.spent(id(MAIN), &Spent { turns: 5, time_ms: 20_000, ..Spent::default() }, 0);
    let wanted = Budget { turns: Some(50), time_ms: Some(600_000), ..Budget::UNLIMITED };
    for number in 1..=3 {
        let got = admitted(&mut tree, wanting(number, MAIN, wanted)).budget;
        assert_eq!((got.turns, got.time_ms), (Some(15), Some(40_000)));
    }
    let modest = Budget { turns: Some(3), time_ms: Some(1), ..Budget::UNLIMITED };
    assert_eq!(admitted(&mut tree, wanting(4, MAIN, modest)).budget, modest);
    let none = admitted(&mut tree, wanting(5, MAIN, Budget::UNLIMITED)).budget;
    assert_eq!((none.turns, none.time_ms), (Some(15), Some(40_000)), "no wish is not no limit");
}

#[test]
fn money_is_carved_like_tokens() {
    let mut tree = tree_with(usd(4.0));
    let first = admitted(&mut tree, wanting(1, MAIN, Budget::UNLIMITED)).budget.cost_usd;
    let second = admitted(&mut tree, wanting(2, MAIN, usd(0.5))).budget.cost_usd;
    assert_eq!((first, second), (Some(3.0), Some(0.5)));
    tree.spent(id(1), &Spent { cost_usd: Some(1.0), ..Spent::default() }, 0);
    settle(&mut tree, 1);
    settle(&mut tree, 2);
    let family = tree.family(id(MAIN));
    assert_eq!((family.cost_usd, family.reserved_cost_usd), (1.0, 0.0));
    assert_eq!(admitted(&mut tree, wanting(3, MAIN, usd(9.0))).budget.cost_usd, Some(2.25));
}

#[test]
fn too_little_is_refused_with_what_is_missing() {
    let spent = Spent { turns: 9, time_ms: 9, cost_usd: Some(1.0), ..Spent::default() };
    let cases: &[(Budget, Budget, &str)] = &[
        (tokens(1_300), Budget::UNLIMITED, "tokens"),
        (tokens(100_000), tokens(limits::TOKENS_MIN - 1), "tokens"),
        (Budget { turns: Some(9), ..Budget::UNLIMITED }, Budget::UNLIMITED, "turns"),
        (Budget::UNLIMITED, Budget { turns: Some(0), ..Budget::UNLIMITED }, "turns"),
        (Budget { time_ms: Some(9), ..Budget::UNLIMITED }, Budget::UNLIMITED, "time"),
        (Budget::UNLIMITED, Budget { time_ms: Some(0), ..Budget::UNLIMITED }, "time"),
        (usd(1.0), Budget::UNLIMITED, "money"),
        (usd(f64::NAN), usd(1.0), "money"),
        (usd(9.0), usd(f64::NAN), "money"),
        (Budget::UNLIMITED, usd(f64::NAN), "money"),
        (Budget::UNLIMITED, usd(-1.0), "money"),
        (usd(9.0), usd(0.0), "money"),
    ];
    for (all, wanted, missing) in cases {
        let mut tree = tree_with(*all);
        tree.spent(id(MAIN), &spent, 0);
        match tree.admit(wanting(1, MAIN, *wanted)) {
            Err(Refusal::NoBudget { what, .. }) => assert_eq!(what, *missing, "{all:?} {wanted:?}"),
            other => panic!("{all:?} {wanted:?} gave {other:?}"),
        }
    }
    assert_eq!(cases.len(), 12);
}

#[test]
fn money_without_end_is_no_limit() {
    let mut tree = tree_with(usd(f64::INFINITY));
    assert_eq!(admitted(&mut tree, wanting(1, MAIN, usd(f64::INFINITY))).budget.cost_usd, None);
    tree.spent(id(1), &Spent { cost_usd: Some(f64::NAN), ..Spent::default() }, 0);
    settle(&mut tree, 1);
    assert_eq!(tree.family(id(MAIN)).cost_usd, 0.0);
}

/// A chain of children that each want all: it ends, and the sum stays within the budget.
#[test]
fn greedy_children_come_to_an_end() {
    let mut tree = tree_with(tokens(1_000_000));
    let mut given = 0;
    for number in 1..100 {
        match tree.admit(wanting(number, MAIN, Budget::UNLIMITED)) {
            Ok(admission) => given += admission.budget.tokens.unwrap(),
            Err(refusal) => {
                assert!(matches!(refusal, Refusal::NoBudget { what: "tokens", .. }));
                assert!(given <= 1_000_000 && number > 3, "{given} to {number}");
                return;
            }
        }
    }
    panic!("never refused");
}

#[test]
fn what_a_forgotten_agent_spends_is_still_paid_for() {
    let mut tree: Tree = tree_of(10);
    admitted(&mut tree, wanting(1, MAIN, tokens(50_000)));
    admitted(&mut tree, wanting(2, 1, tokens(20_000)));
    spend(&mut tree, 1, 1_000);
    settle(&mut tree, 1);
    let family = tree.family(id(MAIN));
    assert_eq!((family.tokens, family.reserved_tokens), (1_000, 20_000), "still set aside");
    spend(&mut tree, 2, 5_000);
    settle(&mut tree, 2);
    let family = tree.family(id(MAIN));
    assert_eq!((family.tokens, family.reserved_tokens, family.below.agents), (6_000, 0, 2));
}
