//! What was published is what is on record; a face can follow from anywhere.

use posse_engine::{Engine, EngineError};
use posse_protocol::{Ending, Failure, Seq, Update};
use posse_testkit::{FakeModel, Turn};
use serde_json::json;

use crate::check::World;

#[tokio::test]
async fn the_record_holds_what_was_shown_and_survives_reopening() {
    let world = World::new([Turn::call("read_file", json!({"path": "a.txt"})), Turn::text("done")]).await;
    let session = world.start("go");
    let id = session.id;
    let ran = crate::check::finish(session).await;
    let shown = ran.events().cloned().collect::<Vec<_>>();
    assert_eq!(world.engine.events_after(id, Seq(0), 1000).unwrap(), shown);

    let again = Engine::open(world.data.path()).unwrap();
    let mut updates = again.recorded(id, Seq(4));
    let mut tail = Vec::new();
    while let Some(Update::Event(event)) = updates.next().await {
        tail.push(event.as_ref().clone());
    }
    assert_eq!(tail, shown[4..]);
    let row = again.find_session("last").unwrap();
    assert_eq!((row.id, row.status.word(), row.turns), (id, "completed", 2));
    let agents = again.agents(id).unwrap();
    assert_eq!((agents.len(), agents[0].tool_calls, agents[0].role.as_str()), (1, 1, "main"));
}

#[tokio::test]
async fn a_record_that_cannot_be_written_ends_the_agent_before_it_acts() {
    let mut world = World::new([]).await;
    let locked = world.files.path().join("locked");
    let waited_for = locked.clone();
    // The model answers once another program holds the database, for longer than Posse waits.
    world.model = FakeModel::by_rule(move |_| {
        while !waited_for.exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Turn::call("shell", json!({"command": "touch acted"}))
    })
    .await;
    let session = world.start("go");
    let hold = format!(
        "import sqlite3, time\nc = sqlite3.connect('{}', timeout=5, isolation_level=None)\n\
         c.execute('begin exclusive')\nopen('{}', 'w')\ntime.sleep(60)",
        world.data.path().join("posse.db").display(),
        locked.display()
    );
    let mut holder = std::process::Command::new("python3").args(["-c", &hold]).spawn().unwrap();
    let ran = crate::check::finish(session).await;
    holder.kill().unwrap();
    holder.wait().unwrap();
    let Ending::Failed { failure: Failure::Internal { message } } = &ran.report.ending else {
        panic!("{:?}", ran.report.ending);
    };
    assert!(message.contains("is locked by another program"), "{message}");
    assert!(!world.files.path().join("acted").exists(), "what is not on record is not done");
}

#[tokio::test]
async fn programs_can_tell_errors_apart() {
    let world = World::new([Turn::text("done")]).await;
    crate::check::finish(world.start("go")).await;
    let session = world.engine.find_session("last").unwrap();
    let unknown = world.engine.find_session("ffffffff").unwrap_err();
    assert!(matches!(unknown, EngineError::NotFound(_)), "{unknown:?}");
    let undone = world.engine.undo(&session, &posse_engine::UndoExtent::Session, &[]).await.unwrap_err();
    assert!(matches!(undone, EngineError::NothingToDo(_)), "{undone:?}");
    let nobody = posse_engine::UndoExtent::Agent("nobody".to_string());
    let nobody = world.engine.undo(&session, &nobody, &[]).await.unwrap_err();
    assert!(matches!(nobody, EngineError::NotFound(_)), "{nobody:?}");
    let done = world.engine.resume(session.id, world.request("")).await.err().unwrap();
    assert!(matches!(done, EngineError::NothingToDo(_)), "{done:?}");
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("posse.db"), "no database at all").unwrap();
    let damaged = Engine::open(other.path()).err().unwrap();
    assert!(matches!(damaged, EngineError::Record(_)), "{damaged:?}");
}

#[tokio::test]
async fn rows_and_updates_are_json_for_other_programs() {
    let world = World::new([Turn::text("done")]).await;
    let session = world.start("go");
    let (id, ran) = (session.id, crate::check::finish(session).await);
    let updates = serde_json::to_value(&ran.updates).unwrap();
    assert_eq!(updates[0]["event"]["type"], "session_started");
    let row = serde_json::to_value(world.engine.find_session("last").unwrap()).unwrap();
    assert_eq!((&row["status"], &row["id"]), (&json!("completed"), &json!(id)));
    let agents = world.engine.read(move |engine| engine.agents(id)).await.unwrap();
    assert_eq!(serde_json::to_value(agents).unwrap()[0]["status"], "completed");
}
