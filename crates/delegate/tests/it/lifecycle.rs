//! From admission to settling, and what can be seen on the way.

use posse_delegate::{Freed, Limits, Refusal, State, Unparked};
use posse_protocol::{Ending, Failure, QueueReason, Receipt};

use crate::scene::{MAIN, admit, admitted, id, ids, refused, request, settle, tree, tree_of, words};

#[test]
fn an_agent_goes_through_its_life() {
    let mut tree = tree_of(1);
    assert_eq!(words(&tree, [MAIN]), ["running"]);
    let first = admitted(&mut tree, request(1, MAIN));
    assert_eq!((first.depth, first.queued, first.ahead), (1, None, 0));
    let second = admitted(&mut tree, request(2, MAIN));
    assert_eq!((second.queued, second.ahead), (Some(QueueReason::RunningCap), 0));
    let third = admitted(&mut tree, request(3, MAIN));
    assert_eq!((third.queued, third.ahead), (Some(QueueReason::RunningCap), 1));
    assert_eq!(words(&tree, [1, 2, 3]), ["running", "queued", "queued"]);

    assert_eq!(tree.park(id(1)), Freed { start: ids([2]), go_on: vec![] });
    assert_eq!(words(&tree, [1, 2, 3]), ["waiting", "running", "queued"]);
    assert_eq!(tree.unpark(id(1)), Unparked::Waiting);
    assert_eq!(tree.node(id(1)).unwrap().state, State::Returning);
    assert_eq!(settle(&mut tree, 2).freed, Freed { start: vec![], go_on: ids([1]) }, "before the queued one");
    assert_eq!(words(&tree, [1, 2, 3]), ["running", "completed", "queued"]);
    assert_eq!(settle(&mut tree, 1).freed, Freed { start: ids([3]), go_on: vec![] });
    settle(&mut tree, 3);
    assert_eq!((tree.running(), tree.queued()), (0, 0));
}

#[test]
fn every_ending_settles_once_and_for_good() {
    let endings = [
        (Ending::Completed, "completed"),
        (Ending::Failed { failure: Failure::EmptyReply }, "failed"),
        (Ending::Cancelled, "cancelled"),
        (Ending::Interrupted { reason: "restart".into() }, "interrupted"),
        (Ending::TimedOut, "timed_out"),
        (Ending::OutOfTurns, "out_of_turns"),
        (Ending::OutOfTokens, "out_of_tokens"),
        (Ending::OutOfMoney, "out_of_money"),
        (Ending::Refused, "refused"),
    ];
    let mut count = 0;
    for (ending, word) in endings {
        let mut tree = tree_of(1);
        admit(&mut tree, MAIN, [1]);
        let settled = tree.settle(id(1), &ending, &Receipt::default()).unwrap();
        assert_eq!((settled.parent, settled.orphans), (Some(id(MAIN)), vec![]));
        assert_eq!(words(&tree, [1]), [word]);
        let before = tree.clone();
        assert_eq!(tree.settle(id(1), &Ending::Completed, &Receipt::default()), None);
        tree.park(id(1));
        tree.unpark(id(1));
        tree.person_needed(id(1));
        tree.person_answered(id(1));
        tree.spent(id(1), &Default::default(), 77);
        assert_eq!(tree.cancel(id(1)), vec![]);
        assert_eq!(tree, before, "a settled agent never changes");
        count += 1;
    }
    assert_eq!(count, 9);
}

#[test]
fn the_main_agent_counts_in_no_cap() {
    let mut tree = tree_of(1);
    admit(&mut tree, MAIN, [1]);
    assert_eq!(tree.park(id(MAIN)), Freed::default());
    assert_eq!(words(&tree, [MAIN]), ["waiting"]);
    assert_eq!(tree.unpark(id(MAIN)), Unparked::Granted, "though the only slot is taken");
    assert_eq!(words(&tree, [MAIN]), ["running"]);
    assert_eq!(tree.running(), 1);
    settle(&mut tree, 1);
    let end = settle(&mut tree, MAIN);
    assert_eq!((end.parent, end.orphans), (None, vec![]));
}

#[test]
fn others_go_on_while_a_person_is_asked() {
    let mut tree = tree_of(1);
    admit(&mut tree, MAIN, [1, 2, 3]);
    assert_eq!(tree.person_needed(id(1)), Freed { start: ids([2]), go_on: vec![] });
    assert_eq!(words(&tree, [1, 2, 3]), ["needs_person", "running", "queued"]);
    assert_eq!(tree.person_answered(id(1)), Unparked::Waiting, "the slot is taken");
    assert_eq!(tree.node(id(1)).unwrap().state, State::Returning);
    assert_eq!(settle(&mut tree, 2).freed, Freed { start: vec![], go_on: ids([1]) }, "before the queued one");
    assert_eq!(tree.person_needed(id(1)), Freed { start: ids([3]), go_on: vec![] });
    settle(&mut tree, 3);
    assert_eq!(tree.person_answered(id(1)), Unparked::Granted);
    assert_eq!((words(&tree, [1]), tree.running()), (vec!["running"], 1));
}

#[test]
fn an_agent_on_its_way_back_may_ask_again() {
    let mut tree = tree_of(1);
    admit(&mut tree, MAIN, [1, 2]);
    tree.person_needed(id(1));
    tree.person_answered(id(1));
    assert_eq!(tree.person_needed(id(1)), Freed::default());
    assert_eq!(tree.node(id(1)).unwrap().state, State::NeedsPerson);
    assert_eq!(settle(&mut tree, 2).freed, Freed::default(), "it does not want the slot now");
    assert_eq!(tree.person_answered(id(1)), Unparked::Granted);
}

