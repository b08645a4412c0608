//! A process that ends leaves the record as it is, and whoever opens it next finds all of it.

use posse_engine::Engine;
use posse_protocol::{Seq, Update};
use posse_testkit::Turn;
use serde_json::json;

use crate::check::World;

#[tokio::test]
async fn what_was_shown_is_found_by_whoever_opens_the_record_next() {
    let turns = [Turn::call("read_file", json!({"path": "a.txt"})), Turn::text("It says alpha.")];
    let world = World::new(turns).await;
    let ran = world.run("what does a.txt say?").await;
    let shown = ran.events().cloned().collect::<Vec<_>>();
    assert!(shown.len() >= 8, "{shown:?}");
    let World { engine, data, .. } = world;
    engine.leave();
    let log = data.path().join(format!("{}-wal", posse_engine::record::DATABASE_FILE));
    assert!(std::fs::metadata(&log).unwrap().len() > 0, "the log was not left");

    let next = Engine::open(data.path()).unwrap();
    let mut found = Vec::new();
    let mut updates = next.recorded(shown[0].session, Seq(0));
    while let Some(Update::Event(event)) = updates.next().await {
        found.push(event.as_ref().clone());
    }
    assert_eq!(found, shown);
    assert_eq!(next.find_session("last").unwrap().status.word(), "completed");
}
