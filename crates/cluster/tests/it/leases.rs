//! Single rules of the machines, each with the case that shows it.

use std::collections::BTreeSet;

use posse_cluster::{
    BufferLimits, ClaimRefusal, CommandInbox, CommandSender, HomeAction, HomeInput, HomeLease, HomeRestored,
    LeaseTimes, NotPushed, RequestAnswerer, RequestArrival, RequestAsker, WorkerInput, WorkerLease,
    WorkerPhase, WorkerSend, limits,
};

type Home = HomeLease<&'static str, u32>;
type Action = HomeAction<u8, &'static str, u32>;
type Input = HomeInput<u8, &'static str, u32>;

fn times() -> LeaseTimes {
    LeaseTimes::for_lease(1_000)
}

fn claim(holder: u32) -> Input {
    HomeInput::Claim { holder, beat: 1 }
}

/// A home where run 1 has epoch 1 since time 0.
fn granted() -> Home {
    let mut home = Home::new(times());
    let grant: Vec<Action> = home.handle(0, claim(1));
    assert_eq!(grant.last(), Some(&HomeAction::RecordGrant { holder: 1, epoch: 1, lease_ms: 1_000 }));
    let told: Vec<Action> = home.handle(0, HomeInput::GrantRecorded { epoch: 1 });
    assert_eq!(told, [HomeAction::Granted { holder: 1, epoch: 1, lease_ms: 1_000, beat: 1, recorded: 0 }]);
    home
}

fn items(holder: u32, epoch: u64, first: u64, items: &[u8]) -> Input {
    HomeInput::Items { holder, epoch, first, items: items.to_vec() }
}

#[test]
fn items_are_taken_once_in_order_and_acknowledged_when_on_record() {
    let mut home = granted();
    assert_eq!(
        home.handle(1, items(1, 1, 1, &[1, 2])),
        [HomeAction::Record { epoch: 1, first: 1, items: vec![1, 2] }]
    );
    let nothing_new = [HomeAction::Ack { holder: 1, epoch: 1, upto: 0, missing: false }];
    assert_eq!(home.handle(2, items(1, 1, 1, &[1, 2])), nothing_new);
    let overlap = [HomeAction::Record { epoch: 1, first: 3, items: vec![3] }];
    assert_eq!(home.handle(3, items(1, 1, 2, &[2, 3])), overlap);
    let gap = [HomeAction::Ack { holder: 1, epoch: 1, upto: 0, missing: true }];
    assert_eq!(home.handle(4, items(1, 1, 5, &[5])), gap);
    assert_eq!(home.handle(4, items(1, 1, 0, &[5])), gap);
    let recorded: Vec<Action> = home.handle(5, HomeInput::Recorded { upto: 2 });
    assert_eq!(recorded, [HomeAction::Ack { holder: 1, epoch: 1, upto: 2, missing: false }]);
    let stale: Vec<Action> = home.handle(6, items(2, 1, 4, &[4]));
    assert_eq!(stale, [HomeAction::Stale { holder: 2, epoch: 1 }]);
}

#[test]
fn a_grant_follows_only_when_the_lease_is_over() {
    let mut home = granted();
    let held =
        |actions: &[Action]| actions.contains(&HomeAction::Refuse { holder: 2, reason: ClaimRefusal::Held });
    let patience = times().patience_ms(1_000);
    assert!(held(&home.handle(patience, claim(2))));
    let renewed: Vec<Action> = home.handle(patience, HomeInput::Renew { holder: 1, epoch: 1, beat: 2 });
    assert_eq!(renewed, [HomeAction::Renewed { holder: 1, epoch: 1, beat: 2, recorded: 0 }]);
    assert!(held(&home.handle(2 * patience, claim(2))));
    let next = home.handle(2 * patience + 1, claim(2));
    assert_eq!(next.last(), Some(&HomeAction::RecordGrant { holder: 2, epoch: 2, lease_ms: 1_000 }));
    // Until the grant is on record, the old run is told nothing; then it is stale.
    let old = || HomeInput::Renew { holder: 1, epoch: 1, beat: 3 };
    let silence: Vec<Action> = home.handle(2 * patience + 1, old());
    assert_eq!(silence, []);
    let _: Vec<Action> = home.handle(2 * patience + 2, HomeInput::GrantRecorded { epoch: 2 });
    let stale: Vec<Action> = home.handle(2 * patience + 2, old());
    assert_eq!(stale, [HomeAction::Stale { holder: 1, epoch: 2 }]);
    let again: Vec<Action> = home.handle(2 * patience + 2, claim(1));
    assert_eq!(again, [HomeAction::Refuse { holder: 1, reason: ClaimRefusal::Superseded }]);
}

