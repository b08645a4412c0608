//! A tree is built from what is on record: who goes on, who does not, and what of a bad record is left out.

use posse_delegate::{
    Freed, Known, KnownMain, Limits, Misfit, Refusal, Request, Restored, State, StopCause, Tree,
};
use posse_protocol::{AgentId, Budget, Ending, Grant, Receipt, Seq, Spent};

use crate::journal::Journal;
use crate::scene::{
    MAIN, admitted, id, ids, name, refused, request, settle, spend, tokens, tree_of, tree_with, used, words,
};

/// Agents below one another, on record.
struct Record {
    tree: Tree,
    journal: Journal,
}

impl Record {
    fn new(tree: Tree) -> Self {
        Self { tree, journal: Journal::default() }
    }

    fn admit<const N: usize>(mut self, parent: u64, numbers: [u64; N]) -> Self {
        for number in numbers {
            self.journal.admit(&mut self.tree, request(number, parent)).unwrap();
        }
        self
    }

    fn settle(mut self, number: u64) -> Self {
        self.journal.settle(&mut self.tree, id(number), &Ending::Completed, &Receipt::default()).unwrap();
        self
    }

    fn restored(&self, limits: Limits) -> Restored {
        self.journal.restored(limits, &self.tree)
    }

    /// Restored with something changed about one agent.
    fn with(&self, number: u64, change: impl Fn(&mut Known)) -> Restored {
        let mut agents = self.journal.agents(&self.tree);
        agents.iter_mut().filter(|known| known.id == id(number)).for_each(change);
        Tree::restored(deep(9), self.journal.main(&self.tree), agents)
    }
}

fn deep(running_max: usize) -> Limits {
    Limits { running_max, depth_max: 4, ..Limits::default() }
}

#[test]
fn who_had_not_ended_stands_in_line_again() {
    // 1 has ended, 2 waits for a person, 3 for its child 4; 5 never began.
    let mut record = Record::new(tree_of(3)).admit(MAIN, [1, 2, 3]).admit(3, [4]).admit(MAIN, [5]).settle(1);
    record.tree.person_needed(id(2));
    record.tree.park(id(3));
    let Restored { mut tree, freed, stopping, refused } = record.restored(deep(2));
    assert_eq!(freed, Freed { start: ids([2, 3]), go_on: vec![] });
    assert_eq!((stopping, refused), (vec![], vec![]));
    assert_eq!(words(&tree, [MAIN, 1, 2, 3]), ["running", "completed", "running", "running"]);
    assert_eq!((words(&tree, [4, 5]), tree.running(), tree.queued()), (vec!["queued", "queued"], 2, 2));
    assert_eq!(tree.park(id(3)).start, ids([4]), "from here on it is a tree like any other");
    assert_eq!(settle(&mut tree, 4).freed.start, ids([5]));
}

#[test]
fn reports_that_were_not_given_wait_in_the_order_of_the_ends() {
    let mut record = Record::new(tree_of(9)).admit(MAIN, [1, 2, 3, 4]).settle(3).settle(1).settle(2);
    assert_eq!(record.tree.take_reports(id(MAIN), Some(&ids([1]))), ids([1]));
    let mut tree = record.restored(deep(9)).tree;
    assert_eq!(tree.undelivered(id(MAIN)), 2);
    assert_eq!(tree.take_reports(id(MAIN), None), ids([3, 2]));
    assert_eq!(tree.take_reports(id(MAIN), None), ids([]));
}

