//! What events say of a call for whoever shows it.

use posse_protocol::{CallKind, EventKind};
use posse_surface::Surface;
use posse_testkit::Turn;
use serde_json::{Value, json};

use crate::check::Ran;
use crate::crew::Stage;

/// The calls that have started: kind and paths.
fn started(ran: &Ran, name: &str) -> Vec<(CallKind, Vec<String>)> {
    let started = ran.of(name).into_iter().filter_map(|event| match &event.kind {
        EventKind::ToolStarted { kind, paths, .. } => Some((*kind, paths.clone())),
        _ => None,
    });
    started.collect()
}

#[tokio::test]
async fn calls_say_their_kind_and_paths() {
    use CallKind::{Ask, Delegate, Edit, Read, Remember, Run, Search, Think};
    let calls: [(&str, Value, CallKind, &[&str]); 12] = [
        ("read_file", json!({"path": "./a.txt"}), Read, &["a.txt"]),
        ("edit_file", json!({"path": "a.txt", "old_text": "alpha", "new_text": "omega"}), Edit, &["a.txt"]),
        ("write_file", json!({"path": "sub/../new.txt", "content": "x"}), Edit, &["new.txt"]),
        ("list_files", json!({}), Search, &[]),
        ("glob", json!({"pattern": "*.txt", "path": "sub"}), Search, &["sub"]),
        ("grep", json!({"pattern": "x", "path": "sub"}), Search, &["sub"]),
        ("shell", json!({"command": "cat a.txt"}), Run, &[]),
        ("jobs", json!({}), Run, &[]),
        ("todo", json!({"items": []}), Think, &[]),
        ("ask_person", json!({"question": "Which one?"}), Ask, &[]),
        ("agent", json!({"action": "status"}), Delegate, &[]),
        ("read_file", json!({"path": "/etc/passwd"}), Read, &[]),
    ];
    let turns = calls.iter().map(|(tool, arguments, ..)| Turn::call(*tool, arguments.clone()));
    let stage = Stage::new([("main", turns.chain([Turn::text("Done.")]).collect())]).await;
    std::fs::create_dir(stage.files.path().join("sub")).unwrap();
    let ran = stage.run("go").await;
    let expected = calls.map(|(_, _, kind, paths)| (kind, paths.iter().map(ToString::to_string).collect()));
    assert_eq!(started(&ran, "main"), expected);
    // The same where everything is a command.
    let lines: [(&str, CallKind, &[&str]); 8] = [
        ("read a.txt", Read, &["a.txt"]),
        ("write new.txt x", Edit, &["new.txt"]),
        ("grep x sub", Search, &["sub"]),
        ("ls", Run, &[]),
        ("todo one", Think, &[]),
        ("remember it", Remember, &[]),
        ("task:status", Delegate, &[]),
        ("ask 'Which one?'", Ask, &[]),
    ];
    let turns = lines.iter().map(|(line, ..)| Turn::call("bash", json!({"command": line})));
    let stage = Stage::new([("main", turns.chain([Turn::text("Done.")]).collect())]).await;
    let mut stage = stage.surface(Surface::Shell);
    stage.knowledge.memory = true;
    std::fs::create_dir(stage.files.path().join("sub")).unwrap();
    let ran = stage.run("go").await;
    let expected = lines.map(|(_, kind, paths)| (kind, paths.iter().map(ToString::to_string).collect()));
    assert_eq!(started(&ran, "main"), expected);
}