#[test]
fn a_claim_whose_answer_was_lost_gets_the_same_epoch() {
    let mut home = granted();
    let again: Vec<Action> = home.handle(5, HomeInput::Claim { holder: 1, beat: 2 });
    assert_eq!(again, [HomeAction::Granted { holder: 1, epoch: 1, lease_ms: 1_000, beat: 2, recorded: 0 }]);
}

/// A run begins only after everything that was taken before it is on record.
#[test]
fn a_grant_waits_for_items_that_are_being_recorded() {
    let mut home = granted();
    let _: Vec<Action> = home.handle(0, items(1, 1, 1, &[1, 2]));
    let later = times().patience_ms(1_000) + 1;
    let _: Vec<Action> = home.handle(later, claim(2));
    let early: Vec<Action> = home.handle(later, HomeInput::GrantRecorded { epoch: 2 });
    assert_eq!(early, []);
    let then: Vec<Action> = home.handle(later, HomeInput::Recorded { upto: 2 });
    assert_eq!(then, [HomeAction::Granted { holder: 2, epoch: 2, lease_ms: 1_000, beat: 1, recorded: 2 }]);
}

#[test]
fn an_agent_settles_once() {
    let mut home = granted();
    let end = || HomeInput::Final { holder: 1, epoch: 1, after: 0, aside: false, result: "done" };
    let settle: Vec<Action> = home.handle(1, end());
    assert_eq!(settle, [HomeAction::Settle { epoch: 1, result: "done" }]);
    let again: Vec<Action> = home.handle(2, end());
    assert_eq!(again, []);
    let told: Vec<Action> = home.handle(3, HomeInput::Settled { with_result: true });
    assert_eq!(told, [HomeAction::SettledAck { holder: 1, epoch: 1 }]);
    let again: Vec<Action> = home.handle(4, end());
    assert_eq!(again, [HomeAction::SettledAck { holder: 1, epoch: 1 }]);
    let claimed: Vec<Action> = home.handle(5, claim(2));
    assert_eq!(claimed, [HomeAction::Refuse { holder: 2, reason: ClaimRefusal::Ended }]);
    let other: Vec<Action> = home.handle(6, HomeInput::Renew { holder: 2, epoch: 1, beat: 1 });
    assert_eq!(other, [HomeAction::Stale { holder: 2, epoch: 1 }]);
    assert_eq!((home.is_settled(), home.tick_at_ms()), (true, None));
}

#[test]
fn an_end_with_missing_items_waits_and_one_with_fewer_is_refused() {
    let mut home = granted();
    let end = |after| HomeInput::Final { holder: 1, epoch: 1, after, aside: false, result: "x" };
    let missing: Vec<Action> = home.handle(1, end(1));
    assert_eq!(missing, [HomeAction::Ack { holder: 1, epoch: 1, upto: 0, missing: true }]);
    let _: Vec<Action> = home.handle(1, items(1, 1, 1, &[1, 2]));
    let fewer: Vec<Action> = home.handle(1, end(1));
    assert_eq!(fewer, [HomeAction::Refuse { holder: 1, reason: ClaimRefusal::Contradiction }]);
    // It is offered to others when that run cannot act any more.
    let early: Vec<Action> = home.handle(2, claim(2));
    assert_eq!(early, [HomeAction::Refuse { holder: 2, reason: ClaimRefusal::Held }]);
}

