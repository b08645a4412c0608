//! What sessions are called: by their prompt, by the person, and by their prompt again.

use posse_engine::{Engine, EngineError, RecordDetail};
use posse_protocol::{Event, EventKind, Seq, SessionId};
use posse_testkit::Turn;

use crate::crew::Stage;
use crate::follow::{Followed, until_file};

fn title(engine: &Engine, session: SessionId) -> Option<String> {
    engine.find_session(&session.to_string()).unwrap().title
}

fn names(events: &[Event]) -> Vec<&str> {
    let named = events.iter().filter_map(|event| match &event.kind {
        EventKind::SessionNamed { title, .. } => Some(title.as_str()),
        _ => None,
    });
    named.collect()
}

#[tokio::test]
async fn a_session_is_renamed_by_another_process_while_it_works() {
    let mut stage =
        Stage::new([("main", vec![until_file("go"), Turn::text("Done."), Turn::text("Again.")])]).await;
    stage.delegation.sub_agents.record = RecordDetail::Result;
    let session = stage.start("Please fix the parser.");
    let id = session.id;
    let mut followed = Followed::new(session);
    followed.until(1, |event| matches!(event.kind, EventKind::ToolStarted { .. })).await;
    // Another writer on the same database, as another process has one.
    let other = Engine::open(stage.data.path()).unwrap();
    assert_eq!(title(&other, id).as_deref(), Some("fix the parser"));
    let renamed = other.rename(id, " The  parser\nbug ").await.unwrap();
    assert_eq!(renamed.title.as_deref(), Some("The parser bug"));
    assert_eq!(renamed.status.word(), "running");
    std::fs::write(stage.files.path().join("go"), "").unwrap();
    followed.until(1, |event| matches!(event.kind, EventKind::SessionNamed { .. })).await;
    let ran = followed.finish().await;
    assert_eq!(ran.report.text, "Done.");
    // Who followed it live has seen every event, the other process's too, in order.
    let shown = ran.events().cloned().collect::<Vec<_>>();
    let numbers = shown.iter().map(|event| event.seq.0).collect::<Vec<_>>();
    assert_eq!(numbers, (1..=shown.len() as u64).collect::<Vec<_>>());
    assert_eq!(other.events_after(id, Seq(0), 1_000).unwrap(), shown);
    assert_eq!(names(&shown), ["The parser bug"]);

    let resumed = stage.engine.resume(id, stage.request("and now?")).await.unwrap();
    let ran = Followed::new(resumed).finish().await;
    assert_eq!(ran.report.text, "Again.");
    assert_eq!(title(&stage.engine, id).as_deref(), Some("The parser bug"), "the name stays");
    stage.engine.rename(id, "  ").await.unwrap();
    assert_eq!(title(&other, id).as_deref(), Some("fix the parser"), "the first prompt names it again");
}

#[tokio::test]
async fn titles_that_are_none() {
    let stage = Stage::new([("main", vec![Turn::text("Done.")])]).await;
    let session = stage.start("go");
    let id = session.id;
    Followed::new(session).finish().await;
    let before = stage.engine.events_after(id, Seq(0), 1_000).unwrap();
    let error = stage.engine.rename(id, &"x".repeat(201)).await.unwrap_err();
    assert!(
        matches!(&error, EngineError::Refused(why) if why == "a title has at most 200 characters"),
        "{error:?}"
    );
    let unknown = "00000000-0000-7000-8000-000000000000".parse().unwrap();
    assert!(matches!(stage.engine.rename(unknown, "x").await, Err(EngineError::NotFound(_))));
    assert_eq!(stage.engine.events_after(id, Seq(0), 1_000).unwrap(), before);
}