#[test]
fn what_was_spent_and_set_aside_still_is() {
    let mut live = tree_with(tokens(100_000));
    spend(&mut live, MAIN, 10_000);
    let mut record = Record::new(live);
    for (number, wanted) in [(1, 20_000), (2, 30_000)] {
        let asked = Request { budget: tokens(wanted), ..request(number, MAIN) };
        record.journal.admit(&mut record.tree, asked).unwrap();
    }
    let receipt = Receipt { usage: used(5_000), turns: 3, ..Receipt::default() };
    record.journal.settle(&mut record.tree, id(1), &Ending::OutOfTurns, &receipt).unwrap();
    spend(&mut record.tree, 2, 7_000);
    let mut tree = record.restored(deep(9)).tree;
    let family = tree.family(id(MAIN));
    assert_eq!((family.tokens, family.reserved_tokens, family.below.turns), (5_000, 30_000, 3));
    assert_eq!((tree.node(id(MAIN)).unwrap().tokens, tree.node(id(2)).unwrap().tokens), (10_000, 7_000));
    // 55,000 are left, and one child gets three quarters of it at most.
    assert_eq!(admitted(&mut tree, request(3, MAIN)).budget.tokens, Some(41_250));
}

#[test]
fn no_name_is_given_twice() {
    let mut record = Record::new(tree_of(9)).admit(MAIN, [1, 2]).settle(1);
    let again = Request { continues: Some(id(1)), ..request(3, MAIN) };
    record.journal.admit(&mut record.tree, again).unwrap();
    let mut tree = record.restored(deep(9)).tree;
    let names = [1, 2, 3].map(|number| name(&tree, number));
    assert_eq!(names, ["general-1~1", "general-2", "general-1"]);
    assert_eq!(admitted(&mut tree, request(4, MAIN)).name, "general-3");
    let twice = Request { continues: Some(id(1)), ..request(5, MAIN) };
    assert!(matches!(refused(&mut tree, twice), Refusal::FollowedUp { .. }));
}

#[test]
fn those_who_cannot_go_on_are_named_to_be_settled() {
    // 1 has ended above 2 and 3; 4 was cancelled above 5; 6 is as it should be; 7 has no model; 9 is too deep.
    let mut record = Record::new(tree_of(9)).admit(MAIN, [1, 4, 6, 7]).admit(1, [2]).admit(2, [3]);
    record = record.admit(4, [5]).admit(6, [8]).admit(8, [9]).settle(1);
    record.tree.cancel(id(4));
    let mut agents = record.journal.agents(&record.tree);
    agents.iter_mut().filter(|known| known.id == id(7)).for_each(|known| known.endpoint = None);
    let limits = Limits { depth_max: 2, ..deep(9) };
    let Restored { mut tree, freed, stopping, refused } =
        Tree::restored(limits, record.journal.main(&record.tree), agents);
    assert_eq!((refused, &freed.start), (vec![], &ids([6, 8])));
    let gone = StopCause::ParentGone;
    let want = [
        (9, StopCause::TooDeep { depth: 3, max: 2 }),
        (3, gone.clone()),
        (5, gone.clone()),
        (2, gone),
        (7, StopCause::NoEndpoint),
        (4, StopCause::Cancelled),
    ];
    assert_eq!(stopping, want.map(|(number, cause)| (id(number), cause)));
    for (agent, cause) in stopping {
        let ending = Ending::Interrupted { reason: cause.to_string() };
        let settled = tree.settle(agent, &ending, &Receipt::default()).unwrap();
        assert_eq!((settled.freed, settled.orphans), (Freed::default(), vec![]));
    }
    assert_eq!(tree.take_reports(id(MAIN), None), ids([1, 7, 4]));
    assert_eq!((tree.undelivered(id(8)), tree.live_children(id(MAIN))), (1, ids([6])));
}

#[test]
fn who_begins_after_its_parents_end_does_not_go_on() {
    let record = Record::new(tree_of(9)).admit(MAIN, [1]).admit(1, [2]).admit(2, [3]).settle(1);
    let Restored { mut tree, freed, stopping, .. } = record.with(2, |known| known.admitted_at = Seq(50));
    assert_eq!((freed, stopping), (Freed::default(), vec![(id(2), StopCause::ParentGone)]));
    assert_eq!(settle(&mut tree, 2).parent, None);
    assert_eq!(tree.family(id(MAIN)).below.agents, 2, "main pays for it");
}

