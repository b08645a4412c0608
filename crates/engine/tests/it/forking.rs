//! A new session that takes up the first turns of another's conversation.

use posse_engine::{Engine, EngineError};
use posse_protocol::{EventKind, SessionId};
use posse_testkit::{Captured, Turn};
use serde_json::{Value, json};

use crate::check::{Ran, World, finish};

/// A session of three turns, and what was asked in it.
async fn source(world: &World) -> (SessionId, Vec<Captured>) {
    let session = world.start("What is in the files?");
    let id = session.id;
    finish(session).await;
    (id, world.model.requests())
}

async fn world() -> World {
    World::new([
        Turn::call("read_file", json!({"path": "a.txt"})),
        Turn::call("read_file", json!({"path": "b.txt"})).and_text("And the other."),
        Turn::text("Greek letters."),
        Turn::text("From the fork."),
        Turn::text("And on."),
    ])
    .await
}

async fn fork(world: &World, from: SessionId, turn: Option<u32>, prompt: &str) -> (SessionId, Ran) {
    let session = world.engine.fork(from, turn, world.request(prompt)).await.unwrap();
    (session.id, finish(session).await)
}

fn messages(request: &Captured) -> Vec<Value> {
    request.json()["messages"].as_array().unwrap().clone()
}

#[tokio::test]
async fn the_first_turns_are_taken_up_byte_for_byte() {
    // After n turns, the source's request n + 1 has all of them: messages before the last one of each fork.
    let cases = [(Some(1), 1), (Some(2), 2), (Some(3), 3), (None, 3)];
    for (turn, turns) in cases {
        let world = world().await;
        let (from, asked) = source(&world).await;
        let (id, ran) = fork(&world, from, turn, "Only the first.").await;
        assert_ne!(id, from);
        assert_eq!(ran.report.text, "From the fork.");
        assert_eq!(ran.report.receipt.turns, 1, "what the other spent is not its own");
        let sent = world.model.requests().last().unwrap().clone();
        let mut expected = match asked.get(turns) {
            Some(next) => messages(next),
            None => {
                let mut all = messages(asked.last().unwrap());
                all.push(json!({"role": "assistant", "content": "Greek letters."}));
                all
            }
        };
        expected.push(json!({"role": "user", "content": "Only the first."}));
        assert_eq!(messages(&sent), expected, "{turn:?}");
        let before = String::from_utf8(asked[turns - 1].body.clone()).unwrap();
        let before = before.trim_end_matches(|c| "]}".contains(c));
        assert!(String::from_utf8_lossy(&sent.body).starts_with(before), "the provider's cache still hits");
        let noted = ran.events().find_map(|event| match &event.kind {
            EventKind::SessionForked { from, turn, .. } => Some((*from, *turn)),
            _ => None,
        });
        assert_eq!(noted, Some((from, u32::try_from(turns).unwrap())));
    }
}

#[tokio::test]
async fn a_fork_lives_on_when_the_other_is_gone_and_can_be_forked_again() {
    let world = world().await;
    let (from, _) = source(&world).await;
    let (id, _) = fork(&world, from, Some(1), "Only the first.").await;
    let row = world.engine.find_session(&from.to_string()).unwrap();
    world.engine.delete_session(&row).await.unwrap();
    let again = world.engine.resume(id, world.request("More.")).await.unwrap();
    assert_eq!(finish(again).await.report.text, "And on.");
    let last = world.model.requests().last().unwrap().clone();
    let said = |message: &Value| message["content"].as_str().unwrap_or_default().to_string();
    let texts: Vec<String> = messages(&last).iter().skip(1).map(said).collect();
    assert_eq!(texts[0], "What is in the files?");
    assert_eq!(texts[3..], ["Only the first.", "From the fork.", "More."]);
    world.model.push(Turn::text("A fork of a fork."));
    let (_, ran) = fork(&world, id, Some(1), "Again.").await;
    assert_eq!(ran.report.text, "A fork of a fork.");
    let last = world.model.requests().last().unwrap().clone();
    let texts: Vec<String> = messages(&last).iter().skip(1).map(said).collect();
    assert_eq!((texts[0].as_str(), texts.last().unwrap().as_str()), ("What is in the files?", "Again."));
}

#[tokio::test]
async fn what_cannot_be_forked_is_refused() {
    let world = world().await;
    let (from, _) = source(&world).await;
    let fork = |from, turn, prompt: &str| world.engine.fork(from, turn, world.request(prompt));
    for turn in [0, 4, u32::MAX] {
        let refused = fork(from, Some(turn), "go").await;
        assert!(matches!(refused, Err(EngineError::Refused(_))), "{turn}");
    }
    assert!(matches!(fork(from, None, " ").await, Err(EngineError::NothingToDo(_))));
    let nobody: SessionId = "00000000-0000-7000-8000-000000000000".parse().unwrap();
    assert!(matches!(fork(nobody, None, "go").await, Err(EngineError::NotFound(_))));
    let engine = Engine::open(world.data.path()).unwrap();
    assert_eq!(engine.sessions(10).unwrap().len(), 1, "nothing was begun");
}
