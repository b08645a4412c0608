//! Clients that do not behave: each is told so where it can be told, and the server goes on.

use posse_testkit::Turn;
use serde_json::json;

use super::talk::Talk;
use crate::posse::{Person, eventually, ports_of};

#[test]
fn nobody_listens_at_a_port() {
    let person = Person::new([Turn::text("Done.")]);
    let mut talk = Talk::newest(&person, &[], json!({}));
    talk.tool("run_task", json!({"prompt": "Do it."}));
    assert_eq!(ports_of(talk.process()), Vec::<String>::new());
    let served = person.command(&["serve", "--json"]).stdout(std::process::Stdio::piped()).spawn();
    let mut served = served.unwrap();
    eventually("a server listens", || !ports_of(&served).is_empty());
    served.kill().unwrap();
    served.wait().unwrap();
}

#[test]
fn what_is_no_message_is_answered_and_passed_over() {
    let person = Person::new([Turn::text("Still here.")]);
    let mut talk = Talk::newest(&person, &[], json!({}));
    // Before anything else, and not the beginning that the protocol wants.
    talk.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    let long = "x".repeat(5 << 20);
    let cases = [
        ("{broken", -32700),
        ("\u{0}\u{1}", -32700),
        (long.as_str(), -32600),
        ("[1, 2]", -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#, -32602),
    ];
    for (line, code) in cases {
        talk.send(line);
        let answer = talk.next();
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    talk.send("");
    let (mut line, id) = talk.request("tools/list", json!({}));
    line = line.replace("2026-07-28", "2099-01-01");
    talk.send(&line);
    let answer = talk.next();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(id), &json!(-32022)),
        "another version: {answer}"
    );
    for (method, params, code) in [
        ("no/such/method", json!({}), -32601),
        ("tools/call", json!({ "name": "no_such_tool", "arguments": {} }), -32602),
        ("tools/call", json!({ "arguments": {} }), -32602),
        ("tasks/get", json!({ "taskId": "x" }), -32021),
    ] {
        let answer = talk.ask(method, params);
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
    let said = talk.refused("run_task", json!({ "prompt": "x".repeat(200 << 10) }));
    assert!(said.contains("The prompt has 204800 bytes"), "{said}");
    let said = talk.refused("status", json!({ "task": "../../etc" }));
    assert!(said.contains("There is no task"), "{said}");
    let look = talk.tool("run_task", json!({ "prompt": "Are you there?" }));
    assert_eq!(look["structuredContent"]["state"], "completed", "{look}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_flood_that_nobody_reads_is_answered_in_the_end() {
    let person = Person::new([]);
    let mut talk = Talk::newest(&person, &[], json!({}));
    let many = 1_000;
    let lines = (0..many).map(|_| talk.request("tools/list", json!({})).0).collect::<Vec<_>>();
    for line in &lines {
        talk.send(line);
    }
    let mut answered = (0..many).map(|_| talk.next()["id"].as_u64().unwrap()).collect::<Vec<_>>();
    answered.sort_unstable();
    assert_eq!(answered, (1..=many).collect::<Vec<_>>());
    assert_eq!(talk.end(), Some(0));
}