#[test]
fn a_record_that_does_not_fit_is_left_out_with_all_below() {
    let record = || Record::new(tree_of(9)).admit(MAIN, [1]).admit(1, [2]).admit(2, [3]);
    type Damage = fn(&mut Known);
    let cases: [(Damage, Misfit); 12] = [
        (|known| known.parent = id(77), Misfit::UnknownParent),
        (|known| known.parent = id(3), Misfit::UnknownParent),
        (|known| known.parent = id(1), Misfit::UnknownParent),
        (|known| known.depth = 2, Misfit::WrongDepth),
        (|known| known.depth = u32::MAX, Misfit::WrongDepth),
        (|known| known.id = id(MAIN), Misfit::IdTwice),
        (|known| known.name = "main".into(), Misfit::NameTwice),
        (|known| known.name = "general-1~1".into(), Misfit::BadName),
        (|known| known.name = "General-1".into(), Misfit::BadName),
        (|known| known.name = "x".repeat(41), Misfit::BadName),
        (|known| known.continues = Some(id(77)), Misfit::BadPredecessor),
        (|known| known.continues = Some(id(MAIN)), Misfit::BadPredecessor),
    ];
    let mut count = 0;
    for (change, misfit) in cases {
        let restored = record().with(1, change);
        let reasons: Vec<Misfit> = restored.refused.into_iter().map(|(_, misfit)| misfit).collect();
        assert_eq!(reasons, [misfit, Misfit::UnknownParent, Misfit::UnknownParent]);
        assert_eq!((restored.stopping, restored.freed), (vec![], Freed::default()));
        count += 1;
    }
    assert_eq!(count, 12);
}

#[test]
fn who_comes_after_its_children_has_none() {
    let record = Record::new(tree_of(9)).admit(MAIN, [1]).admit(1, [2]);
    let restored = record.with(1, |known| known.admitted_at = Seq(99));
    assert_eq!(restored.refused, vec![(id(2), Misfit::UnknownParent)]);
    assert_eq!((restored.freed.start, restored.tree.live_children(id(1))), (ids([1]), vec![]));
}

#[test]
fn what_has_no_place_still_costs_and_keeps_its_name() {
    let mut record = Record::new(tree_with(tokens(100_000))).admit(MAIN, [1, 2]);
    spend(&mut record.tree, 1, 40_000);
    let restored = record.with(1, |known| known.depth = 7);
    assert_eq!(restored.refused, vec![(id(1), Misfit::WrongDepth)]);
    let mut tree = restored.tree;
    assert_eq!(tree.family(id(MAIN)).tokens, 40_000);
    assert_eq!((tree.find_peer("general-1"), tree.find_peer("general-2")), (None, Some(id(2))));
    let asked = Request { name: Some("general-1".into()), budget: tokens(1_000), ..request(3, MAIN) };
    let taken = Refusal::NameTaken { name: "general-1".into() };
    assert_eq!(refused(&mut tree, asked), taken);
}

#[test]
fn a_second_record_of_one_agent_does_not_end_the_first() {
    let record = Record::new(tree_of(9)).admit(MAIN, [1, 2]).settle(2);
    let restored = record.with(2, |known| known.id = id(1));
    assert_eq!(restored.refused, vec![(id(1), Misfit::IdTwice)]);
    assert_eq!(words(&restored.tree, [1]), ["running"]);
}

#[test]
fn who_is_said_to_have_ended_before_it_began_has_ended() {
    let record = Record::new(tree_of(9)).admit(MAIN, [1]).settle(1);
    let restored = record.with(1, |known| known.admitted_at = Seq(50));
    assert_eq!((restored.freed, restored.stopping), (Freed::default(), vec![]));
    assert_eq!(words(&restored.tree, [1]), ["completed"]);
}

