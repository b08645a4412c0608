//! Sub-agents: sessions of their own for editors that know those, one call each for the others.

use posse_testkit::{Captured, FakeModel, Fixture, Turn, asker};
use serde_json::{Value, json};

use super::editor::Editor;
use crate::crew::REPORT;
use crate::posse::{Person, eventually};

/// A person whose main agent has ann write a file, and ann asks for it; bob never ends.
pub(super) fn crew(starts: &'static [&'static str]) -> Person {
    let model = FakeModel::by_rule_blocking(move |request| answer(request, starts));
    let person = Person::with_model(model, Fixture::new().file("main.py", "print('hi')\n").git());
    let config = std::fs::read_to_string(person.config()).unwrap();
    person.configure(&config.replace("price =", "max_concurrent = 8\nprice ="));
    person
}

fn answer(request: &Captured, starts: &[&str]) -> Turn {
    let request = request.json();
    let messages = request["messages"].as_array().map_or(0, Vec::len);
    match (asker(&request).as_str(), messages) {
        ("ann", 2) => {
            Turn::call("write_file", json!({"path": "ann.txt", "content": "ann\n"})).and_text("I write.")
        }
        ("ann", _) => Turn::text(REPORT),
        ("bob", _) => Turn::text(REPORT).stall_after(0),
        (_, 2) => {
            let start =
                |name: &str| json!({"action": "start", "name": name, "role": "general", "prompt": "Do it."});
            starts.iter().fold(Turn::text("I delegate."), |turn, name| turn.and_call("agent", start(name)))
        }
        _ if request.to_string().contains("report from=") => Turn::text("All is done."),
        _ => Turn::text("They are at it."),
    }
}

/// The session of a sub-agent, by its name.
fn child(editor: &mut Editor, parent: &str, name: &str) -> String {
    let title = format!("{name}:");
    let announced = editor.update(parent, "subagent_update", |update| {
        update["title"].as_str().is_some_and(|told| told.starts_with(&title))
    });
    announced["sessionId"].as_str().unwrap().to_owned()
}

