//! Sessions that go on more than once: after a second crash, after they had ended, and what must not be resumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use posse_engine::{Engine, EngineError};
use posse_protocol::{Answer, Event, EventKind, Sender, Seq};
use posse_testkit::Turn;
use serde_json::json;

use super::Crashed;
use super::crashing::{Same, Scenario, crash_points, nothing_twice, written};
use super::every_step::{blocking, blocks, read, write};
use super::outcome::Outcome;
use super::play::{Play, turn};
use crate::approvals::answered;
use crate::check::{Ran, finish};
use crate::crew::{REPORT, start};
use crate::follow::{Followed, busy, holds};

/// Second crashes that there must be at least.
const SECOND_CRASHES_MIN: usize = 40;

fn told(events: &[Event], by: Sender) -> Vec<&str> {
    let told = events.iter().filter_map(|event| match &event.kind {
        EventKind::Told { from, text, .. } if *from == by && event.parent.is_none() => Some(text.as_str()),
        _ => None,
    });
    told.collect()
}

fn status(engine: &Engine) -> &'static str {
    engine.find_session("last").unwrap().status.word()
}

/// A main agent that says how often it was asked something.
async fn answers() -> Play {
    Play::by_rule(|request, name| match turn(request, name) {
        0 => read("a.txt"),
        turn => Turn::text(format!("This is answer {turn}.")),
    })
    .await
}

async fn run(play: &Play, prompt: &str) -> Ran {
    finish(play.stage.engine.start(play.request(prompt)).unwrap()).await
}

fn all(ran: &Ran) -> Vec<Event> {
    ran.events().cloned().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_crash_changes_nothing_either() {
    let main = vec![
        Turn::call("agent", blocks("one", "Do the first half"))
            .and_call("agent", blocks("two", "Do the second half")),
        write("new-two.txt"),
        Turn::text("The halves are done."),
    ];
    let one = vec![
        write("new-one.txt"),
        Turn::call("agent", blocks("three", "Check the first half")),
        Turn::text(REPORT),
    ];
    let looks = vec![read("a.txt"), Turn::text(REPORT)];
    let Scenario { play, .. } = blocking([("main", main), ("one", one), ("*", looks)]).await;
    let folder = play.stage.files.path().to_path_buf();
    let whole = all(&run(&play, "Do both halves").await);
    let wanted = Outcome::of(&whole);
    let mut crashes = 0;
    for at in crash_points(&whole).into_iter().step_by(15) {
        written(&folder, &whole[..at]);
        let crashed = Crashed::after(&whole[..at]);
        crashed.run(&play).await;
        let events = crashed.events();
        for again in crash_points(&events).into_iter().filter(|again| *again > at).step_by(2) {
            written(&folder, &events[..again]);
            let crashed = Crashed::after(&events[..again]);
            crashed.run(&play).await;
            let place = format!("behind {at} and {again}: {:?}", events[again - 1].kind);
            let events = crashed.events();
            nothing_twice(&events, &place);
            let mut outcome = Outcome::of(&events);
            outcome.complete_from(&wanted);
            assert_eq!(outcome.at_any_pace(), wanted.clone().at_any_pace(), "{place}");
            crashes += 1;
        }
    }
    assert!(crashes >= SECOND_CRASHES_MIN, "{crashes} second crashes");
}

#[tokio::test]
async fn a_session_that_is_done_goes_on_with_the_same_conversation_when_there_is_more_to_say() {
    let play = answers().await;
    let first = run(&play, "What is in a.txt?").await;
    let session = first.events().next().unwrap().session;
    let engine = &play.stage.engine;
    for nth in 2..=3 {
        let prompt = format!("Question {nth}?");
        let ran = finish(engine.resume(session, play.request(&prompt)).await.unwrap()).await;
        assert_eq!(ran.report.text, format!("This is answer {nth}."));
        assert_eq!(ran.report.receipt.turns, nth + 1, "turns go on");
    }
    let events = engine.events_after(session, Seq(0), 1000).unwrap();
    assert_eq!(told(&events, Sender::Person), ["What is in a.txt?", "Question 2?", "Question 3?"]);
    let asked = play.take_asked();
    assert_eq!(asked.len(), 4);
    for pair in asked.windows(2) {
        let end = pair[0].body.len() - "]}".len();
        assert_eq!(pair[0].body[..end], pair[1].body[..end], "what was said before comes first, unchanged");
    }
    assert_eq!(status(engine), "completed");
}

#[tokio::test]
async fn a_session_that_is_done_needs_something_to_do() {
    let play = answers().await;
    let ran = run(&play, "What is in a.txt?").await;
    let session = ran.events().next().unwrap().session;
    let refused = play.stage.engine.resume(session, play.request("")).await.err().unwrap();
    holds(&refused.to_string(), &["is completed", "Say what is to be done next"]);
    assert_eq!(play.stage.engine.events_after(session, Seq(0), 1000).unwrap(), all(&ran));
}

/// What the person says is on record as soon as the session goes on: a crash does not lose it, and it is told once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_person_had_to_say_survives_the_next_crash() {
    let play = answers().await;
    let whole = all(&run(&play, "What is in a.txt?").await);
    let begun = crash_points(&whole)[0];
    let mut crashes = 0;
    for at in [begun, begun + 2, whole.len()] {
        let crashed = Crashed::after(&whole[..at]);
        finish(crashed.resume(&play, "And b.txt?").await).await;
        let events = crashed.events();
        let resumed = events.iter().position(|e| matches!(e.kind, EventKind::AgentResumed { .. })).unwrap();
        for again in resumed + 1..events.len() {
            let place = format!("behind {at} and {again}: {:?}", events[again - 1].kind);
            let crashed = Crashed::after(&events[..again]);
            crashed.run(&play).await;
            let events = crashed.events();
            assert_eq!(told(&events, Sender::Person), ["What is in a.txt?", "And b.txt?"], "{place}");
            nothing_twice_but_main(&events, &place);
            crashes += 1;
        }
    }
    assert!(crashes >= 12, "{crashes} crashes");
}

