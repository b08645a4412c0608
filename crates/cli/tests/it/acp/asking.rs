//! Permissions, questions and cancellation: by the editor, by others, and by an editor that does not answer.

use std::time::Duration;

use posse_testkit::Turn;
use serde_json::json;

use super::editor::Editor;
use crate::posse::{Person, eventually};

fn write(path: &str) -> Turn {
    Turn::call("write_file", json!({"path": path, "content": "x"}))
}

#[test]
fn the_person_is_asked_by_name_and_every_answer_counts() {
    let person = Person::new([write("a.txt"), write("b.txt"), write("c.txt"), Turn::text("Done.")]);
    let mut editor = Editor::open(&person, &["--approval", "ask"], json!({}));
    let session = editor.session(&person);
    let id = editor.prompt(&session, "Write.");
    let first = editor.asks("session/request_permission");
    let call = &first["params"]["toolCall"];
    assert_eq!(call["title"], "main wants to change: a.txt", "{first}");
    assert!(call["content"].to_string().contains("+x"), "{first}");
    editor.choose(&first, "no");
    let second = editor.until("another question", |said| said["method"] == first["method"] && *said != first);
    assert!(!person.project.path().join("a.txt").exists());
    editor.choose(&second, "session");
    assert_eq!(editor.stopped(id), "end_turn");
    assert!(person.project.path().join("b.txt").exists() && person.project.path().join("c.txt").exists());
    let asked = editor.heard.iter().filter(|said| said["method"] == "session/request_permission").count();
    assert_eq!(asked, 2, "the third was allowed for the session");
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn free_questions_are_forms_where_the_editor_has_forms() {
    let ask = || Turn::call("ask_person", json!({"question": "Which colour?", "choices": ["red", "blue"]}));
    let person = Person::new([ask(), Turn::text("Fine."), ask(), Turn::text("Fine, too.")]);
    let mut editor = Editor::open(&person, &[], json!({"elicitation": {"form": {}}}));
    let session = editor.session(&person);
    let id = editor.prompt(&session, "Paint.");
    let asked = editor.asks("elicitation/create");
    assert_eq!(asked["params"]["message"], "main asks:\nWhich colour?");
    editor.reply(&asked, json!({"action": "accept", "content": {"answer": "green"}}));
    assert_eq!(editor.stopped(id), "end_turn");
    assert!(person.model.requests()[1].json().to_string().contains("green"));
    assert_eq!(editor.close(), Some(0));

    let mut editor = Editor::open(&person, &[], json!({}));
    let session = editor.session(&person);
    let id = editor.prompt(&session, "Paint.");
    let asked = editor.asks("session/request_permission");
    assert_eq!(asked["params"]["toolCall"]["title"], "main asks: Which colour?");
    editor.choose(&asked, "choice-2");
    assert_eq!(editor.stopped(id), "end_turn");
    assert!(person.model.requests()[3].json().to_string().contains("blue"));
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn whoever_answers_first_counts_and_a_silent_editor_hangs_nobody() {
    let person = Person::new([write("a.txt"), write("b.txt"), Turn::text("Done.")]);
    let mut editor = Editor::open(&person, &["--approval", "ask"], json!({}));
    let session = editor.session(&person);
    let id = editor.prompt(&session, "Write.");
    let first = editor.asks("session/request_permission");
    // Somebody in a terminal is quicker.
    let open = || person.posse(&["answer", &session, "--json"]).events();
    eventually("the question elsewhere", || open().len() == 1);
    let seq = open()[0]["number"].to_string();
    let answered = person.posse(&["answer", &session, &seq, "y"]);
    assert_eq!(answered.code, Some(0), "{answered:#?}");
    let withdrawn = editor.until("the request taken back", |said| said["method"] == "$/cancel_request");
    assert_eq!(withdrawn["params"]["requestId"], first["id"]);
    // An answer that comes too late is no harm.
    editor.choose(&first, "no");
    // An editor that cannot ask says so, and the question stays open for others.
    let second = editor.until("another question", |said| said["method"] == first["method"] && *said != first);
    editor.send(&json!({"jsonrpc": "2.0", "id": second["id"], "error": {"code": -32601, "message": "no"}}));
    let hint = editor.until("how to answer", |said| said.to_string().contains("posse answer"));
    assert!(hint.to_string().contains(&session), "{hint}");
    eventually("the second question elsewhere", || open().len() == 1);
    let seq = open()[0]["number"].to_string();
    assert_eq!(person.posse(&["answer", &session, &seq, "y"]).code, Some(0));
    assert_eq!(editor.stopped(id), "end_turn");
    assert!(person.project.path().join("b.txt").exists());
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn a_turn_is_cancelled_wherever_it_is_and_the_next_prompt_works() {
    let person = Person::new([
        Turn::text("Never said.").stall_after(0),
        Turn::call("shell", json!({"command": "touch began; sleep 60"})),
        write("a.txt"),
        Turn::text("Here I am."),
    ]);
    let mut editor = Editor::open(&person, &["--approval", "edit"], json!({}));
    let session = editor.session(&person);
    let cancel = json!({"sessionId": session});

    // While the model is silent.
    let id = editor.prompt(&session, "One.");
    eventually("the model is asked", || person.model.requests().len() == 1);
    editor.notify("session/cancel", cancel.clone());
    assert_eq!(editor.stopped(id), "cancelled");

    // While a command runs, by the id of the request.
    editor.call("session/set_mode", json!({"sessionId": session, "modeId": "auto"}));
    let id = editor.prompt(&session, "Two.");
    eventually("the command runs", || person.project.path().join("began").exists());
    editor.notify("$/cancel_request", json!({"requestId": id}));
    assert_eq!(editor.stopped(id), "cancelled");

    // While the person is asked.
    editor.call("session/set_mode", json!({"sessionId": session, "modeId": "ask"}));
    let id = editor.prompt(&session, "Three.");
    let asked = editor.asks("session/request_permission");
    editor.notify("session/cancel", cancel.clone());
    editor.reply(&asked, json!({"outcome": {"outcome": "cancelled"}}));
    assert_eq!(editor.stopped(id), "cancelled");
    assert!(!person.project.path().join("a.txt").exists());

    // A prompt that is cancelled at once, and one when nothing runs.
    editor.notify("session/cancel", cancel.clone());
    assert_eq!(editor.says(&session, "Four."), "end_turn");
    assert!(editor.text(&session, "agent_message_chunk").ends_with("Here I am."));
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn a_prompt_cancelled_at_once_ends_at_once() {
    let person = Person::new((0..10).map(|_| Turn::text("Late.").delay(Duration::from_secs(20))));
    let mut editor = Editor::open(&person, &[], json!({}));
    let session = editor.session(&person);
    for _ in 0..5 {
        let id = editor.prompt(&session, "Go.");
        editor.notify("session/cancel", json!({"sessionId": session}));
        assert_eq!(editor.stopped(id), "cancelled");
    }
    assert_eq!(editor.close(), Some(0));
}
