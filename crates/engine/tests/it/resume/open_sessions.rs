//! A crash behind any event of sessions that stay open, with queued words, questions, stops, shortening and forks: nothing
//! that was said is lost or told twice, and the session takes the next prompt (promise E1).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use posse_engine::{AnswerOutcome, ApprovalSettings, Delivery, Engine, Session, SessionRequest};
use posse_protocol::{AgentState, Approval, Event, EventKind, Sender, Seq, SessionId};
use posse_testkit::Turn;
use serde_json::{Value, json};

use super::Crashed;
use super::crashing::nothing_twice;
use super::play::Play;
use crate::approvals::yes;
use crate::crew::last_text;
use crate::follow::Followed;

/// How many crashes the promise asks for on every run.
const CRASHES_MIN: usize = 50;

/// Answers by what it is told, once the gate is open: `read`, `run`, `ask` and `delegate` call a tool first.
async fn play(gate: &Arc<AtomicBool>) -> Play {
    let gate = Arc::clone(gate);
    let mut play = Play::by_rule(move |request: &Value, name| reply(request, name).after(&gate)).await;
    play.stage.approvals = ApprovalSettings { person: true, ..ApprovalSettings::default() };
    play.stage.grant.approval = Approval::Ask;
    play
}

fn reply(request: &Value, name: &str) -> Turn {
    let messages = request["messages"].as_array().unwrap();
    let told = last_text(request);
    if messages.last().unwrap()["role"] == "tool" || name != "main" {
        return Turn::text(format!("{name} has seen it."));
    }
    match told.split(' ').next().unwrap_or_default() {
        "read" => Turn::call("read_file", json!({"path": "a.txt"})),
        "run" => Turn::call("shell", json!({"command": "echo ran"})),
        "ask" => Turn::call("ask_person", json!({"question": "Which?", "choices": ["this", "that"]})),
        "delegate" => Turn::call("agent", crate::crew::start("explore", "look at it")),
        _ => Turn::text(format!("Answer to {}.", told.chars().take(30).collect::<String>())),
    }
}

fn staying(play: &Play, prompt: &str) -> SessionRequest {
    SessionRequest { stay: true, ..play.request(prompt) }
}

/// Follows a session until it rests with nothing left to do, and answers what it asks.
async fn until_it_rests(session: &mut Followed, engine: &Engine, id: SessionId, rests: usize) {
    session
        .until_answering(
            rests,
            |event| matches!(event.kind, EventKind::AgentRested { .. }),
            |event, question| {
                let answer = engine.answer(id, event.agent, &question.call, yes(question));
                assert_eq!(answer.unwrap(), AnswerOutcome::Accepted);
            },
        )
        .await;
}

/// A session with everything in it, from its start to its end.
async fn whole(play: &Play, gate: &AtomicBool) -> Vec<Event> {
    let engine = &play.stage.engine;
    let mut session = Followed::new(engine.start(staying(play, "read it")).unwrap());
    let id = session.session.id;
    until_it_rests(&mut session, engine, id, 1).await;
    for (number, prompt) in ["run it", "ask me", "delegate it", "say one"].into_iter().enumerate() {
        gate.store(false, Ordering::Relaxed);
        engine.prompt(id, prompt).await.unwrap();
        let extra = engine.prompt(id, &format!("extra {number}")).await.unwrap();
        let gone = engine.prompt(id, &format!("gone {number}")).await.unwrap();
        engine.withdraw_message(id, gone).await.unwrap();
        engine.edit_message(id, extra, &format!("edited {number}")).await.unwrap();
        gate.store(true, Ordering::Relaxed);
        until_it_rests(&mut session, engine, id, 3 + 2 * number).await;
    }
    engine.compact(id, None).unwrap();
    until_it_rests(&mut session, engine, id, 10).await;
    engine.tell(id, None, "say two", Delivery::NextTurn).await.unwrap();
    until_it_rests(&mut session, engine, id, 11).await;
    engine.close(id).unwrap();
    session.finish().await.events().cloned().collect()
}