/// Found by the simulator: home told a run that it is stale, crashed before the newer grant was on record, and then took the run
/// for the holder again. The run waited for its work to be put aside, home for its items, for ever.
#[test]
fn a_run_that_was_told_it_is_stale_is_never_the_holder_again() {
    let from = HomeRestored { epoch: 1, holder: Some(1), lease_ms: 1_000, recorded: 2 };
    let mut home = Home::restored(times(), from, 0);
    let left = || HomeInput::Final { holder: 1, epoch: 1, after: 5, aside: true, result: "left" };
    let actions: Vec<Action> = home.handle(1, left());
    assert_eq!(
        actions,
        [
            HomeAction::Offer { epoch: 1, attempt: 1 },
            HomeAction::TakeAside { holder: 1, epoch: 1, result: "left" }
        ]
    );
    let told: Vec<Action> = home.handle(2, HomeInput::TakenAside { holder: 1, epoch: 1 });
    assert_eq!(told, [HomeAction::SettledAck { holder: 1, epoch: 1 }]);
    let again: Vec<Action> = home.handle(3, left());
    assert_eq!(again, [HomeAction::SettledAck { holder: 1, epoch: 1 }]);
    let next: Vec<Action> = home.handle(3, claim(2));
    assert_eq!(next, [HomeAction::RecordGrant { holder: 2, epoch: 2, lease_ms: 1_000 }]);
}

#[test]
fn a_restored_home_waits_for_the_old_holder() {
    let from = HomeRestored { epoch: 3, holder: Some(1), lease_ms: 1_000, recorded: 7 };
    let mut home = Home::restored(times(), from.clone(), 100);
    let patience = times().patience_ms(1_000);
    let held: Vec<Action> = home.handle(100 + patience, claim(2));
    assert_eq!(held, [HomeAction::Refuse { holder: 2, reason: ClaimRefusal::Held }]);
    let renewed: Vec<Action> = home.handle(100 + patience, HomeInput::Renew { holder: 1, epoch: 3, beat: 9 });
    assert_eq!(renewed, [HomeAction::Renewed { holder: 1, epoch: 3, beat: 9, recorded: 7 }]);
    let mut nobody = Home::restored(times(), HomeRestored { holder: None, ..from }, 100);
    let early: Vec<Action> = nobody.handle(101, HomeInput::Tick);
    assert_eq!(early, []);
    let early: Vec<Action> = nobody.handle(102, claim(2));
    assert_eq!(early, [HomeAction::Refuse { holder: 2, reason: ClaimRefusal::Held }]);
    assert_eq!(nobody.tick_at_ms(), Some(100 + patience));
    let late: Vec<Action> = nobody.handle(100 + patience, HomeInput::Tick);
    assert_eq!(late, [HomeAction::Offer { epoch: 3, attempt: 1 }]);
}

/// A worker counts by the lease that it was granted, so home does, too, until it grants another one.
#[test]
fn a_home_that_is_configured_anew_keeps_to_the_lease_that_was_granted() {
    let from = HomeRestored { epoch: 3, holder: Some(1), lease_ms: 60_000, recorded: 7 };
    let mut home = Home::restored(times(), from, 0);
    let long = times().patience_ms(60_000);
    assert!(long > 60_000);
    let again: Vec<Action> = home.handle(5, claim(1));
    assert_eq!(again, [HomeAction::Granted { holder: 1, epoch: 3, lease_ms: 60_000, beat: 1, recorded: 7 }]);
    let held: Vec<Action> = home.handle(5 + long, claim(2));
    assert_eq!(held, [HomeAction::Refuse { holder: 2, reason: ClaimRefusal::Held }]);
    let next: Vec<Action> = home.handle(6 + long, claim(2));
    assert_eq!(next.last(), Some(&HomeAction::RecordGrant { holder: 2, epoch: 4, lease_ms: 1_000 }));
}