/// The main agent of a session that goes on after its end ends more than once.
fn nothing_twice_but_main(events: &[Event], place: &str) {
    let main =
        |event: &&Event| event.parent.is_none() && matches!(event.kind, EventKind::AgentSettled { .. });
    let kept = events.iter().filter(|event| !main(event)).cloned().collect::<Vec<_>>();
    nothing_twice(&kept, place);
}

#[tokio::test]
async fn a_session_that_failed_goes_on() {
    let broken = Arc::new(AtomicBool::new(true));
    let now = Arc::clone(&broken);
    let play = Play::by_rule(move |request, name| match turn(request, name) {
        0 => read("a.txt"),
        _ if now.load(Ordering::Relaxed) => Turn::status(400),
        _ => Turn::text("Done after all."),
    })
    .await;
    let ran = run(&play, "Do it").await;
    assert_eq!((ran.report.ending.word(), status(&play.stage.engine)), ("failed", "failed"));
    broken.store(false, Ordering::Relaxed);
    let session = ran.events().next().unwrap().session;
    let ran = finish(play.stage.engine.resume(session, play.request("")).await.unwrap()).await;
    assert_eq!((ran.report.ending.word(), ran.report.text.as_str()), ("completed", "Done after all."));
    let go_on = "The session was ended before you were done, and goes on now. Go on with the task.";
    let events = play.stage.engine.events_after(session, Seq(0), 1000).unwrap();
    assert_eq!(told(&events, Sender::Posse), [go_on]);
    assert_eq!(status(&play.stage.engine), "completed");
}

#[tokio::test]
async fn a_session_that_was_cancelled_goes_on_without_those_that_were_stopped_with_it() {
    let main = vec![
        Turn::call("agent", start("general", "Take long")),
        Turn::call("agent", json!({"action": "wait"})),
        Turn::text("Done after all."),
    ];
    let play = Play::new([("main", main), ("*", vec![busy("new-begun")])]).await;
    let mut followed = Followed::new(play.stage.engine.start(play.request("Do it")).unwrap());
    let runs = |e: &Event| matches!(&e.kind, EventKind::ToolStarted { tool, .. } if tool == "shell");
    followed.until(1, runs).await;
    followed.session.cancel();
    let ran = followed.finish().await;
    assert_eq!(ran.report.ending.word(), "cancelled");
    let session = ran.events().next().unwrap().session;
    let ran = finish(play.stage.engine.resume(session, play.request("")).await.unwrap()).await;
    assert_eq!((ran.report.ending.word(), ran.report.text.as_str()), ("completed", "Done after all."));
    let events = play.stage.engine.events_after(session, Seq(0), 1000).unwrap();
    nothing_twice_but_main(&events, "after a cancel");
    let begun = events.iter().filter(|e| matches!(e.kind, EventKind::AgentStarted { .. })).count();
    assert_eq!(begun, 2, "nobody is started again");
}

