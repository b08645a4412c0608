//! Sessions that stay open: the main agent rests after its answer and continues with the next prompt.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use posse_engine::{Delivery, EngineError, NextTurnSettings, SessionRequest};
use posse_protocol::{AgentState, Approval, Budget, Ending, Event, EventKind, MailId, Report, Sender};
use posse_testkit::{Captured, Turn};
use serde_json::{Value, json};

use crate::check::World;
use crate::crew::Stage;
use crate::follow::Followed;

fn staying(world: &World, prompt: &str) -> SessionRequest {
    SessionRequest { stay: true, ..world.request(prompt) }
}

fn rested(event: &Event) -> bool {
    matches!(event.kind, EventKind::AgentRested { .. })
}

/// What each prompt came to, in order.
fn answers<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<&'a Report> {
    let report = |event: &'a Event| match &event.kind {
        EventKind::AgentRested { report } => report.as_ref(),
        _ => None,
    };
    events.filter_map(report).collect()
}

async fn start(world: &World, prompt: &str) -> Followed {
    Followed::new(world.engine.start(staying(world, prompt)).unwrap())
}

/// Roles and texts of the messages of a request.
fn messages(request: &Captured) -> Vec<(String, String)> {
    let of = |message: &Value| {
        let text = message["content"].as_str().unwrap_or_default();
        (message["role"].as_str().unwrap_or_default().to_string(), text.to_string())
    };
    request.json()["messages"].as_array().unwrap().iter().skip(1).map(of).collect()
}

#[tokio::test]
async fn the_next_prompt_continues_the_same_conversation() {
    let world = World::new([Turn::text("One."), Turn::text("Two."), Turn::text("Three.")]).await;
    let mut session = start(&world, "first").await;
    let id = session.session.id;
    session.until(1, rested).await;
    assert_eq!(world.engine.find_session(&id.to_string()).unwrap().status, AgentState::Resting);
    world.engine.prompt(id, "second").await.unwrap();
    session.until(2, rested).await;
    world.engine.prompt(id, "third").await.unwrap();
    session.until(3, rested).await;
    world.engine.close(id).unwrap();
    let ran = session.finish().await;
    let told: Vec<&str> = answers(ran.events()).iter().map(|report| report.text.as_str()).collect();
    assert_eq!(told, ["One.", "Two.", "Three."]);
    assert_eq!((ran.report.ending.clone(), ran.report.text.as_str()), (Ending::Completed, "Three."));
    assert_eq!(ran.report.receipt.turns, 3);
    assert!(answers(ran.events()).iter().all(|report| report.receipt.turns == 1));
    let requests = world.model.requests();
    let said = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(role, text)| (role.to_string(), text.to_string())).collect::<Vec<_>>()
    };
    let all = [
        ("user", "first"),
        ("assistant", "One."),
        ("user", "second"),
        ("assistant", "Two."),
        ("user", "third"),
    ];
    assert_eq!(messages(&requests[2]), said(&all));
    // Byte for byte: what was sent is the beginning of what is sent next.
    for pair in requests.windows(2) {
        let before = String::from_utf8_lossy(&pair[0].body);
        let before = before.trim_end_matches(|c| "]}".contains(c));
        assert!(String::from_utf8_lossy(&pair[1].body).starts_with(before));
    }
    assert_eq!(world.engine.find_session(&id.to_string()).unwrap().status, AgentState::Completed);
    assert!(
        matches!(world.engine.prompt(id, "more").await, Err(EngineError::NotRunning(gone)) if gone == id)
    );
}

#[tokio::test]
async fn files_seen_and_permissions_stay_and_each_receipt_is_of_its_prompt() {
    let edit = |from: &str, to: &str| {
        Turn::call("edit_file", json!({"path": "a.txt", "old_text": from, "new_text": to}))
    };
    let world = World::new([
        Turn::call("read_file", json!({"path": "a.txt"})),
        edit("alpha", "one"),
        Turn::text("Changed it."),
        // Not read again.
        edit("one", "two"),
        Turn::text("Changed it again."),
        Turn::text("Nothing to do."),
    ])
    .await;
    let mut session = start(&world, "change it").await;
    let id = session.session.id;
    for (prompt, done) in [("again", 1), ("and?", 2)] {
        session.until(done, rested).await;
        world.engine.prompt(id, prompt).await.unwrap();
    }
    session.until(3, rested).await;
    world.engine.close(id).unwrap();
    let ran = session.finish().await;
    assert!(ran.results().iter().all(|(ok, _)| *ok), "{:?}", ran.results());
    let figures = |report: &Report| {
        let receipt = &report.receipt;
        (receipt.turns, receipt.tool_calls, receipt.files.len())
    };
    let each: Vec<_> = answers(ran.events()).into_iter().map(figures).collect();
    assert_eq!(each, [(3, 2, 1), (2, 1, 1), (1, 0, 0)]);
    assert_eq!(figures(&ran.report), (6, 3, 1));
    assert_eq!(std::fs::read_to_string(world.files.path().join("a.txt")).unwrap(), "two\n");
}

