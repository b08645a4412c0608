//! What agents are told when they go on, how long they have worked, and that nothing is told twice.

use posse_engine::ApprovalSettings;
use posse_protocol::{Approval, Event, EventKind, Sender};
use posse_testkit::Turn;

use super::Crashed;
use super::crashing::{Scenario, crash_points};
use super::every_step::{blocking, blocks, read, write};
use super::outcome::UNKNOWN;
use super::play::Play;
use crate::crew::{REPORT, start};
use crate::follow::{holds, sh};

/// An hour.
const HOUR_MS: u64 = 3_600_000;

fn results(events: &[Event]) -> Vec<&str> {
    let results = events.iter().filter_map(|event| match &event.kind {
        EventKind::ToolFinished { text, .. } => Some(text.as_str()),
        _ => None,
    });
    results.collect()
}

/// The events up to the first of this kind, that one included.
fn up_to(events: &[Event], wanted: impl Fn(&EventKind) -> bool) -> &[Event] {
    let at = events.iter().position(|event| wanted(&event.kind)).unwrap();
    &events[..=at]
}

#[tokio::test]
async fn a_command_that_was_under_way_is_answered_with_what_to_do_about_it() {
    let Scenario { play, .. } = blocking([("main", vec![sh("echo hi > new-hi"), Turn::text("Done.")])]).await;
    let scenario = Scenario::new(play, super::crashing::Same::Everything);
    let whole = scenario.whole().await;
    let crashed = Crashed::after(up_to(&whole, |kind| matches!(kind, EventKind::ToolStarted { .. })));
    let ran = crashed.run(&scenario.play).await;
    let events = crashed.events();
    holds(results(&events)[0], &[UNKNOWN, "Posse ended while this ran", "Look before you do it again"]);
    let warned = "Posse ended while 1 of its calls ran; what they changed is not counted here";
    assert_eq!((ran.report.notes, ran.report.warnings), (vec![warned.to_string()], Vec::new()));
}

/// Mail that was accepted is on record, and is told once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_that_was_not_read_is_read_once() {
    let Scenario { play, .. } =
        blocking([("main", vec![read("a.txt"), read("b.txt"), Turn::text("Done.")])]).await;
    let scenario = Scenario::new(play, super::crashing::Same::Everything);
    let whole = scenario.whole().await;
    let mut crashes = 0;
    for at in crash_points(&whole) {
        let mut events = whole[..at].to_vec();
        let mut mailed = events[0].clone();
        mailed.kind = EventKind::mailed(Sender::Person, "Be brief.".to_string());
        events.push(mailed);
        let crashed = Crashed::after(&events);
        crashed.run(&scenario.play).await;
        let told = crashed.events().into_iter().filter(
            |event| matches!(&event.kind, EventKind::Told { text, from: Sender::Person, .. } if text == "Be brief."),
        );
        assert_eq!(told.count(), 1, "mailed behind {:?}", whole[at - 1].kind);
        crashes += 1;
    }
    assert!(crashes >= 8, "{crashes} crashes");
}

/// An agent that had spoken and rested while others worked is told what they came to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_that_nobody_had_read_are_told_once() {
    let play = Play::by_rule(|request, name| {
        let told = request["messages"].to_string().contains("<report from=");
        match (name, super::play::turn(request, name)) {
            ("main", 0) => Turn::call("agent", start("explore", "Look at a"))
                .and_call("agent", start("explore", "Look at b")),
            ("main", _) => Turn::text(if told { "They have answered." } else { "They are at work." }),
            (_, 0) => read("a.txt").delay(std::time::Duration::from_millis(50)),
            _ => Turn::text(REPORT),
        }
    })
    .await;
    let scenario = Scenario::new(play, super::crashing::Same::Ends);
    scenario.crash_everywhere(25).await;
}

/// How long agents are said to have worked when they go on, the main agent first.
async fn elapsed_ms(play: &Play, events: &[Event]) -> Vec<u64> {
    let crashed = Crashed::after(events);
    let session = crashed.resume(play, "").await;
    crate::approvals::answered(session, |_| posse_protocol::Answer::Once).await;
    let mut elapsed = Vec::new();
    for event in crashed.events() {
        if let EventKind::AgentResumed { elapsed_ms, .. } = event.kind {
            elapsed.push((event.parent.is_some(), elapsed_ms));
        }
    }
    elapsed.sort_unstable_by_key(|(child, _)| *child);
    elapsed.into_iter().map(|(_, ms)| ms).collect()
}

