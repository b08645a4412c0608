//! Calls of one turn: readers together, writers in order; each on record before it runs.

use posse_protocol::{EventKind, ProgressKind, Update};
use posse_testkit::{FakeModel, Turn};
use serde_json::json;

use crate::check::World;

#[tokio::test]
async fn readers_of_one_turn_start_together_and_are_told_in_order() {
    let world = World::new([
        Turn::call("read_file", json!({"path": "a.txt"}))
            .and_call("grep", json!({"pattern": "beta"}))
            .and_call("read_file", json!({"path": "b.txt"})),
        Turn::text("done"),
    ])
    .await;
    let ran = world.run("go").await;
    let kinds = ran.events().map(|e| match &e.kind {
        EventKind::ToolStarted { .. } => "start",
        EventKind::ToolFinished { .. } => "finish",
        _ => "-",
    });
    let kinds = kinds.filter(|k| *k != "-").collect::<Vec<_>>();
    assert_eq!(kinds, ["start", "start", "start", "finish", "finish", "finish"]);
    let second = world.model.requests()[1].json();
    let results = second["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool");
    let texts = results.map(|m| m["content"].as_str().unwrap().to_string()).collect::<Vec<_>>();
    assert!(
        texts[0].contains("alpha") && texts[1].contains("b.txt") && texts[2].contains("beta"),
        "{texts:?}"
    );
}

#[tokio::test]
async fn writers_run_one_by_one_in_the_order_of_the_calls() {
    let world = World::new([
        Turn::call("shell", json!({"command": "sleep 0.3; echo one >> log"}))
            .and_call("shell", json!({"command": "echo two >> log"}))
            .and_call("read_file", json!({"path": "log"}))
            .and_call("edit_file", json!({"path": "log", "old_text": "two", "new_text": "three"})),
        Turn::text("done"),
    ])
    .await;
    let ran = world.run("go").await;
    assert_eq!(world.files.read("log"), "one\nthree\n");
    let results = ran.results();
    assert!(results[2].1.contains("two"), "the reader saw what the writers before it wrote: {results:?}");
    assert_eq!(ran.report.receipt.commands_total, 2);
    assert_eq!(ran.report.receipt.files.len(), 1);
}

#[tokio::test]
async fn text_is_shown_after_the_results_it_follows_and_before_its_reply() {
    let turns = (0..30)
        .map(|n| Turn::text(format!("step {n}")).and_call("grep", json!({"pattern": format!("x{n}")})));
    let world = World::new(turns.chain([Turn::text("done")])).await;
    let ran = world.run("go").await;
    let (mut open_calls, mut shown) = (0, String::new());
    let mut replies = 0;
    for update in &ran.updates {
        match update {
            Update::Progress(p) => {
                if let ProgressKind::Text(text) = &p.kind {
                    assert_eq!(open_calls, 0, "text came before the results it answers");
                    shown.push_str(text);
                }
            }
            Update::Event(event) => match &event.kind {
                EventKind::ToolStarted { .. } => open_calls += 1,
                EventKind::ToolFinished { .. } => open_calls -= 1,
                EventKind::Replied { reply, .. } => {
                    let shown = std::mem::take(&mut shown);
                    assert!(reply.text.starts_with(&shown), "{shown:?} was shown of {:?}", reply.text);
                    replies += 1;
                }
                _ => {}
            },
        }
    }
    assert_eq!(replies, 31);
}

#[tokio::test]
async fn a_tool_is_on_record_before_it_runs() {
    // The command looks into the database for its own start; inside the sandbox it would not see it.
    let mut world = World::new([]).await;
    let look = format!(
        "python3 -c \"import sqlite3; print(sqlite3.connect('file:{}?mode=ro', uri=True).execute(\
         \\\"select count(*) from events where type='tool_started'\\\").fetchone())\"",
        world.data.path().join("posse.db").display()
    );
    world.model = FakeModel::with([
        Turn::call("shell", json!({"command": look, "outside_sandbox": true})),
        Turn::text("done"),
    ])
    .await;
    let ran = world.run("go").await;
    let results = ran.results();
    assert!(results[0].0 && results[0].1.contains("(1,)"), "{results:?}");
}