#[tokio::test]
async fn background_commands_go_on_while_it_rests_and_end_with_the_session() {
    let world = World::new([
        Turn::call("shell", json!({"command": "cat > /dev/null < fifo; echo over", "background": true})),
        Turn::text("It runs."),
        Turn::call("jobs", json!({})),
        Turn::text("Still running."),
    ])
    .await;
    let fifo = world.files.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut session = start(&world, "start it").await;
    let id = session.session.id;
    session.until(1, rested).await;
    world.engine.prompt(id, "does it run?").await.unwrap();
    session.until(2, rested).await;
    world.engine.close(id).unwrap();
    let ran = session.finish().await;
    let listed = ran.results().last().unwrap().1.to_string();
    assert!(listed.contains("cmd-1") && listed.contains("running"), "{listed}");
    let kinds: Vec<bool> = ran
        .events()
        .filter_map(|event| match event.kind {
            EventKind::BackgroundEnded { .. } => Some(true),
            EventKind::AgentRested { .. } => Some(false),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, [false, false, true], "it ends after the last rest");
}

#[tokio::test]
async fn each_prompt_has_its_own_budget_and_what_fails_leaves_the_session_open() {
    let mut world = World::new([
        Turn::call("read_file", json!({"path": "a.txt"})),
        Turn::text("Out of turns, this is what I have."),
        Turn::call("read_file", json!({"path": "b.txt"})),
        Turn::text("Now I have it."),
        Turn::status_text(400, "broken"),
        Turn::text("Better."),
    ])
    .await;
    world.budget = Budget { turns: Some(1), ..Budget::UNLIMITED };
    let mut session = start(&world, "read it").await;
    let id = session.session.id;
    session.until(1, rested).await;
    world.engine.prompt(id, "go on").await.unwrap();
    session.until(2, rested).await;
    world.engine.prompt(id, "fail").await.unwrap();
    session.until(3, rested).await;
    world.engine.prompt(id, "try again").await.unwrap();
    session.until(4, rested).await;
    world.engine.cancel(id).unwrap();
    let ran = session.finish().await;
    let endings: Vec<&str> = answers(ran.events()).iter().map(|report| report.ending.word()).collect();
    assert_eq!(endings, ["out_of_turns", "out_of_turns", "failed", "completed"]);
    let texts: Vec<&str> = answers(ran.events()).iter().map(|report| report.text.as_str()).collect();
    assert_eq!(texts, ["Out of turns, this is what I have.", "Now I have it.", "", "Better."]);
    let budgets: Vec<Option<u32>> = ran
        .events()
        .filter_map(|event| match &event.kind {
            EventKind::AgentWoken { budget, .. } => Some(budget.turns),
            _ => None,
        })
        .collect();
    assert_eq!(budgets, [Some(3), Some(5), Some(6)]);
    assert_eq!(ran.report.ending, Ending::Completed, "what rests is closed, not cut off");
}

#[tokio::test]
async fn a_turn_is_stopped_and_the_session_stays() {
    let world = World::new([Turn::text("one two three").stall_after(2), Turn::text("Here I am.")]).await;
    let mut session = start(&world, "take your time").await;
    let id = session.session.id;
    session.until_shown(|progress| matches!(&progress.kind, posse_protocol::ProgressKind::Text(_))).await;
    world.engine.stop_turn(id).unwrap();
    session.until(1, rested).await;
    world.engine.prompt(id, "are you there?").await.unwrap();
    session.until(2, rested).await;
    world.engine.close(id).unwrap();
    let ran = session.finish().await;
    let each: Vec<_> =
        answers(ran.events()).iter().map(|report| (report.ending.clone(), report.text.as_str())).collect();
    assert_eq!(each, [(Ending::Cancelled, "one two thre"), (Ending::Completed, "Here I am.")]);
}

#[tokio::test]
async fn queued_prompts_wait_their_turn_and_can_be_edited_and_withdrawn() {
    let go_on = Arc::default();
    let world =
        World::new([Turn::text("One.").after(&go_on), Turn::text("Two."), Turn::text("Three.")]).await;
    let mut session = start(&world, "first").await;
    let id = session.session.id;
    session.until(1, |event| matches!(event.kind, EventKind::TurnStarted { .. })).await;
    let engine = &world.engine;
    let second = engine.prompt(id, "second").await.unwrap();
    let never = engine.prompt(id, "never").await.unwrap();
    let third = engine.prompt(id, "third").await.unwrap();
    assert_eq!((second, never, third), (MailId(1), MailId(2), MailId(3)));
    engine.withdraw_message(id, never).await.unwrap();
    engine.edit_message(id, third, "third, changed").await.unwrap();
    assert!(matches!(engine.withdraw_message(id, never).await, Err(EngineError::NotFound(_))));
    assert!(matches!(engine.edit_message(id, MailId(77), "x").await, Err(EngineError::NotFound(_))));
    go_on.store(true, Ordering::Relaxed);
    session.until(3, rested).await;
    assert!(matches!(engine.edit_message(id, third, "too late").await, Err(EngineError::NotFound(_))));
    engine.close(id).unwrap();
    let ran = session.finish().await;
    assert_eq!(ran.told("main", Sender::Person), ["first", "second", "third, changed"]);
}

#[tokio::test]
async fn a_prompt_may_come_before_the_session_is_on_record() {
    let world = World::new([Turn::text("One."), Turn::text("Two.")]).await;
    let session = world.engine.start(staying(&world, "first")).unwrap();
    let id = session.id;
    world.engine.prompt(id, "second").await.unwrap();
    let mut session = Followed::new(session);
    session.until(2, rested).await;
    world.engine.close(id).unwrap();
    assert_eq!(session.finish().await.told("main", Sender::Person), ["first", "second"]);
}

#[tokio::test]
async fn words_for_a_running_turn_are_told_at_its_next_request() {
    let go_on = Arc::default();
    let world = World::new([
        Turn::call("read_file", json!({"path": "a.txt"})).after(&go_on),
        Turn::text("Done, briefly."),
    ])
    .await;
    let mut session = start(&world, "first").await;
    let id = session.session.id;
    session.until(1, |event| matches!(event.kind, EventKind::TurnStarted { .. })).await;
    world.engine.tell(id, None, "be brief", Delivery::NextTurn).await.unwrap();
    go_on.store(true, Ordering::Relaxed);
    session.until(1, rested).await;
    world.engine.close(id).unwrap();
    let ran = session.finish().await;
    assert_eq!(ran.told("main", Sender::Person), ["first", "be brief"]);
    assert_eq!(answers(ran.events()).len(), 1, "it was part of the first prompt");
}

#[tokio::test]
async fn a_conversation_is_shortened_while_it_rests() {
    let world = World::new([
        Turn::text("A long answer."),
        Turn::text("Notes: the person wanted something long."),
        Turn::text("Next."),
    ])
    .await;
    let mut session = start(&world, "first").await;
    let id = session.session.id;
    session.until(1, rested).await;
    world.engine.compact(id, None).unwrap();
    session.until(2, rested).await;
    world.engine.prompt(id, "second").await.unwrap();
    session.until(3, rested).await;
    world.engine.close(id).unwrap();
    let ran = session.finish().await;
    let texts: Vec<&str> = answers(ran.events()).iter().map(|report| report.text.as_str()).collect();
    assert_eq!(texts, ["A long answer.", "Next."], "notes are no answer");
    let last = messages(&world.model.requests()[2]);
    assert!(last[0].1.contains("Notes: the person wanted something long."), "{last:?}");
    assert_eq!(last.last().unwrap().1, "second");
}

#[tokio::test]
async fn mode_model_and_effort_change_with_the_next_turn() {
    let write = |text: &str| Turn::call("write_file", json!({"path": "new.txt", "content": text}));
    let world = World::new([
        write("one"),
        Turn::text("Written."),
        write("two"),
        Turn::text("I may not."),
        Turn::text("Hello."),
    ])
    .await;
    let mut request = staying(&world, "write it");
    let mut other = posse_model::ModelConfig::new(
        "other",
        "other-model",
        posse_model::Protocol::Chat,
        world.model.base_url(),
    );
    other.context_window = Some(50_000);
    let model = posse_model::Model::new(other, &posse_model::Governors::default()).unwrap();
    request.models.add(model, None);
    let mut session = Followed::new(world.engine.start(request).unwrap());
    let (id, engine) = (session.session.id, &world.engine);
    session.until(1, rested).await;
    let plan = NextTurnSettings { approval: Some(Approval::Plan), ..NextTurnSettings::default() };
    engine.change_settings(id, plan).unwrap();
    engine.prompt(id, "again").await.unwrap();
    session.until(2, rested).await;
    let (model, effort) = (Some("other".to_string()), Some("high".to_string()));
    engine.change_settings(id, NextTurnSettings { approval: Some(Approval::Auto), model, effort }).unwrap();
    for bad in [("nobody", "high"), ("other", "hi gh"), ("other", "")] {
        let (model, effort) = (Some(bad.0.to_string()), Some(bad.1.to_string()));
        let refused = engine.change_settings(id, NextTurnSettings { approval: None, model, effort });
        assert!(matches!(refused, Err(EngineError::Refused(_))), "{bad:?}");
    }
    engine.prompt(id, "who are you?").await.unwrap();
    session.until(3, rested).await;
    engine.close(id).unwrap();
    let ran = session.finish().await;
    let oks: Vec<bool> = ran.results().iter().map(|(ok, _)| *ok).collect();
    assert_eq!(oks, [true, false], "{:?}", ran.results());
    assert!(ran.results()[1].1.contains("plan mode"), "{:?}", ran.results());
    assert_eq!(std::fs::read_to_string(world.files.path().join("new.txt")).unwrap(), "one");
    let requests: Vec<Value> = world.model.requests().iter().map(Captured::json).collect();
    let asked: Vec<(&str, Option<&str>)> = requests
        .iter()
        .map(|request| (request["model"].as_str().unwrap(), request["reasoning_effort"].as_str()))
        .collect();
    assert_eq!(asked[3..], [("fake-model", None), ("other-model", Some("high"))]);
    assert_eq!(requests[0]["tools"], requests[3]["tools"], "the request begins as before");
    let changed = ran.events().filter_map(|event| match &event.kind {
        EventKind::SettingsChanged { model, effort, approval, .. } => {
            Some((model.as_str(), effort.as_deref(), *approval))
        }
        _ => None,
    });
    let expected = [("fake", None, Approval::Plan), ("other", Some("high"), Approval::Auto)];
    assert_eq!(changed.collect::<Vec<_>>(), expected);
}

/// Part of promise X6: nobody but the person changes the mode, and no agent at work gets more by it.
#[tokio::test]
async fn a_narrower_mode_counts_for_agents_at_work_at_once_and_a_wider_one_does_not() {
    let cases = [
        (Approval::Auto, Approval::Plan, "plan mode"),
        (Approval::Ask, Approval::Full, "nobody is there to ask"),
        (Approval::Plan, Approval::Full, "plan mode"),
    ];
    for (before, after, told) in cases {
        let gate = Arc::default();
        let write = Turn::call("write_file", json!({"path": "new.txt", "content": "x"})).after(&gate);
        let main = vec![
            Turn::call("agent", crate::crew::start("general", "Write it")),
            Turn::call("agent", json!({"action": "wait"})),
            Turn::text("Done."),
        ];
        let child = vec![write, Turn::text(crate::crew::REPORT)];
        let mut stage = Stage::new([("main", main), ("*", child)]).await;
        stage.grant.approval = before;
        let mut session = Followed::new(stage.start("have it written"));
        let id = session.session.id;
        session
            .until(1, |event| event.parent.is_some() && matches!(event.kind, EventKind::TurnStarted { .. }))
            .await;
        let settings = NextTurnSettings { approval: Some(after), ..NextTurnSettings::default() };
        stage.engine.change_settings(id, settings).unwrap();
        gate.store(true, Ordering::Relaxed);
        let ran = session.finish().await;
        let written = ran.events().find_map(|event| match &event.kind {
            EventKind::ToolFinished { tool, ok, text, .. } if tool == "write_file" => {
                Some((*ok, text.clone()))
            }
            _ => None,
        });
        let (ok, text) = written.unwrap();
        assert!(!ok && text.contains(told), "{before:?} to {after:?}: {text}");
        assert!(!stage.files.path().join("new.txt").exists());
    }
}

#[tokio::test]
async fn a_budget_is_topped_up_while_the_agent_works() {
    let go_on = Arc::default();
    let read = || Turn::call("read_file", json!({"path": "a.txt"}));
    let mut world = World::new([read().after(&go_on), read(), Turn::text("Done.")]).await;
    world.budget = Budget { turns: Some(1), ..Budget::UNLIMITED };
    let mut session = start(&world, "read").await;
    let (id, engine) = (session.session.id, &world.engine);
    session.until(1, |event| matches!(event.kind, EventKind::TurnStarted { .. })).await;
    let money = Budget { cost_usd: Some(1.0), ..Budget::UNLIMITED };
    assert!(matches!(engine.top_up(id, None, money).await, Err(EngineError::NothingToDo(_))));
    let turns = Budget { turns: Some(2), ..Budget::UNLIMITED };
    assert!(matches!(engine.top_up(id, Some("nobody"), turns).await, Err(EngineError::NotFound(_))));
    engine.top_up(id, None, turns).await.unwrap();
    go_on.store(true, Ordering::Relaxed);
    session.until(1, rested).await;
    engine.close(id).unwrap();
    let ran = session.finish().await;
    assert_eq!((ran.report.ending.clone(), ran.report.receipt.turns), (Ending::Completed, 3));
}

#[tokio::test]
async fn a_budget_that_is_topped_up_while_it_rests_is_for_the_next_prompt() {
    let read = || Turn::call("read_file", json!({"path": "a.txt"}));
    let mut world = World::new([Turn::text("One."), read(), read(), Turn::text("Two.")]).await;
    world.budget = Budget { turns: Some(1), ..Budget::UNLIMITED };
    let mut session = start(&world, "first").await;
    let (id, engine) = (session.session.id, &world.engine);
    session.until(1, rested).await;
    for _ in 0..2 {
        engine.top_up(id, None, Budget { turns: Some(1), ..Budget::UNLIMITED }).await.unwrap();
    }
    engine.prompt(id, "second").await.unwrap();
    session.until(2, rested).await;
    engine.close(id).unwrap();
    let ran = session.finish().await;
    let endings: Vec<&str> = answers(ran.events()).iter().map(|report| report.ending.word()).collect();
    assert_eq!(endings, ["completed", "completed"]);
    assert_eq!(ran.report.receipt.turns, 4);
}

#[tokio::test]
async fn a_session_that_rested_when_its_process_ended_is_closed_unless_words_wait() {
    let world = World::new([Turn::text("One."), Turn::text("Two.").stall_after(0), Turn::text("Two.")]).await;
    let mut session = start(&world, "first").await;
    let id = session.session.id;
    session.until(1, rested).await;
    let mut copies = vec![copy_of(&world, "resting")];
    world.engine.prompt(id, "second").await.unwrap();
    copies.push(copy_of(&world, "prompted"));
    let states = [(AgentState::Completed, "One."), (AgentState::Interrupted, "")];
    for (copy, (state, _)) in copies.iter().zip(states) {
        let engine = posse_engine::Engine::open(copy.path()).unwrap();
        assert_eq!(engine.find_session(&id.to_string()).unwrap().status, state);
    }
    // With words that wait, it continues with them.
    let engine = posse_engine::Engine::open(copies[1].path()).unwrap();
    let mut again = Followed::new(engine.resume(id, staying(&world, "")).await.unwrap());
    again.until(1, rested).await;
    engine.close(id).unwrap();
    assert_eq!(again.finish().await.report.text, "Two.");
    let texts = |request: &Captured| messages(request).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    assert_eq!(texts(world.model.requests().last().unwrap()), ["first", "One.", "second"]);
    // Without, it waits for the next prompt, and its conversation is the same.
    let engine = posse_engine::Engine::open(copies[0].path()).unwrap();
    let again = engine.resume(id, world.request("")).await;
    assert!(matches!(again, Err(EngineError::NothingToDo(_))));
    let mut again = Followed::new(engine.resume(id, staying(&world, "")).await.unwrap());
    again.until(1, rested).await;
    assert_eq!(engine.find_session(&id.to_string()).unwrap().status, AgentState::Resting);
    world.model.push(Turn::text("Three."));
    engine.prompt(id, "third").await.unwrap();
    again.until(2, rested).await;
    engine.close(id).unwrap();
    let ran = again.finish().await;
    assert_eq!((ran.report.text.as_str(), ran.report.receipt.turns), ("Three.", 2));
    assert_eq!(texts(world.model.requests().last().unwrap()), ["first", "One.", "third"]);
    world.engine.cancel(id).unwrap();
    session.finish().await;
}

/// The record as it is now, as a process that is killed leaves it.
fn copy_of(world: &World, name: &str) -> tempfile::TempDir {
    let copy = tempfile::Builder::new().prefix(name).tempdir().unwrap();
    for entry in std::fs::read_dir(world.data.path()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
    }
    copy
}