/// The same events, with an hour before those from some place on.
fn an_hour_later(events: &[Event], from: usize) -> Vec<Event> {
    let mut events = events.to_vec();
    events[from..].iter_mut().for_each(|event| event.at_ms += HOUR_MS);
    events
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn working_time_goes_on_and_waiting_for_a_person_is_none_of_it() {
    let main = vec![Turn::call("agent", blocks("one", "Write it")), Turn::text("Done.")];
    let one = vec![write("new-one.txt"), read("a.txt"), Turn::text(REPORT)];
    let Scenario { mut play, .. } = blocking([("main", main), ("one", one)]).await;
    play.stage.grant.approval = Approval::Ask;
    play.stage.approvals = ApprovalSettings { person: true, ..ApprovalSettings::default() };
    let scenario = Scenario::new(play, super::crashing::Same::Everything);
    let whole = scenario.whole().await;
    let asked = whole.iter().position(|e| matches!(e.kind, EventKind::PersonNeeded { .. })).unwrap();
    let last_turn = |kind: &EventKind| matches!(kind, EventKind::TurnStarted { turn: 3, .. });
    let events = up_to(&whole, last_turn);
    let play = &scenario.play;
    let small = |elapsed: &[u64]| elapsed.len() == 2 && elapsed.iter().all(|ms| *ms < HOUR_MS);
    let elapsed = elapsed_ms(play, events).await;
    assert!(small(&elapsed), "{elapsed:?}");
    // The person took an hour: nobody has worked meanwhile, whoever waits for the one that asks included.
    let elapsed = elapsed_ms(play, &an_hour_later(events, asked + 1)).await;
    assert!(small(&elapsed), "{elapsed:?}");
    // The same when the one that asked has ended.
    let main = |event: &Event| event.parent.is_none() && matches!(event.kind, EventKind::ToolFinished { .. });
    let answered = whole.iter().position(main).unwrap();
    let elapsed = elapsed_ms(play, &an_hour_later(&whole[..=answered], asked + 1)).await;
    assert!(elapsed.len() == 1 && elapsed[0] < HOUR_MS, "{elapsed:?}");
    // A reply took an hour: that is work, and it is not forgotten.
    let elapsed = elapsed_ms(play, &an_hour_later(events, events.len() - 2)).await;
    assert!(elapsed.len() == 2 && elapsed.iter().all(|ms| *ms >= HOUR_MS), "{elapsed:?}");
    // The question was open when the process ended, and the process had been gone for long.
    let elapsed = elapsed_ms(play, &whole[..=asked]).await;
    assert!(small(&elapsed), "{elapsed:?}");
}

/// The time between a crash and the next start is nobody's working time.
#[tokio::test]
async fn the_time_in_which_there_was_no_process_does_not_count() {
    let Scenario { play, .. } = blocking([("main", vec![read("a.txt"), Turn::text("Done.")])]).await;
    let scenario = Scenario::new(play, super::crashing::Same::Everything);
    let mut whole = scenario.whole().await;
    let at = crash_points(&whole)[2];
    // The crash was an hour ago.
    whole.iter_mut().for_each(|event| event.at_ms -= HOUR_MS);
    let elapsed = elapsed_ms(&scenario.play, &whole[..at]).await;
    assert!(elapsed.len() == 1 && elapsed[0] < HOUR_MS, "{elapsed:?}");
}

/// Nor is the time between its end and more that the person has to say.
#[tokio::test]
async fn the_time_between_an_end_and_the_next_question_does_not_count() {
    let play = Play::new([("main", vec![read("a.txt"), Turn::text("Done.")])]).await;
    let scenario = Scenario::new(play, super::crashing::Same::Everything);
    let whole = scenario.whole().await;
    let mut later = whole.last().unwrap().clone();
    later.at_ms += HOUR_MS;
    let (what, events) = ("all".to_string(), Vec::new());
    later.kind = EventKind::Undone {
        what,
        events,
        paths: Vec::new(),
        changes: Vec::new(),
        conflicts: Vec::new(),
        left: Vec::new(),
    };
    let events = whole.iter().cloned().chain([later]).collect::<Vec<_>>();
    let crashed = Crashed::after(&events);
    crate::check::finish(crashed.resume(&scenario.play, "More?").await).await;
    let resumed = crashed.events().into_iter().find_map(|event| match event.kind {
        EventKind::AgentResumed { elapsed_ms, .. } => Some(elapsed_ms),
        _ => None,
    });
    assert!(resumed.is_some_and(|ms| ms < HOUR_MS), "{resumed:?}");
}