#[test]
fn after_five_lost_workers_an_agent_is_lost() {
    let mut home = Home::new(times());
    let mut now = 0;
    for run in 0..5_u32 {
        let offered: Vec<Action> = home.handle(now, HomeInput::Tick);
        assert_eq!(offered, [HomeAction::Offer { epoch: u64::from(run), attempt: u64::from(run) + 1 }]);
        let _: Vec<Action> = home.handle(now, claim(run));
        let _: Vec<Action> = home.handle(now, HomeInput::GrantRecorded { epoch: u64::from(run) + 1 });
        now = home.tick_at_ms().unwrap();
    }
    let lost: Vec<Action> = home.handle(now, HomeInput::Tick);
    assert_eq!(lost, [HomeAction::Lost { lost: limits::WORKERS_LOST_MAX }]);
    let again: Vec<Action> = home.handle(now + 10_000, HomeInput::Tick);
    assert_eq!(again, []);
}

#[test]
fn giving_up_offers_at_once_but_not_for_ever() {
    let mut home = Home::new(times());
    let _: Vec<Action> = home.handle(0, HomeInput::Tick);
    let mut last = Vec::new();
    for run in 0..limits::GRANTS_MAX as u32 {
        let _: Vec<Action> = home.handle(0, claim(run));
        let _: Vec<Action> = home.handle(0, HomeInput::GrantRecorded { epoch: u64::from(run) + 1 });
        last = home.handle(0, HomeInput::<u8, _, _>::GiveUp { holder: run });
    }
    assert_eq!(last, [HomeAction::Lost { lost: 0 }]);
}

/// Home's answer to the first claim.
fn granted_by(epoch: u64, recorded: u64) -> WorkerInput {
    let LeaseTimes { lease_ms, renew_ms, .. } = times();
    WorkerInput::Granted { epoch, beat: 1, recorded, lease_ms, renew_ms }
}

type Worker = WorkerLease<u8, &'static str>;

fn worker() -> Worker {
    let buffer = BufferLimits { unacked_bytes_max: 10, piece_bytes_max: 4, item_bytes_max: 5 };
    Worker::new(times(), buffer, 1_000)
}

fn held() -> Worker {
    let mut run = worker();
    assert_eq!(run.tick(1_000), [WorkerSend::Claim { beat: 1 }]);
    run.hear(1_050, granted_by(4, 7));
    run
}

#[test]
fn a_run_may_act_for_one_lease_after_it_sent_what_was_answered() {
    let mut run = held();
    assert!(run.may_act(1_999) && !run.may_act(2_000));
    assert_eq!(run.tick(1_400), [WorkerSend::Renew { epoch: 4, beat: 2 }]);
    assert!(!run.may_act(2_000), "an unanswered renewal is none");
    assert_eq!(run.tick(1_800), [WorkerSend::Renew { epoch: 4, beat: 3 }]);
    run.hear(1_900, WorkerInput::Renewed { epoch: 4, beat: 2, recorded: 7 });
    assert!(run.may_act(2_399) && !run.may_act(2_400), "counted from when the second was sent");
    run.hear(1_950, WorkerInput::Renewed { epoch: 3, beat: 3, recorded: 7 });
    assert!(!run.may_act(2_400), "of another epoch");
    run.hear(5_000, WorkerInput::Renewed { epoch: 4, beat: 3, recorded: 7 });
    assert!(!run.may_act(5_000), "an answer that took too long is worth nothing");
    run.hear(5_000, WorkerInput::Stale { epoch: 5 });
    assert_eq!(run.phase(), WorkerPhase::Stale);
}

#[test]
fn items_wait_for_each_other_but_not_for_ever() {
    let sent = |first, items: Vec<u8>| [WorkerSend::<u8, &str>::Items { epoch: 4, first, items }];
    let mut run = held();
    run.gather(1_065);
    run.push(1, 1).unwrap();
    assert_eq!((run.tick(1_061), run.tick_at_ms()), (vec![], Some(1_065)));
    run.gather(1_100);
    run.push(2, 1).unwrap();
    assert_eq!(run.tick(1_065), sent(8, vec![1, 2]), "the first one has waited long enough");
    run.gather(1_100);
    run.push(3, 1).unwrap();
    run.gather_no_more();
    assert_eq!(run.tick(1_066), sent(10, vec![3]), "something comes after it");
    run.gather(1_200);
    run.push(4, 1).unwrap();
    run.finish("done", 1_067);
    assert_eq!(run.tick(1_067), sent(11, vec![4]), "nothing more comes");
}

