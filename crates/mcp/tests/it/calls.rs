//! What agents do with servers that behave.

use std::sync::Arc;
use std::time::Duration;

use posse_tools::{OutsideAnswer, OutsideCall, OutsideHandle, OutsideState, OutsideTools};
use serde_json::json;

use crate::{World, agent, call, server};

#[tokio::test]
async fn tools_are_called_and_mistakes_are_told() {
    let world = World::new();
    let servers = world.begun(vec![server("test", "plain")]);
    let said = call(&servers, "mcp__test__echo", json!({"text": "hello"})).await;
    assert!(said.ok && said.text.contains("\nhello\n"), "{said:?}");
    assert!(said.text.starts_with("<server_result server=\"test\""), "{said:?}");
    let wrong = call(&servers, "mcp__test__echo", json!({"txt": "hello"})).await;
    assert!(!wrong.ok && wrong.text.contains("`text` is missing. Nothing was called."), "{wrong:?}");
    let missing = call(&servers, "mcp__test__nothing", json!({})).await;
    assert!(missing.text.contains("has no tool mcp__test__nothing"), "{missing:?}");
    let nowhere = call(&servers, "mcp__other__x", json!({})).await;
    assert!(nowhere.text.contains("Servers: test."), "{nowhere:?}");
    let shown = servers.servers();
    assert_eq!((shown[0].state, shown[0].tools.len(), shown[0].resources), (OutsideState::Running, 10, 1));
    assert_eq!(shown[0].detail, "test\\u{1b} server 1", "what hides something is shown");
    servers.end().await;
    let over = call(&servers, "mcp__test__echo", json!({"text": "hello"})).await;
    assert!(over.text.contains("the session has ended"), "{over:?}");
}

#[tokio::test]
async fn twenty_agents_use_one_server_at_once() {
    let world = World::new();
    let servers = Arc::new(world.begun(vec![server("test", "plain")]));
    let calls = (0..20).map(|n| {
        let servers = Arc::clone(&servers);
        tokio::spawn(async move {
            call(&servers, "mcp__test__echo", json!({"text": format!("number {n}.")})).await
        })
    });
    for (n, done) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        let done = done.await.unwrap();
        assert!(done.ok && done.text.contains(&format!("number {n}.")), "{done:?}");
    }
    let homes = std::fs::read_dir(world.keep.path()).unwrap().count();
    assert_eq!(homes, 1, "one server, and one home");
    servers.end().await;
}

#[tokio::test]
async fn progress_keeps_a_call_alive_and_silence_ends_it() {
    let world = World::new();
    let mut entry = server("test", "plain");
    entry.timeout = Duration::from_secs(2);
    let servers = world.begun(vec![entry]);
    let slow = call(&servers, "mcp__test__slow", json!({"steps": 20})).await;
    assert!(slow.ok, "4 seconds with progress are no silence: {slow:?}");
    let silent = call(&servers, "mcp__test__silent", json!({})).await;
    assert_eq!(silent.text, "The server test: it did not answer and told no progress for 2 s");
    let said = call(&servers, "mcp__test__echo", json!({"text": "still here"})).await;
    assert!(said.ok, "{said:?}");
    servers.end().await;
}

#[tokio::test]
async fn a_server_is_told_within_which_span_it_is_called() {
    let world = World::new();
    let servers = world.begun(vec![server("test", "plain")]);
    let span = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (traceparent, want) in [(Some(span.parse().unwrap()), span), (None, "None")] {
        let said = servers.call(OutsideCall {
            name: "mcp__test__echo".to_owned(),
            arguments: json!({"text": "{traceparent}"}),
            agent: agent(),
            judged_unknown: false,
            questions: None,
            traceparent,
        });
        let said = said.await.text;
        assert!(said.contains(&format!("\n{want}\n")), "{said}");
    }
    servers.end().await;
}

#[tokio::test]
async fn a_server_asks_the_person() {
    let world = World::new();
    let servers = Arc::new(world.begun(vec![server("test", "plain")]));
    let (questions, mut asked) = tokio::sync::mpsc::channel(4);
    let name = "mcp__test__who".to_owned();
    let asking = OutsideCall {
        name,
        arguments: json!({}),
        agent: agent(),
        judged_unknown: false,
        questions: Some(questions),
        traceparent: None,
    };
    let calling = tokio::spawn({
        let servers = Arc::clone(&servers);
        async move { servers.call(asking).await }
    });
    let question = asked.recv().await.unwrap();
    assert_eq!((question.server.as_str(), question.text.as_str()), ("test", "Who are you?\nname"));
    question.answer.send(OutsideAnswer::Said("Ann".to_owned())).unwrap();
    let done = calling.await.unwrap();
    assert!(done.text.contains(r#"{"action": "accept", "content": {"name": "Ann"}}"#), "{done:?}");
    let alone = call(&servers, "mcp__test__who", json!({})).await;
    assert!(alone.text.contains(r#"{"action": "cancel"}"#), "nobody is there to ask: {alone:?}");
    servers.end().await;
}

#[tokio::test]
async fn resources_prompts_and_long_results() {
    let world = World::new();
    let servers = world.begun(vec![server("test", "plain")]);
    let read = |handle: &str, offset| {
        let handle = OutsideHandle {
            handle: handle.to_owned(),
            offset,
            agent: agent(),
            questions: None,
            traceparent: None,
        };
        servers.read(handle)
    };
    let found = servers.find("first note", &|_| true).await;
    assert!(found.contains("resource test:note://one: The first note"), "{found}");
    let note = read("test:note://one", 0).await;
    assert!(note.ok && note.text.contains("content of note://one"), "{note:?}");
    assert!(read("nobody:note://one", 0).await.text.contains("There is no server nobody"));
    let prompt = servers.prompt("mcp__test__review", vec![("what".to_owned(), "this".to_owned())]).await;
    assert_eq!(prompt.as_deref(), Ok("Review this."));
    assert!(servers.prompt("mcp__test__none", Vec::new()).await.is_err());
    let long = call(&servers, "mcp__test__long", json!({"bytes": 60_000})).await;
    assert!(
        long.text.len() < 26_000 && long.text.contains("\"handle\": \"result-1\", \"offset\": 24576"),
        "{}",
        long.text.len()
    );
    let rest = read("result-1", 49_152).await;
    assert!(rest.text.ends_with("(the end)"), "{rest:?}");
    servers.end().await;
}

/// Where nothing was known of a tool when it was judged, one that destroys something is not called.
#[tokio::test]
async fn what_destroys_is_judged_with_that_in_mind() {
    let world = World::new();
    let servers = world.begun(vec![server("test", "plain")]);
    let removing = |judged_unknown| {
        let name = "mcp__test__remove".to_owned();
        OutsideCall {
            name,
            arguments: json!({}),
            agent: agent(),
            judged_unknown,
            questions: None,
            traceparent: None,
        }
    };
    let first = servers.call(removing(true)).await;
    assert!(!first.ok && first.text.starts_with("Nothing was called"), "{first:?}");
    assert!(servers.tool("mcp__test__remove").unwrap().says_destructive);
    assert!(servers.call(removing(false)).await.text.contains("called remove"));
    servers.end().await;
}