#[test]
fn a_child_is_a_session_announced_before_its_traffic() {
    let person = crew(&["ann"]);
    let mut editor = Editor::open(&person, &["--approval", "ask"], json!({"subagents": {}}));
    let session = editor.session(&person);
    let id = editor.prompt(&session, "Delegate.");
    let ann = child(&mut editor, &session, "ann");
    let asked = editor.asks("session/request_permission");
    assert_eq!(asked["params"]["sessionId"], ann.as_str(), "{asked}");
    assert_eq!(asked["params"]["toolCall"]["title"], "ann wants to change: ann.txt");
    editor.update(&session, "subagent_update", |update| update["state"]["state"] == "requires_action");
    editor.choose(&asked, "once");
    let idle = |update: &Value| update["state"] == json!({"state": "idle", "stopReason": "end_turn"});
    editor.update(&session, "subagent_update", idle);
    assert_eq!(editor.stopped(id), "end_turn");
    editor.until("the last word", |said| said.to_string().contains("All is done."));
    assert!(person.project.path().join("ann.txt").exists());

    // Before it is announced nothing is said of it, and what it does is in its own session.
    let about = |said: &&Value| said["params"]["sessionId"] == ann.as_str();
    let first = editor.heard.iter().position(|said| about(&said)).unwrap();
    let announced = editor.heard.iter().position(|said| {
        said["params"]["update"]["sessionUpdate"] == "subagent_update"
            && said["params"]["sessionId"] == session.as_str()
    });
    assert!(announced.unwrap() < first);
    assert!(editor.text(&ann, "agent_message_chunk").starts_with("I write."));
    assert!(!editor.text(&session, "agent_message_chunk").contains("I write."));
    let told = editor.update(&ann, "session_message", |_| true);
    assert_eq!((&told["senderSessionId"], &told["recipientSessionId"]), (&json!(session), &json!(ann)));
    let reported = editor.update(&session, "session_message", |_| true);
    assert_eq!(reported["senderSessionId"], json!(ann));
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn one_child_is_cancelled_and_the_rest_goes_on() {
    let person = crew(&["ann", "bob"]);
    let mut editor = Editor::open(&person, &[], json!({"subagents": {}}));
    let session = editor.session(&person);
    let id = editor.prompt(&session, "Delegate.");
    let bob = child(&mut editor, &session, "bob");
    let asked = || person.model.requests().iter().any(|request| asker(&request.json()) == "bob");
    eventually("bob's model is asked", asked);
    // Only stopping is offered for a child; anything else is no session of the editor's.
    assert_eq!(
        editor.refused("session/set_mode", json!({"sessionId": bob, "modeId": "full"}))["code"],
        -32002
    );
    editor.notify("session/cancel", json!({"sessionId": bob}));
    let stopped = |update: &Value| {
        update["sessionId"] == bob.as_str()
            && update["state"] == json!({"state": "idle", "stopReason": "cancelled"})
    };
    editor.update(&session, "subagent_update", stopped);
    assert_eq!(editor.stopped(id), "end_turn", "the turn itself was not stopped");
    assert!(person.project.path().join("ann.txt").exists());
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn an_editor_that_knows_no_children_gets_a_call_for_each() {
    let person = crew(&["ann"]);
    let mut editor = Editor::open(&person, &["--approval", "ask"], json!({}));
    let session = editor.session(&person);
    let id = editor.prompt(&session, "Delegate.");
    let card = editor.update(&session, "tool_call", |call| {
        call["toolCallId"].as_str().is_some_and(|id| id.starts_with("agent-"))
    });
    assert_eq!((&card["title"], &card["kind"]), (&json!("ann (general): Do it."), &json!("think")), "{card}");
    let asked = editor.asks("session/request_permission");
    assert_eq!(asked["params"]["sessionId"], session.as_str());
    assert_eq!(asked["params"]["toolCall"]["title"], "ann wants to change: ann.txt");
    editor.choose(&asked, "once");
    assert_eq!(editor.stopped(id), "end_turn");
    let of_card = |update: &Value| update["toolCallId"] == card["toolCallId"];
    let report = editor.update(&session, "tool_call_update", |u| of_card(u) && u["status"] == "completed");
    assert!(report["content"].to_string().contains("I did what I was asked to do"), "{report}");
    let lines = editor.updates(&session).filter(|update| of_card(update)).count();
    assert!(lines > 3, "what it does is told meanwhile");
    let asked = &asked["params"]["toolCall"]["toolCallId"];
    editor.update(&session, "tool_call_update", |u| u["toolCallId"] == *asked && u["status"] == "completed");
    assert!(
        editor
            .heard
            .iter()
            .all(|said| said["params"].get("sessionId").is_none_or(|id| *id == session.as_str()))
    );
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn a_child_in_a_checkout_of_its_own_is_shown_there() {
    let model = FakeModel::by_rule_blocking(|request| {
        let request = request.json();
        let messages = request["messages"].as_array().map_or(0, Vec::len);
        let start = json!({"action": "start", "name": "ann", "role": "general", "prompt": "Do it.", "isolation": "worktree"});
        match (asker(&request).as_str(), messages) {
            ("ann", 2) => Turn::call("write_file", json!({"path": "ann.txt", "content": "ann\n"})),
            ("ann", _) => Turn::text(REPORT),
            (_, 2) => Turn::call("agent", start),
            _ => Turn::text("At it."),
        }
    });
    let person = Person::with_model(model, Fixture::new().file("main.py", "print('hi')\n").git());
    let mut editor = Editor::open(&person, &[], json!({"subagents": {}}));
    let session = editor.session(&person);
    assert_eq!(editor.says(&session, "Delegate."), "end_turn");
    let ann = child(&mut editor, &session, "ann");
    let moved = editor.update(&session, "subagent_update", |update| update.get("cwd").is_some());
    let folder = moved["cwd"].as_str().unwrap().to_owned();
    assert!(
        std::path::Path::new(&folder).is_absolute()
            && !folder.starts_with(&*person.project.path().to_string_lossy())
    );
    let call = editor.update(&ann, "tool_call", |call| call["kind"] == "edit");
    assert_eq!(call["locations"][0]["path"], format!("{folder}/ann.txt"), "{call}");
    let diff = editor.update(&ann, "tool_call_update", |update| update["content"][0]["type"] == "diff");
    assert_eq!(diff["content"][0]["newText"], "ann\n");
    assert!(!person.project.path().join("ann.txt").exists(), "it is on ann's branch");
    assert_eq!(editor.close(), Some(0));
}