#[test]
fn items_are_numbered_kept_cut_and_sent_again() {
    let mut run = held();
    assert_eq!(run.push(1, 6), Err(NotPushed::TooLarge { bytes: 6, max: 5 }));
    let numbers: Vec<u64> =
        [(1, 3), (2, 3), (3, 1), (4, 3)].map(|(item, bytes)| run.push(item, bytes).unwrap()).to_vec();
    assert_eq!(numbers, [8, 9, 10, 11]);
    assert!(run.is_full());
    let pieces = |first: u64| {
        let all = [(8, vec![1]), (9, vec![2, 3]), (11, vec![4])];
        let piece = |(first, items)| WorkerSend::Items { epoch: 4, first, items };
        all.into_iter()
            .filter(|(number, _)| *number >= first)
            .map(piece)
            .collect::<Vec<WorkerSend<u8, &str>>>()
    };
    assert_eq!(run.tick(1_060), pieces(8));
    assert_eq!(run.tick(1_100), []);
    run.hear(1_110, WorkerInput::Ack { epoch: 4, upto: 8, missing: false });
    assert!(!run.is_full());
    assert_eq!(run.tick(1_111), [], "what is on its way is not sent again at once");
    assert_eq!(run.tick(1_210), pieces(9), "but when the answer takes too long");
    run.hear(1_220, WorkerInput::Ack { epoch: 4, upto: 8, missing: true });
    assert_eq!(run.tick(1_220), pieces(9), "or when home says that something is missing");
    run.finish("done", 1_230);
    assert_eq!(run.push(9, 1), Err(NotPushed::NotHeld));
    run.hear(1_240, WorkerInput::Ack { epoch: 4, upto: 11, missing: false });
    let end = [WorkerSend::Final { epoch: 4, after: 11, aside: false, result: "done" }];
    assert_eq!(run.tick(1_250), end);
    assert_eq!(run.tick(1_260), []);
    assert_eq!(run.tick(1_360), end);
    run.hear(1_370, WorkerInput::SettledAck { epoch: 4 });
    assert_eq!((run.phase(), run.tick_at_ms()), (WorkerPhase::Done, None));
}

#[test]
fn home_says_how_long_a_lease_is() {
    let mut run = worker();
    let _ = run.tick(1_000);
    run.hear(1_050, WorkerInput::Granted { epoch: 1, beat: 1, recorded: 0, lease_ms: 400, renew_ms: 100 });
    assert!(run.may_act(1_399) && !run.may_act(1_400), "not by what the worker was configured with");
    assert_eq!(run.tick(1_150), [WorkerSend::Renew { epoch: 1, beat: 2 }]);
    let mut run = worker();
    let _ = run.tick(1_000);
    let endless =
        WorkerInput::Granted { epoch: 1, beat: 1, recorded: 0, lease_ms: u64::MAX, renew_ms: u64::MAX };
    run.hear(1_050, endless);
    let until = 1_000 + limits::LEASE_MS_MAX;
    assert!(run.may_act(until - 1) && !run.may_act(until));
    assert!(run.tick_at_ms().is_some_and(|at| at <= 1_050 + limits::LEASE_MS_MAX / 2), "it renews in time");
}

#[test]
fn a_claim_waits_as_long_as_home_says_that_it_is_about_to_answer() {
    let mut home = Home::new(times());
    let _: Vec<Action> = home.handle(0, HomeInput::Tick);
    let first: Vec<Action> = home.handle(1, claim(1));
    assert_eq!(first, [HomeAction::RecordGrant { holder: 1, epoch: 1, lease_ms: 1_000 }]);
    let mut run = worker();
    for now in (1_000..20_000).step_by(100) {
        assert_eq!(run.tick(now).len(), 1, "it still claims");
        let again: Vec<Action> = home.handle(now, claim(1));
        assert_eq!(again, [HomeAction::Wait { holder: 1 }]);
        run.hear(now, WorkerInput::Wait);
    }
}

