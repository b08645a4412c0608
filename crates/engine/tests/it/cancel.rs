//! Stopping: at once, honestly, with nothing left running.

use std::time::Duration;

use posse_protocol::{Budget, CommandRun, Ending, EventKind, ProgressKind, Update};
use posse_testkit::Turn;
use serde_json::json;

use crate::check::{World, finish};

#[tokio::test]
async fn in_the_middle_of_a_reply_the_partial_text_is_kept() {
    let world = World::new([Turn::text("one two three four five six").split_every(40).stall_after(3)]).await;
    let mut session = world.start("go");
    while let Some(update) = session.next().await {
        if matches!(&update, Update::Progress(p) if matches!(p.kind, ProgressKind::Text(_))) {
            break;
        }
    }
    session.cancel();
    let ran = finish(session).await;
    assert_eq!(ran.report.ending, Ending::Cancelled);
    assert!(ran.report.text.starts_with("one"), "{:?}", ran.report.text);
}

#[tokio::test]
async fn in_the_middle_of_a_command_the_whole_group_dies() {
    // Its own number inside the sandbox says nothing outside, so it is known by what it was told.
    let command = "sleep 300.25 & touch begun; sleep 300.25";
    let world = World::new([
        Turn::call("read_file", json!({"path": "a.txt"})).and_call("shell", json!({"command": command}))
    ])
    .await;
    let session = world.start("go");
    while !world.files.path().join("begun").exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    session.cancel();
    let ran = finish(session).await;
    assert_eq!(ran.report.ending, Ending::Cancelled);
    let results = ran.results();
    assert!(results[0].0, "what was done before stays: {results:?}");
    assert!(results[1].1.contains("stopped before it was done"), "{results:?}");
    let killed = CommandRun { command: command.into(), ..CommandRun::default() };
    assert_eq!(ran.report.receipt.commands, [killed], "what was killed did run");
    for _ in 0..200 {
        if posse_testkit::processes_with("300.25").is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the command's child still runs");
}

#[tokio::test]
async fn time_up_leaves_one_last_report() {
    let mut world = World::new([
        Turn::call("shell", json!({"command": "sleep 60"})),
        Turn::text("This is how far I got."),
    ])
    .await;
    world.budget = Budget { time_ms: Some(400), ..Budget::UNLIMITED };
    let ran = world.run("go").await;
    assert_eq!((&ran.report.ending, ran.report.text.as_str()), (&Ending::TimedOut, "This is how far I got."));
    let told = ran
        .events()
        .any(|e| matches!(&e.kind, EventKind::Told { text, .. } if text.contains("your time is over")));
    assert!(told);
}
