//! A conversation: messages, thoughts, calls with diffs, the plan, usage, modes and options, and what of it is there later.

use posse_testkit::{Fixture, Turn};
use serde_json::{Value, json};

use super::editor::Editor;
use crate::posse::Person;

fn person(turns: impl IntoIterator<Item = Turn>) -> Person {
    let person = Person::with_project(turns, Fixture::new().file("main.py", "print('hi')\n").git());
    let config = std::fs::read_to_string(person.config()).unwrap();
    person.configure(&config.replace("price =", "context_window = 100000\nprice ="));
    person
}

#[test]
fn a_prompt_is_answered_with_thoughts_calls_diffs_and_usage() {
    let person = person([
        Turn::call("read_file", json!({"path": "main.py"})).and_text("I look first.").reasoning("Hm."),
        Turn::call("write_file", json!({"path": "new.txt", "content": "one\ntwo\n"})).and_call(
            "todo",
            json!({"items": [{"text": "write", "status": "done"}, {"text": "test", "status": "doing"}]}),
        ),
        Turn::call("shell", json!({"command": "echo out; exit 3"})),
        Turn::text("All done."),
    ]);
    let mut editor = Editor::open(&person, &[], json!({}));
    let session = editor.session(&person);
    assert_eq!(editor.says(&session, "Do it."), "end_turn");
    assert_eq!(editor.text(&session, "agent_message_chunk"), "I look first.All done.");
    assert_eq!(editor.text(&session, "agent_thought_chunk"), "Hm.");
    assert_eq!(editor.text(&session, "user_message_chunk"), "", "the editor knows what it has sent");

    let calls = editor.updates(&session).filter(|update| update["sessionUpdate"] == "tool_call");
    let calls = calls.map(|call| (call["kind"].clone(), call["status"].clone())).collect::<Vec<_>>();
    let begun = |kind: &str| (json!(kind), json!("in_progress"));
    assert!(
        calls.contains(&begun("read")) && calls.contains(&begun("edit")) && calls.contains(&begun("execute")),
        "{calls:?}"
    );
    let ended = |status: &str| {
        let of_status =
            |update: &&Value| update["sessionUpdate"] == "tool_call_update" && update["status"] == status;
        editor.updates(&session).filter(of_status).collect::<Vec<_>>()
    };
    let failed = ended("failed");
    assert!(failed.iter().any(|update| update.to_string().contains("out")), "{failed:?}");
    let file = person.project.path().canonicalize().unwrap().join("new.txt");
    let diff = ended("completed").into_iter().find_map(|update| {
        update["content"].as_array()?.iter().find(|content| content["type"] == "diff").cloned()
    });
    let diff = diff.unwrap();
    assert_eq!((&diff["newText"], diff.get("oldText")), (&json!("one\ntwo\n"), None), "{diff}");
    assert_eq!(diff["path"], json!(file));

    let plan = editor.update(&session, "plan", |_| true);
    assert_eq!(plan["entries"][1], json!({"content": "test", "priority": "medium", "status": "in_progress"}));
    let usage = editor.update(&session, "usage_update", |_| true);
    assert_eq!(usage["size"], 100_000);
    assert!(
        usage["used"].as_u64().unwrap() > 0 && usage["cost"]["amount"].as_f64().unwrap() > 0.0,
        "{usage}"
    );
    let info = editor.update(&session, "session_info_update", |_| true);
    assert_eq!(info["title"], "Do it");
    let commands = editor.update(&session, "available_commands_update", |_| true);
    assert!(commands.to_string().contains("compact"), "{commands}");
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn content_of_all_kinds_reaches_the_model() {
    let person = person([Turn::text("Seen."), Turn::text("Seen again.")]);
    person.configure(
        &std::fs::read_to_string(person.config()).unwrap().replace("price =", "images = true\nprice ="),
    );
    let mut editor = Editor::open(&person, &[], json!({"fs": {"readTextFile": true}}));
    let session = editor.session(&person);
    let png = base64_png();
    let file = format!("file://{}/main.py", person.project.path().canonicalize().unwrap().display());
    let prompt = json!([
        {"type": "text", "text": "Compare "},
        {"type": "resource_link", "uri": file, "name": "main.py"},
        {"type": "resource", "resource": {"uri": "zed:///diagnostics", "text": "error: it is late"}},
        {"type": "image", "mimeType": "image/png", "data": png},
    ]);
    let id = editor.ask("session/prompt", json!({"sessionId": session, "prompt": prompt}));
    assert_eq!(editor.stopped(id), "end_turn");
    assert!(!editor.heard.iter().any(|said| said["method"] == "fs/read_text_file"), "nobody asked for that");
    let sent = person.model.requests().last().unwrap().json().to_string();
    for part in ["Compare main.py", "error: it is late", &png[..40]] {
        assert!(sent.contains(part), "{part}: {sent}");
    }
    assert_eq!(editor.close(), Some(0));

    // Where the person wants it, what is mentioned is told as it is in the editor.
    person.configure_more("[acp]\nclient_files = true\n");
    let mut editor = Editor::open(&person, &[], json!({"fs": {"readTextFile": true}}));
    let session = editor.session(&person);
    let prompt = json!([{"type": "resource_link", "uri": file, "name": "main.py"}]);
    let id = editor.ask("session/prompt", json!({"sessionId": session, "prompt": prompt}));
    let asked = editor.asks("fs/read_text_file");
    assert_eq!(asked["params"]["path"], json!(person.project.path().canonicalize().unwrap().join("main.py")));
    editor.reply(&asked, json!({"content": "print('not saved')"}));
    assert_eq!(editor.stopped(id), "end_turn");
    assert!(person.model.requests().last().unwrap().json().to_string().contains("print('not saved')"));
    assert_eq!(editor.close(), Some(0));
}

/// A picture.
fn base64_png() -> String {
    let picture = posse_testkit::pictures::png(40, 30);
    posse_protocol::Attachment::new("a.png", &picture).unwrap().data.to_string()
}

#[test]
fn modes_and_options_are_set_before_and_while_it_runs() {
    let person = person([
        Turn::call("write_file", json!({"path": "a.txt", "content": "x"})),
        Turn::text("I may not."),
        Turn::text("Other."),
    ]);
    person.configure_more(&format!(
        "[models.other]\nendpoint = \"{}\"\nmodel = \"other-model\"\n",
        person.model.base_url()
    ));
    let mut editor = Editor::open(&person, &["--model", "fake"], json!({}));
    let session = editor.session(&person);
    let set = |id: &str, value: &str| json!({"sessionId": session, "configId": id, "value": value});
    editor.call("session/set_mode", json!({"sessionId": session, "modeId": "plan"}));
    editor.update(&session, "config_option_update", |update| {
        update["configOptions"][0]["currentValue"] == "plan"
    });
    let options = editor.call("session/set_config_option", set("surface", "spawn"));
    assert_eq!(options["configOptions"][2]["currentValue"], "spawn");
    for (id, value) in
        [("surface", "nonsense"), ("model", "nonsense"), ("mode", "nonsense"), ("colour", "red")]
    {
        assert_eq!(editor.refused("session/set_config_option", set(id, value))["code"], -32602, "{id}");
    }
    assert_eq!(
        editor.refused("session/set_mode", json!({"sessionId": session, "modeId": "no"}))["code"],
        -32602
    );
    assert_eq!(editor.says(&session, "Write."), "end_turn");
    assert!(!person.project.path().join("a.txt").exists(), "the mode was plan");
    let sent = person.model.requests()[0].json().to_string();
    assert!(sent.contains("\"name\":\"spawn_task\""), "the surface is spawn: {sent}");

    assert_eq!(editor.refused("session/set_config_option", set("surface", "agent"))["code"], -32602);
    let options = editor.call("session/set_config_option", set("model", "other"));
    assert_eq!(options["configOptions"][1]["currentValue"], "other");
    editor.call("session/set_config_option", set("mode", "full"));
    editor.update(&session, "current_mode_update", |update| update["currentModeId"] == "full");
    assert_eq!(editor.says(&session, "And now?"), "end_turn");
    assert_eq!(person.model.requests().last().unwrap().json()["model"], "other-model");
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn commands_with_a_slash_are_carried_out() {
    let person = person([
        Turn::call("write_file", json!({"path": "a.txt", "content": "x"})),
        Turn::text("Written."),
        Turn::text("Reviewed."),
    ]);
    let own = person.home.path().join("commands");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(
        own.join("look.md"),
        "---\ndescription: Looks at something\n---\nLook at $ARGUMENTS closely.",
    )
    .unwrap();
    let mut editor = Editor::open(&person, &[], json!({}));
    let session = editor.session(&person);
    let commands = editor.update(&session, "available_commands_update", |_| true);
    assert!(commands.to_string().contains("Looks at something"), "{commands}");
    assert_eq!(editor.says(&session, "/undo"), "end_turn");
    assert_eq!(editor.text(&session, "agent_message_chunk"), "Nothing has happened in this session yet.");
    editor.says(&session, "Write.");
    assert!(person.project.path().join("a.txt").exists());
    for command in ["/undo", "/cost", "/context", "/rename A new name", "/redo"] {
        assert_eq!(editor.says(&session, command), "end_turn", "{command}");
    }
    assert!(person.project.path().join("a.txt").exists(), "undone and redone");
    let said = editor.text(&session, "agent_message_chunk");
    for part in ["a.txt", "2 turns", "tokens", "A new name"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(person.model.requests().len(), 2, "no model was asked");
    assert_eq!(editor.says(&session, "/look the door"), "end_turn");
    assert!(person.model.requests().last().unwrap().json().to_string().contains("Look at the door closely."));
    assert_eq!(editor.close(), Some(0));
}

/// A server that gives back what it was given.
const SERVER: &str = r#"
import json, os, sys
for line in sys.stdin:
    call = json.loads(line)
    if "id" not in call:
        continue
    method = call["method"]
    if method == "initialize":
        result = {"protocolVersion": call["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "word", "description": "Says the word", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "The word is " + os.environ["WORD"][::-1] + "."}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
"#;

#[test]
fn servers_of_the_editor_are_the_persons() {
    let find = Turn::call("tool_call", json!({"tool": "mcp__my_words__word", "arguments": {}}));
    let person = person([find, Turn::text("Done.")]);
    let server = person.project.path().join("server.py");
    std::fs::write(&server, SERVER).unwrap();
    let mut editor = Editor::open(&person, &[], json!({}));
    let stdio = |name: &str| json!({"name": name, "command": "python3", "args": [server], "env": [{"name": "WORD", "value": "tsurt"}]});
    let servers = json!([stdio("my words")]);
    let opened = editor.call("session/new", json!({"cwd": person.project.path(), "mcpServers": servers}));
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    let id = editor.prompt(&session, "Ask it.");
    assert_eq!(editor.stopped(id), "end_turn");
    let sent = person.model.requests().last().unwrap().json().to_string();
    assert!(sent.contains("The word is trust."), "{sent}");
    let bad = [
        json!([{"type": "sse", "name": "x", "url": "https://x.example/sse", "headers": []}]),
        json!([{"type": "http", "name": "x", "url": "http://far.example/", "headers": []}]),
        json!([{"name": "x", "command": "", "args": [], "env": []}]),
    ];
    for servers in bad {
        let refused =
            editor.refused("session/new", json!({"cwd": person.project.path(), "mcpServers": servers}));
        assert_eq!(refused["code"], -32602, "{refused}");
    }
    assert_eq!(editor.close(), Some(0));
}