#[test]
fn an_agent_that_nobody_has_is_offered_again_at_once_where_offers_were_lost() {
    let mut home = Home::new(times());
    let offered: Vec<Action> = home.handle(0, HomeInput::Tick);
    assert_eq!(offered, [HomeAction::Offer { epoch: 0, attempt: 1 }]);
    let nothing: Vec<Action> = home.handle(1, HomeInput::Tick);
    assert_eq!(nothing, []);
    let again: Vec<Action> = home.handle(2, HomeInput::OfferAgain);
    assert_eq!(again, [HomeAction::Offer { epoch: 0, attempt: 2 }]);
    let held: Vec<Action> = granted().handle(2, HomeInput::OfferAgain);
    assert_eq!(held, [], "one that somebody has is not");
}

#[test]
fn a_run_keeps_what_home_does_not_have() {
    let mut home = granted();
    let end = |aside| HomeInput::Final { holder: 1, epoch: 1, after: 0, aside, result: "done" };
    let settle: Vec<Action> = home.handle(1, end(false));
    assert_eq!(settle, [HomeAction::Settle { epoch: 1, result: "done" }]);
    let told: Vec<Action> = home.handle(2, HomeInput::Settled { with_result: false });
    assert_eq!(told, [HomeAction::Stale { holder: 1, epoch: 1 }]);
    for aside in [false, true] {
        let left: Vec<Action> = home.handle(3, end(aside));
        assert_eq!(left, [HomeAction::TakeAside { holder: 1, epoch: 1, result: "done" }]);
    }
    let taken: Vec<Action> = home.handle(4, HomeInput::TakenAside { holder: 1, epoch: 1 });
    assert_eq!(taken, [HomeAction::SettledAck { holder: 1, epoch: 1 }]);
    // The same where home ends an agent that a worker has.
    let mut home = granted();
    let told: Vec<Action> = home.handle(1, HomeInput::Settled { with_result: false });
    assert_eq!(told, [HomeAction::Stale { holder: 1, epoch: 1 }]);
    let left: Vec<Action> = home.handle(2, end(true));
    assert_eq!(left, [HomeAction::TakeAside { holder: 1, epoch: 1, result: "done" }]);
}

#[test]
fn a_claim_without_an_answer_is_given_up() {
    let mut run = worker();
    let claims = (1_000..2_999).step_by(100).filter(|now| !run.tick(*now).is_empty()).count();
    assert_eq!(claims, 20);
    assert_eq!(run.tick(3_000), [WorkerSend::GiveUp]);
    assert_eq!((run.phase(), run.tick(3_001)), (WorkerPhase::GivenUp, vec![]));
    run.hear(3_100, granted_by(1, 0));
    assert!(!run.may_act(3_100));
}

#[test]
fn what_is_not_to_be_done_twice_is_not() {
    let mut asker = RequestAsker::new(100);
    let mut answerer = RequestAnswerer::default();
    let ids: Vec<u64> = (0..3).map(|body| asker.ask(body).unwrap()).collect();
    let sends = asker.tick(0);
    assert_eq!(
        sends.iter().map(|send| (send.id, send.open_from)).collect::<Vec<_>>(),
        [(1, 1), (2, 1), (3, 1)]
    );
    assert_eq!(asker.tick(99), []);
    assert_eq!(asker.tick(100).len(), 3);
    assert_eq!(answerer.arrive(2, 1), RequestArrival::New);
    assert_eq!(answerer.arrive(2, 1), RequestArrival::InProgress);
    answerer.answer(2, "two", 3);
    assert_eq!(answerer.arrive(2, 1), RequestArrival::Answered("two"));
    assert!(asker.answered(2) && !asker.answered(2));
    assert_eq!(answerer.arrive(1, 1), RequestArrival::New);
    answerer.answer(1, "one", 3);
    assert!(asker.answered(1));
    assert_eq!(asker.tick(299), [], "twice as long the second time");
    assert_eq!(asker.tick(300).iter().map(|send| (send.id, send.open_from)).collect::<Vec<_>>(), [(3, 3)]);
    let sent: Vec<u64> = (301..4_000).filter(|now| !asker.tick(*now).is_empty()).collect();
    assert_eq!(sent, [700, 1_500, 2_300, 3_100, 3_900], "and at last every 800");
    assert_eq!(answerer.arrive(3, 3), RequestArrival::New);
    assert_eq!(answerer.arrive(2, 1), RequestArrival::Forgotten, "a late copy is not carried out again");
    assert_eq!(ids, [1, 2, 3]);
    for _ in 1..limits::REQUESTS_OPEN_MAX {
        assert!(asker.has_room());
        asker.ask(0).unwrap();
    }
    assert!(!asker.has_room() && asker.ask(0).is_err());
    assert!(asker.answered(10) && asker.has_room());
}

