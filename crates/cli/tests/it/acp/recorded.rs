//! Sessions on record: listed, loaded, resumed, closed and deleted; and what becomes of one whose editor goes.

use posse_testkit::Turn;
use serde_json::{Value, json};

use super::editor::Editor;
use crate::background::Background;
use crate::posse::{Person, eventually, signal};

#[test]
fn a_session_is_listed_loaded_resumed_closed_and_deleted() {
    let person = Person::new([
        Turn::call("write_file", json!({"path": "a.txt", "content": "x\n"})).and_text("I write."),
        Turn::text("Written."),
        Turn::text("More."),
        Turn::text("Even more."),
    ]);
    let here = json!(person.project.path().canonicalize().unwrap());
    let mut editor = Editor::open(&person, &[], json!({}));
    let session = editor.session(&person);
    editor.says(&session, "Write it.");
    editor.call("session/close", json!({"sessionId": session}));
    assert_eq!(editor.refused("session/close", json!({"sessionId": session}))["code"], -32002);
    assert_eq!(editor.close(), Some(0));

    let mut editor = Editor::open(&person, &[], json!({}));
    let listed = editor.call("session/list", json!({"cwd": here}));
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
    let one = &listed["sessions"][0];
    assert_eq!((&one["sessionId"], &one["cwd"], &one["title"]), (&json!(session), &here, &json!("Write it")));
    assert!(one["updatedAt"].as_str().is_some_and(|at| at.ends_with('Z')), "{one}");
    let elsewhere = editor.call("session/list", json!({"cwd": person.home.path()}));
    assert_eq!(elsewhere["sessions"], json!([]));

    let opens = json!({"sessionId": session, "cwd": here, "mcpServers": []});
    let loaded = editor.call("session/load", opens.clone());
    assert_eq!(loaded["configOptions"][1]["currentValue"], "fake");
    assert_eq!(editor.text(&session, "user_message_chunk"), "Write it.");
    assert_eq!(editor.text(&session, "agent_message_chunk"), "I write.Written.");
    let shown =
        |update: &&Value| update["content"][0]["type"] == "diff" && update["content"][0]["newText"] == "x\n";
    assert!(editor.updates(&session).any(|update| shown(&update)), "the diff is there again");
    assert_eq!(editor.says(&session, "Go on."), "end_turn");
    let sent = person.model.requests().last().unwrap().json().to_string();
    assert!(sent.contains("Write it.") && sent.contains("Go on."), "the same conversation: {sent}");
    assert_eq!(editor.close(), Some(0));

    let mut editor = Editor::open(&person, &[], json!({}));
    editor.call("session/resume", opens.clone());
    assert_eq!(editor.text(&session, "agent_message_chunk"), "", "resumed without telling it again");
    assert_eq!(editor.says(&session, "And on."), "end_turn");
    assert_eq!(editor.text(&session, "agent_message_chunk"), "Even more.");
    let wrong = json!({"sessionId": session, "cwd": "/usr", "mcpServers": []});
    assert_eq!(editor.refused("session/load", wrong)["code"], -32602);
    for id in [session.as_str(), session.as_str(), "nobody"] {
        editor.call("session/delete", json!({"sessionId": id}));
    }
    assert_eq!(editor.call("session/list", json!({}))["sessions"], json!([]));
    assert_eq!(editor.refused("session/load", opens)["code"], -32002);
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn an_editor_that_vanishes_leaves_its_work_to_be_resumed() {
    for ends_by_signal in [false, true] {
        let person = Person::new([
            Turn::call("shell", json!({"command": "touch began; sleep 60"})),
            Turn::text("Back again."),
        ]);
        let mut editor = Editor::open(&person, &[], json!({}));
        let session = editor.session(&person);
        editor.prompt(&session, "Go.");
        eventually("the command runs", || person.project.path().join("began").exists());
        if ends_by_signal {
            signal(editor.process(), "TERM");
        }
        assert_eq!(editor.close(), Some(0));
        let listed = person.posse(&["sessions", "list"]);
        listed.says("interrupted");
        let resumed = person.posse(&["resume", &session]);
        assert_eq!(resumed.code, Some(0), "{resumed:#?}");
        resumed.says("Back again.");
    }
}

#[test]
fn others_follow_a_session_of_an_editor_and_an_editor_those_of_others() {
    let person = Person::new([Turn::text("First."), Turn::text("Second."), Turn::text("Third.")]);
    let mut editor = Editor::open(&person, &[], json!({}));
    let session = editor.session(&person);
    editor.says(&session, "One.");
    // Said in a terminal, and shown in the editor.
    let told = || person.posse(&["tell", &session, "Two."]);
    eventually("it can be told something", || told().code == Some(0));
    editor.until("the second answer", |said| said["params"]["update"]["content"]["text"] == "Second.");
    assert_eq!(editor.text(&session, "user_message_chunk"), "Two.");
    assert_eq!(editor.close(), Some(0));

    let background = Background::start(&person, &[]);
    background.until("resting");
    let mut editor = Editor::open(&person, &[], json!({}));
    let opens = json!({"sessionId": background.id, "cwd": person.project.path(), "mcpServers": []});
    editor.call("session/load", opens);
    person.model.push(Turn::text("Fourth."));
    assert_eq!(editor.says(&background.id, "Four."), "end_turn");
    assert!(editor.text(&background.id, "agent_message_chunk").ends_with("Fourth."));
    assert_eq!(editor.close(), Some(0));
    // It goes on without the editor.
    background.posse(&["tell", "ID", "Are you there?"]).says("on its way");
    assert_eq!(background.posse(&["stop", "ID"]).code, Some(0));
}

#[test]
fn sessions_of_one_editor_do_not_meet() {
    let person = Person::with_model(
        posse_testkit::FakeModel::by_rule_blocking(|request| {
            let text = request.json().to_string();
            let words =
                ["alpha", "beta", "gamma"].into_iter().find(|word| text.contains(word)).unwrap_or("none");
            Turn::text(format!("You said {words}.")).split_every(7)
        }),
        posse_testkit::Fixture::new().file("a", "").git(),
    );
    let mut editor = Editor::open(&person, &[], json!({}));
    let sessions = ["alpha", "beta", "gamma"].map(|word| (editor.session(&person), word));
    let prompts = sessions.each_ref().map(|(session, word)| editor.prompt(session, word));
    for (id, (session, word)) in prompts.into_iter().zip(&sessions) {
        assert_eq!(editor.stopped(id), "end_turn");
        assert_eq!(editor.text(session, "agent_message_chunk"), format!("You said {word}."));
    }
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn a_fork_is_loaded_with_the_conversation_that_it_took_up() {
    let person = Person::new([Turn::text("First."), Turn::text("Another way.")]);
    let ran = person.posse(&["run", "One."]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let forked = person.posse(&["fork", "last", "--json", "Two."]);
    let session = forked.events()[0]["session"].as_str().unwrap().to_owned();
    let mut editor = Editor::open(&person, &[], json!({}));
    let here = person.project.path();
    editor.call("session/load", json!({"sessionId": session, "cwd": here, "mcpServers": []}));
    assert_eq!(editor.text(&session, "user_message_chunk"), "One.Two.");
    assert_eq!(editor.text(&session, "agent_message_chunk"), "First.Another way.");
    assert_eq!(editor.close(), Some(0));
}