/// What the person has said: the texts of each message, none where it was withdrawn. Only the last one may be told.
fn said(events: &[Event]) -> BTreeMap<u64, Vec<Option<String>>> {
    let mut said: BTreeMap<u64, Vec<Option<String>>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.parent.is_none()) {
        match &event.kind {
            EventKind::Mailed { id, from: Sender::Person, text, .. } => {
                said.entry(id.0).or_default().push(Some(text.clone()));
            }
            EventKind::MailEdited { id, text } => said.entry(id.0).or_default().push(Some(text.clone())),
            EventKind::MailWithdrawn { id } => said.entry(id.0).or_default().push(None),
            _ => {}
        }
    }
    said
}

/// How often each text of the person was told.
fn told(events: &[Event]) -> BTreeMap<&str, usize> {
    let mut told = BTreeMap::new();
    for event in events.iter().filter(|event| event.parent.is_none()) {
        if let EventKind::Told { from: Sender::Person, text, .. } = &event.kind {
            *told.entry(text.as_str()).or_default() += 1;
        }
    }
    told
}

async fn goes_on(play: &Play, crashed: &Crashed, before: &[Event]) {
    let place = format!("after a crash behind event {}: {:?}", before.len(), before.last().unwrap().kind);
    let (engine, id) = (&crashed.engine, crashed.session);
    let resumed: Session = engine.resume(id, staying(play, "")).await.unwrap();
    let mut session = Followed::new(resumed);
    engine.prompt(id, "say it again").await.unwrap();
    // It has answered the last prompt when it rests after that was told.
    let answered = |events: &[Event]| {
        let mut kinds = events.iter().map(|event| &event.kind);
        kinds.any(|kind| matches!(kind, EventKind::Told { text, .. } if text == "say it again"))
            && kinds.any(|kind| matches!(kind, EventKind::AgentRested { .. }))
    };
    let mut rests = 1;
    while !answered(&crashed.events()) {
        until_it_rests(&mut session, engine, id, rests).await;
        rests += 1;
    }
    assert_eq!(engine.find_session(&id.to_string()).unwrap().status, AgentState::Resting, "{place}");
    engine.close(id).unwrap();
    session.finish().await;
    let all = crashed.events();
    assert_eq!(all[..before.len()], *before, "the record stays, {place}");
    nothing_twice(&without_ends(&all), &place);
    let times = told(&all);
    for (number, texts) in said(&all) {
        let (last, earlier) = texts.split_last().unwrap();
        let once = last.is_some().then_some(&1);
        let last = last.as_deref().unwrap_or_default();
        assert_eq!(times.get(last), once, "message {number}, {texts:?}, {place}");
        let kept = earlier.iter().flatten().find(|text| times.contains_key(text.as_str()));
        assert_eq!(kept, None, "message {number} {place}");
    }
}

/// A session that is closed and resumed ends twice.
fn without_ends(events: &[Event]) -> Vec<Event> {
    let is_end =
        |event: &&Event| matches!(event.kind, EventKind::AgentSettled { .. }) && event.parent.is_none();
    events.iter().filter(|event| !is_end(event)).cloned().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_stay_open_lose_nothing_wherever_they_crash() {
    let gate = Arc::new(AtomicBool::new(true));
    let play = play(&gate).await;
    let events = whole(&play, &gate).await;
    let points = super::crashing::crash_points(&events);
    assert!(points.len() >= CRASHES_MIN, "only {} crashes", points.len());
    for at in &points {
        goes_on(&play, &Crashed::after(&events[..*at]), &events[..*at]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_crashes_as_safely() {
    let gate = Arc::new(AtomicBool::new(true));
    let play = play(&gate).await;
    let from = whole(&play, &gate).await[0].session;
    let engine = &play.stage.engine;
    let session = engine.fork(from, Some(2), staying(&play, "read again")).await.unwrap();
    let (id, mut session) = (session.id, Followed::new(session));
    until_it_rests(&mut session, engine, id, 1).await;
    engine.prompt(id, "say three").await.unwrap();
    until_it_rests(&mut session, engine, id, 2).await;
    engine.close(id).unwrap();
    session.finish().await;
    let events = engine.events_after(id, Seq(0), 10_000).unwrap();
    let points = super::crashing::crash_points(&events);
    assert!(points.len() >= 8, "only {} crashes", points.len());
    for at in points {
        goes_on(&play, &Crashed::after(&events[..at]), &events[..at]).await;
    }
}