#[test]
fn a_question_that_a_stopped_agent_asked_brings_it_no_slot() {
    let mut tree = tree_of(1);
    admit(&mut tree, MAIN, [1]);
    tree.person_needed(id(1));
    assert_eq!(tree.cancel(id(1)), ids([1]));
    assert_eq!(tree.person_answered(id(1)), Unparked::Waiting);
    assert_eq!((words(&tree, [1]), tree.running()), (vec!["waiting"], 0));
    assert_eq!(settle(&mut tree, 1).freed, Freed::default());
}

#[test]
fn who_has_not_begun_has_nothing_to_ask() {
    let mut tree = tree_of(1);
    admit(&mut tree, MAIN, [1, 2]);
    let before = tree.clone();
    assert_eq!(tree.person_needed(id(2)), Freed::default());
    assert_eq!(tree.person_answered(id(2)), Unparked::Waiting);
    assert_eq!(tree, before);
}

#[test]
fn the_main_agent_may_ask_too() {
    let mut tree = tree_of(1);
    admit(&mut tree, MAIN, [1]);
    assert_eq!(tree.person_needed(id(MAIN)), Freed::default());
    assert_eq!((words(&tree, [MAIN, 1]), tree.running()), (vec!["needs_person", "running"], 1));
    assert_eq!(tree.person_answered(id(MAIN)), Unparked::Granted);
}

#[test]
fn a_question_shows_while_it_also_waits_for_children() {
    let mut tree = tree_of(2);
    admit(&mut tree, MAIN, [1]);
    tree.person_needed(id(1));
    tree.person_needed(id(1));
    tree.park(id(1));
    assert_eq!((words(&tree, [1]), tree.running()), (vec!["needs_person"], 0));
    assert_eq!(tree.person_answered(id(1)), Unparked::Waiting);
    assert_eq!(tree.unpark(id(1)), Unparked::Waiting, "one question is open");
    assert_eq!((words(&tree, [1]), tree.running()), (vec!["needs_person"], 0));
    assert_eq!(tree.person_answered(id(1)), Unparked::Granted);
    assert_eq!((words(&tree, [1]), tree.running()), (vec!["running"], 1));
    // The other way round: the answer comes before the children are done.
    tree.park(id(1));
    tree.person_needed(id(1));
    assert_eq!(words(&tree, [1]), ["needs_person"]);
    assert_eq!(tree.person_answered(id(1)), Unparked::Waiting);
    assert_eq!(words(&tree, [1]), ["waiting"]);
    assert_eq!(tree.unpark(id(1)), Unparked::Granted);
}

#[test]
fn parents_that_wait_do_not_block_their_children() {
    // One slot, four levels: each parent parks, or nobody below would ever run.
    let mut tree = tree_of(1);
    for level in 1..=4 {
        assert_eq!(admitted(&mut tree, request(level, level - 1)).queued.is_some(), level > 1);
        if level > 1 {
            assert_eq!(tree.park(id(level - 1)).start, ids([level]));
        }
    }
    for level in (1..=4).rev() {
        settle(&mut tree, level);
        assert_eq!(tree.unpark(id(level - 1)), Unparked::Granted);
    }
}

#[test]
fn depth_is_limited() {
    let mut tree = tree(Limits::default());
    admit(&mut tree, MAIN, [1]);
    admit(&mut tree, 1, [2]);
    let refusal = refused(&mut tree, request(3, 2));
    assert_eq!(refusal, Refusal::TooDeep { depth: 3, max: 2 });
    assert_eq!(
        refusal.to_string(),
        "agents may be 2 deep at most, and this one would be at 3: do this work yourself"
    );
}

#[test]
fn ended_stopping_and_unknown_parents_get_no_children() {
    let mut tree = tree_of(4);
    admit(&mut tree, MAIN, [1, 2]);
    settle(&mut tree, 1);
    tree.cancel(id(2));
    let unknown = Refusal::Unknown { id: id(9).to_string() };
    let cases = [(1, Refusal::ParentSettled), (2, Refusal::ParentStopping), (9, unknown)];
    for (parent, refusal) in cases {
        assert_eq!(refused(&mut tree, request(5, parent)), refusal);
    }
    assert_eq!(refused(&mut tree, request(1, MAIN)), Refusal::IdTaken { id: id(1).to_string() });
}

#[test]
fn an_unknown_id_changes_nothing() {
    let mut tree = tree_of(1);
    admit(&mut tree, MAIN, [1]);
    let before = tree.clone();
    let nobody = id(99);
    assert_eq!(tree.park(nobody), Freed::default());
    assert_eq!(tree.unpark(nobody), Unparked::Waiting);
    assert_eq!(tree.person_needed(nobody), Freed::default());
    assert_eq!(tree.person_answered(nobody), Unparked::Waiting);
    assert_eq!(tree.cancel(nobody), vec![]);
    assert_eq!(tree.settle(nobody, &Ending::Completed, &Receipt::default()), None);
    assert_eq!(tree.take_reports(nobody, None), vec![]);
    assert_eq!(tree.live_children(nobody), vec![]);
    assert_eq!(tree.family(nobody), Default::default());
    assert_eq!(tree, before);
}
