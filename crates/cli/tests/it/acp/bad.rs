//! Editors that are broken or hostile: each gets a clear error, and everything goes on.

use std::io::Read as _;
use std::process::Stdio;

use posse_testkit::Turn;
use serde_json::{Value, json};

use super::editor::Editor;
use crate::posse::{Person, eventually, ports_of};

#[test]
fn nobody_listens_at_a_port() {
    let person = Person::new([Turn::text("Done.")]);
    let mut editor = Editor::open(&person, &[], json!({}));
    let session = editor.session(&person);
    assert_eq!(editor.says(&session, "Do it."), "end_turn");
    assert_eq!(ports_of(editor.process()), Vec::<String>::new());
}

#[test]
fn bad_messages_are_answered_and_the_connection_goes_on() {
    let person = Person::new([Turn::text("Still here.")]);
    let mut editor = Editor::start(&person, &[]);
    let early = editor.refused("session/new", json!({"cwd": "/", "mcpServers": []}));
    assert_eq!(early["code"], -32600, "before initialize: {early}");
    for version in [json!([1]), json!(null), json!(-1)] {
        let refused = editor.refused("initialize", json!({"protocolVersion": version}));
        assert_eq!(refused["code"], -32602, "{version}");
    }
    let said =
        editor.call("initialize", json!({"protocolVersion": 99_999_999, "clientCapabilities": {"fs": 7}}));
    assert_eq!(said["protocolVersion"], 1, "ours, whatever they speak");
    assert_eq!(editor.refused("initialize", json!({"protocolVersion": 1}))["code"], -32600);

    let null_id = |editor: &mut Editor, line: &[u8], code: i64| {
        let before = editor.heard.len();
        editor.write(line);
        editor.write(b"\n");
        // A request behind it shows that it was answered.
        editor.refused("nonsense/method", json!({}));
        let answered =
            editor.heard[before..].iter().any(|said| said["id"].is_null() && said["error"]["code"] == code);
        assert!(answered, "{}", String::from_utf8_lossy(&line[..line.len().min(60)]));
    };
    null_id(&mut editor, b"{not json", -32700);
    null_id(&mut editor, b"\xff\xfe\x00", -32700);
    null_id(&mut editor, "[".repeat(100_000).as_bytes(), -32700);
    null_id(&mut editor, b"[]", -32600);
    null_id(&mut editor, b"{\"jsonrpc\":\"1.0\",\"method\":\"initialize\"}", -32600);
    null_id(&mut editor, b"7", -32600);

    let folder = person.project.path();
    let cases = [
        ("nonsense", json!({}), -32601),
        ("session/fork", json!({}), -32601),
        ("session/new", json!({}), -32602),
        ("session/new", json!({"cwd": 5, "mcpServers": []}), -32602),
        ("session/new", json!({"cwd": "relative", "mcpServers": []}), -32602),
        ("session/new", json!({"cwd": "/no/such/folder", "mcpServers": []}), -32602),
        ("session/new", json!({"cwd": folder, "mcpServers": [], "additionalDirectories": ["/tmp"]}), -32602),
        ("session/prompt", json!({"sessionId": "x", "prompt": []}), -32002),
        ("session/prompt", json!([]), -32602),
        ("session/load", json!({"sessionId": "../../etc", "cwd": folder, "mcpServers": []}), -32002),
        ("session/load", json!({"sessionId": "last", "cwd": folder, "mcpServers": []}), -32002),
        ("session/set_mode", json!({"sessionId": "x", "modeId": "ask"}), -32002),
        ("session/list", json!({"cursor": "nonsense"}), -32602),
    ];
    for (method, params, code) in cases {
        let refused = editor.refused(method, params.clone());
        assert_eq!(refused["code"], code, "{method} {params}: {refused}");
    }
    // What nobody asked for is passed over.
    editor.send(&json!({"jsonrpc": "2.0", "id": 12_345, "result": {}}));
    editor.notify("session/cancel", json!({"sessionId": "nobody"}));
    editor.notify("session/cancel", json!(7));
    editor.notify("$/whatever", json!({}));

    let session = editor.session(&person);
    assert_eq!(editor.refused("session/prompt", json!({"sessionId": session, "prompt": []}))["code"], -32602);
    assert_eq!(editor.says(&session, "Are you there?"), "end_turn");
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn two_prompts_at_once_and_a_model_that_fails() {
    let person = Person::new([
        Turn::text("Slow.").stall_after(0),
        Turn::status_body(401, json!({"error": {"message": "wrong key"}})),
        Turn::text("Better."),
    ]);
    let mut editor = Editor::open(&person, &[], json!({}));
    let session = editor.session(&person);
    let first = editor.prompt(&session, "One.");
    eventually("the model is asked", || person.model.requests().len() == 1);
    let second = editor.prompt(&session, "Two.");
    let refused = editor.answer(second);
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.stopped(first), "cancelled");

    let failed = editor.prompt(&session, "Three.");
    let failed = editor.answer(failed);
    assert_eq!(failed["error"]["code"], -32603);
    assert!(failed["error"]["message"].as_str().unwrap().contains("401"), "{failed}");
    assert_eq!(editor.says(&session, "Four."), "end_turn", "the session is still there");
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn without_a_model_everything_works_but_the_prompt() {
    let person = Person::new([]);
    person.configure("");
    let mut editor = Editor::open(&person, &[], json!({}));
    let session = editor.session(&person);
    editor.call("authenticate", json!({"methodId": "whatever"}));
    editor.call("session/list", json!({}));
    editor.call("session/set_mode", json!({"sessionId": session, "modeId": "ask"}));
    let failed = editor
        .refused("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": "Hi"}]}));
    assert_eq!(failed["code"], -32603);
    assert!(failed["message"].as_str().unwrap().contains("model"), "{failed}");
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn a_line_without_end_takes_no_memory() {
    let person = Person::new([]);
    let mut editor = Editor::open(&person, &[], json!({}));
    let memory_kb = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap()
    };
    let before = memory_kb(editor.process().id());
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..256 {
        editor.write(&piece);
    }
    editor.write(b"\n");
    let refused = editor.until("an error", |said| said["error"]["code"] == -32700);
    assert!(refused["error"]["data"].as_str().unwrap().contains("33554432"), "{refused}");
    editor.session(&person);
    let grown = memory_kb(editor.process().id()) - before;
    assert!(grown < 160 << 10, "{grown} KiB more");
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn an_editor_that_does_not_read_blocks_nobody() {
    // More than a pipe takes.
    let long = "All work and no play makes a long answer. ".repeat(5_000);
    let person = Person::new([Turn::text(&long).split_every(1 << 12)]);
    let mut command = person.command(&["acp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut typing = child.stdin.take().unwrap();
    let send = |typing: &mut std::process::ChildStdin, message: Value| {
        use std::io::Write as _;
        writeln!(typing, "{message}").unwrap();
    };
    let request = |id: u64, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    send(&mut typing, request(1, "initialize", json!({"protocolVersion": 1})));
    send(&mut typing, request(2, "session/new", json!({"cwd": person.project.path(), "mcpServers": []})));
    let mut output = child.stdout.take().unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while head.iter().filter(|byte| **byte == b'\n').count() < 2 {
        output.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let opened: Value = serde_json::from_slice(head.split(|byte| *byte == b'\n').nth(1).unwrap()).unwrap();
    let session = opened["result"]["sessionId"].as_str().unwrap().to_owned();
    let prompt = |text: &str| json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    // From here on nothing is read. The pipe fills, and the agent works on.
    send(&mut typing, request(3, "session/prompt", prompt("Talk.")));
    let listed = || person.posse(&["sessions", "list"]).stdout;
    eventually("the answer is on record", || listed().contains("resting"));
    // It vanishes without ever having read.
    drop((typing, output));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(listed().contains("completed"), "{}", listed());
}
