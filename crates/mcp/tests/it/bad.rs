//! Servers that hang, flood, die or lie.

use std::time::Duration;

use posse_mcp::{EntryOrigin, ServerEntry, ServerReach};
use posse_tools::{OutsideState, OutsideTools};
use serde_json::json;

use crate::{World, call, server};

#[tokio::test]
async fn a_server_that_dies_is_told_with_its_log_and_started_again() {
    let world = World::new();
    let servers = world.begun(vec![server("test", "plain")]);
    let died = call(&servers, "mcp__test__die", json!({})).await;
    let expected = "The server test: it ended (exit code 3); the end of its log:\nthe disk is full";
    assert_eq!((died.ok, died.text.as_str()), (false, expected));
    let again = call(&servers, "mcp__test__echo", json!({"text": "back"})).await;
    assert!(again.ok && again.text.contains("back"), "{again:?}");
    servers.end().await;
}

#[tokio::test]
async fn a_server_that_never_starts_is_told_and_the_others_work() {
    let world = World::new();
    let missing =
        ServerReach::Program { command: "no-such-server".to_owned(), arguments: Vec::new(), env: Vec::new() };
    let missing = ServerEntry::new("missing", missing, EntryOrigin::Person("c".into()));
    let servers = world.begun(vec![
        server("dies", "dies"),
        missing,
        server("floods", "floods"),
        server("test", "plain"),
    ]);
    let found = servers.find("echo", &|_| true).await;
    assert!(found.contains("mcp__test__echo"), "{found}");
    assert!(found.contains("The server dies does not work: "), "{found}");
    assert!(found.contains("cannot read my settings"), "{found}");
    assert!(
        found.contains("The server floods does not work: it sent more than 16 MiB in one line"),
        "{found}"
    );
    assert!(found.contains("no-such-server") && found.contains("not found"), "{found}");
    let dead = call(&servers, "mcp__dies__echo", json!({"text": "x"})).await;
    assert!(!dead.ok && dead.text.contains("The server dies: "), "{dead:?}");
    let states = servers.servers().iter().map(|server| server.state).collect::<Vec<_>>();
    assert_eq!(
        states,
        [OutsideState::Failed, OutsideState::Failed, OutsideState::Failed, OutsideState::Running]
    );
    servers.end().await;
}

/// What is no message is passed over; a version that nobody knows is told or lived with, and nothing hangs.
#[tokio::test]
async fn noise_endless_lists_and_lies() {
    let world = World::new();
    let servers =
        world.begun(vec![server("noise", "noise"), server("endless", "endless"), server("lies", "lies")]);
    for name in ["noise", "endless"] {
        let said = call(&servers, &format!("mcp__{name}__echo"), json!({"text": "hello"})).await;
        // The same tools on every page have the same names.
        assert!(said.text.contains("hello") || said.text.contains("two tools"), "{said:?}");
    }
    let lied = call(&servers, "mcp__lies__echo", json!({"text": "hello"})).await;
    assert!(lied.text.contains("hello") || lied.text.contains("The server lies: "), "{lied:?}");
    servers.end().await;
}

/// Neither a session's start nor its end waits for a server that hangs.
#[tokio::test]
async fn a_server_that_hangs_holds_nothing_up() {
    let world = World::new();
    let servers = world.begun(vec![server("hangs", "hangs"), server("test", "plain")]);
    assert!(call(&servers, "mcp__test__echo", json!({"text": "hello"})).await.ok);
    let hanging = call(&servers, "mcp__hangs__echo", json!({"text": "x"}));
    // Whoever gives up is not held.
    assert!(tokio::time::timeout(Duration::from_millis(300), hanging).await.is_err());
    drop(servers);
}

#[tokio::test]
async fn words_of_servers_close_no_wrapper() {
    let world = World::new();
    let servers = world.begun(vec![server("test", "plain")]);
    let forged = call(&servers, "mcp__test__forge", json!({})).await;
    assert_eq!(forged.text.matches("</server_result>").count(), 1, "{forged:?}");
    assert!(forged.text.ends_with("</server_result>") && !forged.text.contains('\u{1b}'), "{forged:?}");
    servers.end().await;
}
