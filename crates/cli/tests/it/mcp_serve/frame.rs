//! A client has at most what the server was started with.

use std::os::unix::fs::symlink;

use posse_testkit::{Fixture, Turn};
use serde_json::{Value, json};

use super::talk::Talk;
use crate::background::Background;
use crate::posse::{Person, text};

/// The names of the tools that the model was offered in a request.
fn offered(person: &Person, request: usize) -> Vec<String> {
    let body = person.model.requests()[request].json();
    let tools = body["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn folder_model_role_and_flags_are_held_within_the_frame() {
    let project = Fixture::new().file("app/main.py", "").file("notes.txt", "").git();
    let person = Person::with_project([Turn::text("Here."), Turn::text("There.")], project);
    let (root, other) = (person.project.path().to_path_buf(), tempfile::tempdir().unwrap());
    symlink(other.path(), root.join("way-out")).unwrap();
    person.configure_more("[models.second]\nendpoint = \"http://127.0.0.1:9\"\nmodel = \"m\"\n");
    let mut talk = Talk::newest(&person, &["-C", "app", "--model", "fake"], json!({}));
    let mut says = |more: Value, words: &str| {
        let mut arguments = json!({ "prompt": "Go" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let said = talk.refused("run_task", arguments);
        assert!(said.contains(words), "{said}");
    };
    let outside = "is not a folder that this server may work in";
    for folder in [
        text(other.path()),
        text(&root),
        "..".to_owned(),
        "../way-out".to_owned(),
        "/".to_owned(),
        "nowhere".to_owned(),
    ] {
        says(json!({ "workspace": folder }), outside);
    }
    says(json!({ "model": "--no-sandbox" }), "This server was started with the model fake");
    says(json!({ "model": "second" }), "This server was started with the model fake");
    says(json!({ "role": "--approval=full" }), "cannot be the name of a role");
    says(json!({ "role": "nonesuch" }), "there is no role \"nonesuch\"");
    says(json!({ "budget": { "max_turns": 0 } }), "A limit of the budget is nothing");
    says(json!({ "approval": "full" }), "unknown field `approval`");
    says(json!({ "prompt": " " }), "The prompt is empty");
    assert_eq!(person.model.calls(), 0, "nothing began");

    let look = talk.tool("run_task", json!({ "prompt": "Go", "workspace": text(&root.join("app")) }))["structuredContent"].clone();
    assert_eq!(
        (&look["state"], &look["workspace"]),
        (&json!("completed"), &json!(text(&root.join("app").canonicalize().unwrap())))
    );
    assert!(offered(&person, 0).contains(&"write_file".to_owned()));
    let look = talk.tool("run_task", json!({ "prompt": "Look", "role": "explore", "model": "fake" }))["structuredContent"].clone();
    assert_eq!(look["state"], "completed", "{look}");
    let tools = offered(&person, 1);
    assert!(
        !tools.contains(&"write_file".to_owned()) && tools.contains(&"read_file".to_owned()),
        "{tools:?}"
    );
}

#[test]
fn budget_and_approval_are_never_more_than_the_servers() {
    let read = || Turn::call("read_file", json!({ "path": "main.py" }));
    let write = Turn::call("write_file", json!({ "path": "new.txt", "content": "x" }));
    let person = Person::new([read(), read(), Turn::text("So far."), write, Turn::text("I could not.")]);
    let mut talk = Talk::newest(&person, &["--approval", "plan", "--max-turns", "2"], json!({}));
    let look = talk.tool("run_task", json!({ "prompt": "Read", "budget": { "max_turns": 1000 } }))["structuredContent"].clone();
    assert_eq!(look["state"], "failed", "{look}");
    assert_eq!(look["report"]["status"], "out_of_turns", "{look}");
    assert_eq!(person.model.calls(), 3, "two turns, and one to report");
    let look = talk.tool("run_task", json!({ "prompt": "Write" }))["structuredContent"].clone();
    assert_eq!(look["state"], "completed", "{look}");
    assert!(!person.project.path().join("new.txt").exists(), "in plan mode nothing is changed");
}

#[test]
fn a_session_with_more_rights_or_elsewhere_is_not_the_clients() {
    let person = Person::new([Turn::text("Mine.")]);
    let own = Background::start(&person, &["--approval", "full"]);
    own.until("resting");
    let mut talk = Talk::newest(&person, &["--approval", "ask"], json!({}));
    let look = talk.tool("status", json!({ "task": own.id }))["structuredContent"].clone();
    assert_eq!(look["state"], "completed", "it can be looked at: {look}");
    for (tool, more) in [("message", json!({ "text": "rm" })), ("cancel", json!({}))] {
        let mut arguments = json!({ "task": own.id });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let said = talk.refused(tool, arguments);
        assert!(said.contains("more rights than this server gives"), "{tool}: {said}");
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let mut other = Talk::newest(&person, &["-C", &text(elsewhere.path())], json!({}));
    let said = other.refused("report", json!({ "task": own.id }));
    assert!(said.contains("There is no task"), "{said}");
    assert_eq!(own.status(), "resting");
}
