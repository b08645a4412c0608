//! Reports get to the parent once, in the order in which children ended.

use posse_protocol::{Ending, Receipt};

use crate::scene::{MAIN, admit, id, ids, settle, tree_of};

#[test]
fn each_report_is_given_once_first_settled_first() {
    let mut tree = tree_of(10);
    admit(&mut tree, MAIN, [1, 2, 3, 4]);
    for number in [3, 1, 2] {
        settle(&mut tree, number);
    }
    assert_eq!((tree.undelivered(id(MAIN)), tree.family(id(MAIN)).undelivered), (3, 3));
    assert_eq!(tree.live_children(id(MAIN)), ids([4]));
    assert_eq!(tree.take_reports(id(MAIN), None), ids([3, 1, 2]), "many at once are one message");
    assert_eq!(tree.take_reports(id(MAIN), None), vec![]);
    assert_eq!(tree.undelivered(id(MAIN)), 0);
    let delivered = [1, 2, 3, 4].map(|number| tree.node(id(number)).unwrap().delivered);
    assert_eq!(delivered, [true, true, true, false]);
}

#[test]
fn one_who_waits_for_some_is_given_those() {
    let mut tree = tree_of(10);
    admit(&mut tree, MAIN, [1, 2, 3]);
    for number in [1, 2, 3] {
        settle(&mut tree, number);
    }
    assert_eq!(tree.take_reports(id(MAIN), Some(&ids([3, 2, 9]))), ids([2, 3]));
    assert_eq!(tree.take_reports(id(MAIN), Some(&ids([3, 2]))), vec![]);
    assert_eq!(tree.take_reports(id(MAIN), None), ids([1]));
}

#[test]
fn a_report_goes_to_the_parent_and_nobody_else() {
    let mut tree = tree_of(10);
    admit(&mut tree, MAIN, [1]);
    admit(&mut tree, 1, [2]);
    assert_eq!(settle(&mut tree, 2).parent, Some(id(1)));
    assert_eq!(tree.take_reports(id(MAIN), None), vec![]);
    assert_eq!(tree.take_reports(id(MAIN), Some(&ids([2]))), vec![]);
    assert_eq!(tree.take_reports(id(1), None), ids([2]));
}

#[test]
fn what_a_parent_was_not_told_in_time_can_still_be_taken() {
    let mut tree = tree_of(10);
    admit(&mut tree, MAIN, [1]);
    admit(&mut tree, 1, [2]);
    settle(&mut tree, 2);
    tree.settle(id(1), &Ending::TimedOut, &Receipt::default()).unwrap();
    assert_eq!(tree.take_reports(id(1), None), ids([2]), "by the one who takes up its conversation");
}
