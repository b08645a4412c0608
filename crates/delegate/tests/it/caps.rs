//! How many may run, wait and exist.

use posse_delegate::{Freed, Limits, OverCap, Refusal, limits};
use posse_protocol::{Ending, Receipt};

use crate::scene::{MAIN, admit, admitted, id, ids, refused, request, settle, tree, tree_of, words};

#[test]
fn defaults_are_those_of_the_documentation() {
    let want = Limits {
        depth_max: 2,
        running_max: 10,
        over_cap: OverCap::Queue,
        queued_max: 1_000,
        agents_max: 10_000,
    };
    assert_eq!(Limits::default(), want);
    assert_eq!((limits::RUNNING_MAX_CEILING, limits::TOKENS_MIN), (1_000, 1_000));
    assert_eq!(serde_json::to_string(&[OverCap::Queue, OverCap::Error]).unwrap(), r#"["queue","error"]"#);
}

#[test]
fn over_the_cap_agents_queue_and_start_in_order() {
    let mut tree = tree(Limits::default());
    for number in 1..=15 {
        let admission = admitted(&mut tree, request(number, MAIN));
        assert_eq!(admission.queued.is_some(), number > 10, "{number}");
    }
    assert_eq!((tree.running(), tree.queued()), (10, 5));
    for number in 11..=15 {
        assert_eq!(settle(&mut tree, number - 10).freed, Freed { start: ids([number]), go_on: vec![] });
    }
    assert_eq!((tree.running(), tree.queued()), (10, 0));
}

#[test]
fn over_the_cap_is_an_error_by_setting() {
    let mut tree = tree(Limits { running_max: 2, over_cap: OverCap::Error, ..Limits::default() });
    admit(&mut tree, MAIN, [1, 2]);
    let refusal = refused(&mut tree, request(3, MAIN));
    assert_eq!(refusal, Refusal::RunningCap { cap: 2 });
    assert_eq!(
        refusal.to_string(),
        "2 agents are running, which is the cap: wait for one or cancel one, then try again"
    );
    settle(&mut tree, 1);
    assert_eq!(admitted(&mut tree, request(3, MAIN)).queued, None, "settled agents take no slot");
}

#[test]
fn queue_and_session_are_bounded() {
    let limits = Limits { running_max: 1, queued_max: 2, agents_max: 4, ..Limits::default() };
    let mut tree = tree(limits);
    admit(&mut tree, MAIN, [1, 2, 3]);
    assert_eq!(refused(&mut tree, request(4, MAIN)), Refusal::QueueFull { max: 2 });
    settle(&mut tree, 1);
    admit(&mut tree, MAIN, [4]);
    settle(&mut tree, 2);
    assert_eq!(refused(&mut tree, request(5, MAIN)), Refusal::TooManyAgents { max: 4 });
}

#[test]
fn limits_are_limited_themselves() {
    let wild = Limits {
        depth_max: u32::MAX,
        running_max: usize::MAX,
        over_cap: OverCap::Error,
        queued_max: 0,
        agents_max: usize::MAX,
    };
    let mut all = tree(wild);
    for number in 1..=1_000 {
        admitted(&mut all, request(number, MAIN));
    }
    assert_eq!(refused(&mut all, request(1_001, MAIN)), Refusal::RunningCap { cap: 1_000 });
    let mut none = tree(Limits { running_max: 0, ..Limits::default() });
    assert_eq!(admitted(&mut none, request(1, MAIN)).queued, None, "one may always run");
}

#[test]
fn several_that_wait_to_go_on_come_before_the_queue_in_their_order() {
    let mut tree = tree_of(3);
    admit(&mut tree, MAIN, [1, 2, 3, 4, 5, 6, 7]);
    for number in [1, 2] {
        tree.park(id(number));
    }
    assert_eq!(words(&tree, [3, 4, 5, 6, 7]), ["running", "running", "running", "queued", "queued"]);
    tree.unpark(id(2));
    tree.unpark(id(1));
    let next = [3, 4, 5].map(|number| settle(&mut tree, number).freed);
    let freed = |start: &[u64], go_on: &[u64]| Freed {
        start: start.iter().map(|&n| id(n)).collect(),
        go_on: go_on.iter().map(|&n| id(n)).collect(),
    };
    assert_eq!(next, [freed(&[], &[2]), freed(&[], &[1]), freed(&[6], &[])]);
}

/// Promise T3 for the tree: ten thousand children through eight slots, every kind of ending, nothing leaks.
#[test]
fn ten_thousand_agents_pass_through_eight_slots() {
    let endings =
        [Ending::Completed, Ending::Cancelled, Ending::TimedOut, Ending::OutOfTokens, Ending::Refused];
    let mut tree = tree_of(8);
    let (mut next, mut running, mut settled) = (1, std::collections::VecDeque::new(), 0);
    while settled < 10_000 {
        while next <= 10_000 && tree.queued() < 500 {
            if admitted(&mut tree, request(next, MAIN)).queued.is_none() {
                running.push_back(id(next));
            }
            next += 1;
        }
        assert!(running.len() <= 8 && tree.running() == running.len());
        let agent = running.pop_front().expect("somebody runs while somebody waits");
        let freed = tree.settle(agent, &endings[settled % 5], &Receipt::default()).unwrap().freed;
        running.extend(freed.start);
        settled += 1;
        assert_eq!(tree.take_reports(id(MAIN), None), [agent]);
    }
    assert_eq!((tree.running(), tree.queued(), tree.live_children(id(MAIN))), (0, 0, vec![]));
    assert_eq!(tree.nodes().count(), 10_001);
    assert_eq!(refused(&mut tree, request(next, MAIN)), Refusal::TooManyAgents { max: 10_000 });
}