#[test]
fn amounts_that_are_none_give_nobody_more() {
    let limited = Budget { cost_usd: Some(1.0), ..Budget::UNLIMITED };
    let mut count = 0;
    for odd in [f64::NAN, -5.0, f64::NEG_INFINITY] {
        let record = Record::new(tree_with(limited)).admit(MAIN, [1]);
        let restored = record.with(1, |known| {
            known.budget.cost_usd = Some(odd);
            known.spent.cost_usd = Some(odd);
        });
        assert_eq!(restored.tree.family(id(MAIN)).reserved_cost_usd, 0.0);
        let node = restored.tree.node(id(1)).unwrap();
        assert_eq!((node.budget.cost_usd, node.spent.cost_usd), (Some(0.0), None), "{odd}");
        count += 1;
    }
    assert_eq!(count, 3);
}

#[test]
fn no_session_has_more_agents_than_any_may_have() {
    let one = |number: u64| Known {
        id: id(number),
        parent: id(MAIN),
        name: format!("general-{number}"),
        role: "general".to_owned(),
        title: String::new(),
        depth: 1,
        grant: Grant::none(),
        budget: Budget::UNLIMITED,
        endpoint: None,
        continues: None,
        spent: Spent::default(),
        tokens: 0,
        admitted_at: Seq(number),
        settled: None,
        delivered: false,
        stopping: false,
    };
    let (grant, budget, spent) = (Grant::none(), Budget::UNLIMITED, Spent::default());
    let main = KnownMain { id: id(MAIN), grant, budget, spent, tokens: 0, settled: None };
    // A lower limit of the session does not push out those who are there.
    let limits = Limits { agents_max: 5, ..Limits::default() };
    let restored = Tree::restored(limits, main, (1..=10_002).map(one).collect());
    let over = Misfit::TooManyAgents { max: 10_000 };
    assert_eq!(restored.refused, [10_001, 10_002].map(|number| (id(number), over.clone())));
    assert_eq!((restored.stopping.len(), restored.tree.nodes().count()), (10_000, 10_001));
}

#[test]
fn main_is_taken_up_again_with_what_it_knew() {
    let mut tree = tree_with(tokens(50_000));
    for number in [1, 2] {
        admitted(&mut tree, Request { budget: tokens(10_000), ..request(number, MAIN) });
    }
    assert!(!tree.reopen_main(tokens(1)), "it has not ended");
    spend(&mut tree, 1, 4_000);
    settle(&mut tree, 1);
    tree.cancel(id(MAIN));
    let settled = settle(&mut tree, MAIN);
    assert_eq!(settled.orphans, ids([2]));
    assert_eq!(settle(&mut tree, 2).parent, None, "nobody listens now");

    assert!(tree.reopen_main(tokens(90_000)));
    let main = tree.node(id(MAIN)).unwrap();
    assert_eq!((&main.state, main.stopping, main.budget.tokens), (&State::Running, false, Some(90_000)));
    let family = tree.family(id(MAIN));
    assert_eq!((family.tokens, family.reserved_tokens, family.live, family.below.agents), (4_000, 0, 0, 2));
    assert_eq!(words(&tree, [1, 2]), ["completed", "completed"]);
    assert_eq!(tree.take_reports(id(MAIN), None), ids([1, 2]));
    assert_eq!(admitted(&mut tree, request(3, MAIN)).name, "general-3");
    assert_eq!(settle(&mut tree, 3).parent, Some(id(MAIN)));
}

#[test]
fn a_session_that_was_over_is_restored_as_over() {
    let mut record = Record::new(tree_of(9)).admit(MAIN, [1, 2]).settle(1);
    record.journal.settle(&mut record.tree, id(MAIN), &Ending::Completed, &Receipt::default()).unwrap();
    let Restored { mut tree, freed, stopping, .. } = record.restored(deep(9));
    assert_eq!(words(&tree, [MAIN, 1]), ["completed", "completed"]);
    assert_eq!((freed, &stopping[..]), (Freed::default(), &[(id(2), StopCause::ParentGone)][..]));
    assert!(tree.reopen_main(Budget::UNLIMITED));
    assert_eq!(settle(&mut tree, 2).parent, Some(id(MAIN)), "it is told of those that were left");
    let told: Vec<AgentId> = tree.take_reports(id(MAIN), None);
    assert_eq!(told, ids([1, 2]));
}
