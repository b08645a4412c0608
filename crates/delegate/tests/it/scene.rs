//! A tree to play with: numbers for ids, and the shortest way to admit and settle.

use posse_delegate::{Admission, Endpoint, Limits, Refusal, Request, Settled, Tree};
use posse_protocol::{AgentId, Budget, Ending, Grant, Receipt, Spent, Usage};

pub(crate) const MAIN: u64 = 0;

/// The id with a number; ids sort by it.
pub(crate) fn id(number: u64) -> AgentId {
    format!("00000000-0000-7000-8000-{number:012x}").parse().unwrap()
}

pub(crate) fn ids<const N: usize>(numbers: [u64; N]) -> Vec<AgentId> {
    numbers.map(id).to_vec()
}

pub(crate) fn tree(limits: Limits) -> Tree {
    Tree::new(limits, id(MAIN), Grant::full(), Budget::UNLIMITED)
}

/// A tree in which so many may run.
pub(crate) fn tree_of(running_max: usize) -> Tree {
    tree(Limits { running_max, depth_max: 4, ..Limits::default() })
}

pub(crate) fn tree_with(budget: Budget) -> Tree {
    Tree::new(Limits { depth_max: 4, ..Limits::default() }, id(MAIN), Grant::full(), budget)
}

/// A task for one more agent, which wants nothing special.
pub(crate) fn request(number: u64, parent: u64) -> Request {
    Request {
        id: id(number),
        parent: id(parent),
        name: None,
        role: "general".to_owned(),
        title: format!("work {number}"),
        role_grant: Grant::full(),
        untrusted_file: false,
        background: false,
        allowed_tools: None,
        budget: Budget::UNLIMITED,
        endpoint: Endpoint { name: "cloud".to_owned(), agents_max: None },
        continues: None,
    }
}

pub(crate) fn tokens(tokens: u64) -> Budget {
    Budget { tokens: Some(tokens), ..Budget::UNLIMITED }
}

/// Admits plain tasks below one parent.
pub(crate) fn admit<const N: usize>(tree: &mut Tree, parent: u64, numbers: [u64; N]) {
    for number in numbers {
        tree.admit(request(number, parent)).unwrap();
    }
}

pub(crate) fn refused(tree: &mut Tree, request: Request) -> Refusal {
    let before = tree.clone();
    let refusal = tree.admit(request).unwrap_err();
    assert!(*tree == before, "a refusal changed the tree: {refusal}");
    refusal
}

pub(crate) fn admitted(tree: &mut Tree, request: Request) -> Admission {
    tree.admit(request).unwrap()
}

/// Settles an agent that completed and spent what was told before.
pub(crate) fn settle(tree: &mut Tree, number: u64) -> Settled {
    tree.settle(id(number), &Ending::Completed, &Receipt::default()).expect("it had not settled")
}

pub(crate) fn spend(tree: &mut Tree, number: u64, tokens: u64) {
    tree.spent(id(number), &Spent::default(), tokens);
}

pub(crate) fn used(tokens: u64) -> Usage {
    Usage { input_tokens: Some(tokens), ..Usage::default() }
}

/// The words of some agents, in order.
pub(crate) fn words<const N: usize>(tree: &Tree, numbers: [u64; N]) -> Vec<&'static str> {
    numbers.iter().map(|&number| tree.node(id(number)).unwrap().word()).collect()
}

pub(crate) fn name(tree: &Tree, number: u64) -> String {
    tree.node(id(number)).unwrap().name.clone()
}
