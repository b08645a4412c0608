//! An endpoint that takes one agent after the other, beside one that takes all.

use posse_delegate::{Endpoint, Freed, Limits, OverCap, Request, Unparked};
use posse_protocol::QueueReason;

use crate::scene::{MAIN, admit, admitted, id, ids, request, settle, tree, tree_of, words};

fn at(number: u64, parent: u64, agents_max: usize) -> Request {
    let endpoint = Endpoint { name: "gpu".to_owned(), agents_max: Some(agents_max) };
    Request { endpoint, ..request(number, parent) }
}

#[test]
fn agents_of_a_single_gpu_run_in_order() {
    let mut tree = tree_of(10);
    let queued = [1, 2, 3].map(|number| admitted(&mut tree, at(number, MAIN, 1)).queued);
    assert_eq!(queued, [None, Some(QueueReason::Endpoint), Some(QueueReason::Endpoint)]);
    admit(&mut tree, MAIN, [4, 5]);
    assert_eq!(words(&tree, [1, 2, 3, 4, 5]), ["running", "queued", "queued", "running", "running"]);
    assert_eq!(settle(&mut tree, 4).freed, Freed::default(), "the free slot is of no use to them");
    assert_eq!(settle(&mut tree, 1).freed.start, ids([2]));
    assert_eq!(settle(&mut tree, 2).freed.start, ids([3]));
}

#[test]
fn an_endpoint_for_two_takes_two() {
    let mut tree = tree_of(10);
    let queued = [1, 2, 3].map(|number| admitted(&mut tree, at(number, MAIN, 2)).queued);
    assert_eq!(queued, [None, None, Some(QueueReason::Endpoint)]);
    assert_eq!(settle(&mut tree, 2).freed.start, ids([3]));
}

#[test]
fn an_endpoint_for_none_still_takes_one() {
    let mut tree = tree_of(10);
    let queued = [1, 2].map(|number| admitted(&mut tree, at(number, MAIN, 0)).queued);
    assert_eq!(queued, [None, Some(QueueReason::Endpoint)]);
    assert_eq!(settle(&mut tree, 1).freed.start, ids([2]));
}

#[test]
fn a_busy_endpoint_does_not_hold_up_those_behind() {
    let mut tree = tree_of(2);
    admitted(&mut tree, at(1, MAIN, 1));
    admit(&mut tree, MAIN, [2]);
    admitted(&mut tree, at(3, MAIN, 1));
    let last = admitted(&mut tree, request(4, MAIN));
    assert_eq!((last.queued, last.ahead), (Some(QueueReason::RunningCap), 1));
    assert_eq!(settle(&mut tree, 2).freed.start, ids([4]), "past 3, whose endpoint is busy");
    assert_eq!(settle(&mut tree, 1).freed.start, ids([3]));
}

#[test]
fn a_busy_endpoint_queues_even_where_the_cap_is_an_error() {
    let mut tree = tree(Limits { over_cap: OverCap::Error, ..Limits::default() });
    admitted(&mut tree, at(1, MAIN, 1));
    assert_eq!(admitted(&mut tree, at(2, MAIN, 1)).queued, Some(QueueReason::Endpoint));
}

#[test]
fn a_parent_and_its_child_share_one_gpu() {
    let mut tree = tree_of(10);
    admitted(&mut tree, at(1, MAIN, 1));
    assert_eq!(admitted(&mut tree, at(2, 1, 1)).queued, Some(QueueReason::Endpoint));
    admitted(&mut tree, at(3, MAIN, 1));
    assert_eq!(tree.park(id(1)).start, ids([2]));
    assert_eq!(tree.unpark(id(1)), Unparked::Waiting);
    let settled = settle(&mut tree, 2);
    assert_eq!(settled.freed, Freed { start: vec![], go_on: ids([1]) }, "before 3, which came first");
}