#[test]
fn answers_that_take_too_much_are_forgotten_and_not_given_twice() {
    let mut answerer = RequestAnswerer::default();
    let large = limits::ANSWERS_KEPT_BYTES_MAX / 2;
    for id in 1..=3 {
        assert_eq!(answerer.arrive(id, 1), RequestArrival::New);
        answerer.answer(id, id, large);
    }
    assert_eq!(answerer.arrive(1, 1), RequestArrival::Forgotten);
    assert_eq!(answerer.arrive(3, 1), RequestArrival::Answered(3));
    for id in 0..limits::ANSWERS_KEPT_MAX as u64 {
        answerer.arrive(10 + id, 1);
    }
    assert_eq!(answerer.arrive(9_999, 1), RequestArrival::Busy);
}

#[test]
fn commands_arrive_once_and_in_order_whatever_happens() {
    for seed in 0..500 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut sender, mut inbox) = (CommandSender::new(1, 10), CommandInbox::default());
        let mut got = Vec::new();
        let mut on_the_way: Vec<(u64, u64, u32)> = Vec::new();
        let mut next = 0;
        for now in 0..2_000 {
            if next < 20 && now % 90 == 0 {
                sender.command(next).unwrap();
                next += 1;
            }
            if now == 1_000 {
                // Home is started again: it knows no numbers, and says again what may not have arrived.
                let all: BTreeSet<u32> = got.iter().copied().collect();
                sender = CommandSender::new(2, 10);
                (0..next)
                    .filter(|body| !all.contains(body))
                    .for_each(|body| assert!(sender.command(body).is_ok()));
            }
            on_the_way
                .extend(sender.tick(now).into_iter().map(|(number, body)| (sender.series(), number, body)));
            if on_the_way.is_empty() {
                continue;
            }
            let (series, number, body) = on_the_way.swap_remove(rng.usize(0..on_the_way.len()));
            let copies = rng.usize(0..3);
            for _ in 0..copies {
                // Until something of the new series has come, what the old one said still counts.
                let known = inbox.delivered().0 == 2 || series == 2;
                got.extend(inbox.arrive(series, number, body));
                assert!(!known || inbox.delivered().0 == 2, "late words of the old series change nothing");
                if rng.bool() {
                    let (series, upto) = inbox.delivered();
                    sender.acknowledged(series, upto);
                }
            }
        }
        let mut told = got.clone();
        told.sort_unstable();
        told.dedup();
        assert_eq!(told, (0..20).collect::<Vec<_>>(), "seed {seed}: nothing is lost");
        let twice = got.len() - told.len();
        assert!(twice <= 20, "seed {seed}: only what was on its way at the restart can come twice: {twice}");
        assert_eq!(inbox.delivered().0, 2);
        let mut late = inbox.clone();
        assert!(late.arrive(1, 21, 99).is_empty() && late.delivered() == inbox.delivered());
    }
}

#[test]
fn times_that_are_not_safe_are_noticed() {
    assert!(LeaseTimes::default().are_safe() && times().are_safe());
    assert!(!LeaseTimes { margin_ms: 10, ..times() }.are_safe());
    assert!(!LeaseTimes { renew_ms: 600, ..times() }.are_safe());
}
