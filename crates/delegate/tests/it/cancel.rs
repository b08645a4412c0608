//! Stopping an agent stops what is below it, and nothing else.

use posse_delegate::{Freed, Refusal, State, Tree, Unparked};
use posse_protocol::{Ending, Receipt};

use crate::scene::{MAIN, admit, id, ids, refused, request, settle, tree_of, words};

/// main ─ 1 ─ 3 ─ 5
///      │   └ 4
///      └ 2 ─ 6
fn family(running_max: usize) -> Tree {
    let mut tree = tree_of(running_max);
    admit(&mut tree, MAIN, [1, 2]);
    admit(&mut tree, 1, [3, 4]);
    admit(&mut tree, 3, [5]);
    admit(&mut tree, 2, [6]);
    tree
}

fn stopping(tree: &Tree) -> Vec<posse_protocol::AgentId> {
    tree.nodes().filter(|node| node.stopping).map(|node| node.id).collect()
}

#[test]
fn descendants_stop_deepest_first_and_relatives_do_not() {
    let cases: [(u64, Vec<_>); 4] =
        [(1, ids([5, 4, 3, 1])), (2, ids([6, 2])), (5, ids([5])), (MAIN, ids([5, 6, 4, 3, 2, 1, MAIN]))];
    for (number, stopped) in cases {
        let mut tree = family(10);
        assert_eq!(tree.cancel(id(number)), stopped);
        let mut sorted = stopped;
        sorted.sort();
        assert_eq!(stopping(&tree), sorted);
        assert_eq!(tree.cancel(id(number)), vec![], "nothing new the second time");
    }
}

#[test]
fn only_what_was_not_stopped_before_is_named() {
    let mut tree = family(10);
    assert_eq!(tree.cancel(id(3)), ids([5, 3]));
    settle(&mut tree, 4);
    assert_eq!(tree.cancel(id(1)), ids([1]));
}

#[test]
fn a_stopped_agent_that_was_queued_never_starts() {
    let mut tree = tree_of(1);
    admit(&mut tree, MAIN, [1, 2, 3]);
    assert_eq!(tree.cancel(id(2)), ids([2]));
    assert_eq!(tree.queued(), 1);
    assert_eq!(settle(&mut tree, 1).freed.start, ids([3]), "not 2");
    let settled = tree.settle(id(2), &Ending::Cancelled, &Receipt::default()).unwrap();
    assert_eq!(settled.freed, Freed::default());
    assert_eq!(words(&tree, [2, 3]), ["cancelled", "running"]);
}

#[test]
fn a_stopped_agent_starts_nothing_and_does_not_go_on() {
    let mut tree = tree_of(2);
    admit(&mut tree, MAIN, [1, 2, 3, 4]);
    tree.park(id(1));
    tree.park(id(2));
    tree.unpark(id(1));
    tree.cancel(id(1));
    tree.cancel(id(2));
    assert_eq!(tree.node(id(1)).unwrap().state, State::Parked, "it no longer comes back");
    assert_eq!(tree.unpark(id(2)), Unparked::Waiting);
    assert_eq!(refused(&mut tree, request(9, 1)), Refusal::ParentStopping);
    assert_eq!(settle(&mut tree, 3).freed, Freed::default());
    assert_eq!(settle(&mut tree, 1).freed, Freed::default());
}

#[test]
fn a_slot_is_held_until_the_agent_has_really_stopped() {
    let mut tree = tree_of(1);
    admit(&mut tree, MAIN, [1, 2]);
    tree.cancel(id(1));
    assert_eq!((tree.running(), words(&tree, [1, 2])), (1, vec!["running", "queued"]));
    assert_eq!(settle(&mut tree, 1).freed.start, ids([2]));
}

#[test]
fn forgotten_descendants_are_named_and_stopped() {
    let mut tree = family(10);
    let settled = settle(&mut tree, 1);
    assert_eq!(settled.orphans, ids([5, 4, 3]));
    assert_eq!(stopping(&tree), ids([3, 4, 5]));
    assert_eq!(refused(&mut tree, request(9, 5)), Refusal::ParentStopping);
    assert_eq!(settle(&mut tree, 3).orphans, ids([5]), "named again, until they have settled");
    assert_eq!(
        tree.clone().settle(id(MAIN), &Ending::Completed, &Receipt::default()).unwrap().orphans,
        ids([5, 6, 4, 2])
    );
    let last = settle(&mut tree, 5);
    assert_eq!((last.parent, last.orphans), (None, vec![]), "nobody is left to tell");
    assert_eq!(tree.undelivered(id(3)), 0);
}

#[test]
fn an_ended_parent_never_runs_again() {
    let mut tree = family(10);
    for number in tree.cancel(id(MAIN)) {
        tree.settle(number, &Ending::Cancelled, &Receipt::default()).unwrap();
    }
    assert_eq!(tree.running(), 0);
    assert!(tree.nodes().all(|node| node.word() == "cancelled"));
    assert_eq!(refused(&mut tree, request(9, MAIN)), Refusal::ParentSettled);
}