#[tokio::test]
async fn a_session_at_work_cannot_be_resumed_and_is_not_taken_for_interrupted() {
    let play = Play::new([("main", vec![busy("new-begun"), Turn::text("Done.")])]).await;
    let mut followed = Followed::new(play.stage.engine.start(play.request("Do it")).unwrap());
    followed.until(1, |e| matches!(e.kind, EventKind::ToolStarted { .. })).await;
    let id = followed.session.id;
    let refused = play.stage.engine.resume(id, play.request("")).await.err().unwrap();
    assert!(matches!(refused, EngineError::Busy(_)), "{refused:?}");
    holds(&refused.to_string(), &["is at work"]);
    let other = Engine::open(play.stage.data.path()).unwrap();
    assert_eq!(status(&other), "running");
    let refused = other.resume(id, play.request("")).await.err().unwrap();
    holds(&refused.to_string(), &["is at work"]);
    followed.session.cancel();
    followed.finish().await;
    assert_eq!(status(&Engine::open(play.stage.data.path()).unwrap()), "cancelled");
}

#[tokio::test]
async fn a_session_whose_process_is_gone_is_interrupted_from_the_next_start_on() {
    let play = Play::new([
        ("main", vec![Turn::call("agent", blocks("one", "Look")), Turn::text("Done.")]),
        ("*", vec![read("a.txt"), Turn::text(REPORT)]),
    ])
    .await;
    let mut scenario = Scenario::new(play, Same::Everything);
    scenario.play.stage.delegation.surface = posse_surface::Surface::Task;
    let whole = scenario.whole().await;
    let (mut open, mut crashes) = (0, 0);
    for at in crash_points(&whole) {
        let crashed = Crashed::after(&whole[..at]);
        assert_eq!(status(&crashed.engine), "interrupted");
        let agents = crashed.engine.agents(crashed.session).unwrap();
        let states = agents.iter().map(|agent| agent.status.word()).collect::<Vec<_>>();
        assert!(states.iter().all(|status| ["interrupted", "completed"].contains(status)), "{states:?}");
        open += states.iter().filter(|status| **status == "interrupted").count();
        let events = crashed.events();
        assert!(matches!(events.last().unwrap().kind, EventKind::SessionInterrupted { detached: false, .. }));
        // Once is enough.
        drop(Engine::open(crashed.data.path()).unwrap());
        assert_eq!(crashed.events(), events);
        crashes += 1;
    }
    assert!(crashes >= 12 && open > crashes, "{crashes} crashes, {open} agents");
}

/// Puts something into the body of an event that is no event.
fn damage(crashed: &Crashed, seq: Seq) {
    let path = crashed.data.path().join(posse_engine::record::DATABASE_FILE);
    let code = format!(
        "import sqlite3\nc = sqlite3.connect('{}', timeout=30)\n\
         c.execute('DROP TRIGGER event_rows_never_change')\n\
         assert c.execute(\"UPDATE event_rows SET body = '{{broken' WHERE id & 4294967295 = {}\").rowcount == 1\nc.commit()",
        path.display(),
        seq.0
    );
    let status = std::process::Command::new("python3").args(["-c", &code]).status().unwrap();
    assert!(status.success());
}

/// An event that cannot be read is passed over: the session goes on with all the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_event_does_not_keep_a_session_from_going_on() {
    let main = vec![read("b.txt"), Turn::call("agent", blocks("one", "Look")), Turn::text("Done.")];
    let Scenario { play, .. } =
        blocking([("main", main), ("*", vec![read("a.txt"), Turn::text(REPORT)])]).await;
    let whole = all(&run(&play, "Do it").await);
    let last_reply = whole.iter().rposition(|e| matches!(e.kind, EventKind::Replied { .. })).unwrap();
    let begun = crash_points(&whole)[0];
    let mut damaged = 0;
    for place in begun..last_reply {
        let crashed = Crashed::after(&whole[..last_reply]);
        damage(&crashed, whole[place].seq);
        let session = crashed.resume(&play, "Go on, please.").await;
        let ran = answered(session, |_| Answer::Once).await;
        assert_eq!(ran.report.ending.word(), "completed", "without {:?}", whole[place].kind);
        damaged += 1;
    }
    assert!(damaged >= 12, "{damaged} events");
}
