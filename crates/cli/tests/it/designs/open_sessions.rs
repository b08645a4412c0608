//! "Persistent background sessions": opened, asked, closed; roles, forks, caps.

use posse_testkit::{Turn, asker};
use serde_json::{Value, json};

use super::{Play, Row, holds, offers};

const SURFACE: [&str; 2] = ["--surface", "sessions"];

fn open(mut arguments: Value, wanted: &'static [&'static str]) -> Row {
    let fields = arguments.as_object_mut().unwrap();
    fields.entry("prompt").or_insert(json!("Look."));
    (Turn::call("agent_open", arguments), wanted)
}

fn eval(arguments: Value, wanted: &'static [&'static str]) -> Row {
    (Turn::call("agent_eval", arguments), wanted)
}

/// Lets those go on who wait for it.
fn go() -> Turn {
    Turn::call("write_file", json!({"path": "go.txt", "content": "x"}))
}

fn wait_for_go() -> Row {
    let wait = "until [ -e go.txt ]; do sleep 0.05; done; cat go.txt";
    (Turn::call("shell", json!({"command": wait})), &["x"])
}

#[test]
fn sessions_are_opened_asked_and_closed() {
    let main = vec![
        eval(json!({"name": "ann", "message": "And now?", "wait": true}), &["ann (explore)", "it is fine"]),
        (Turn::call("agent_close", json!({"name": "ann"})), &["ann"]),
        open(json!({"name": "bob", "agent_type": "EXPLORER", "wait": true}), &["bob (explore)"]),
        open(
            json!({"type": "wizard"}),
            &["there is no role \"wizard\"", "explore", "general", "implementer"],
        ),
        open(
            json!({"type": "custom"}),
            &["The role custom has the tools you list and no others: give allowed_tools"],
        ),
        open(
            json!({"name": "cem", "type": "custom", "allowed_tools": ["read_file", "write_*"], "wait": true}),
            &["cem (custom)"],
        ),
        open(json!({"name": "dora", "fork_context": true, "wait": true}), &["dora (general)"]),
    ];
    let both = Turn::call("agent_open", json!({"name": "ann", "type": "explore", "prompt": "Look."}))
        .and_call("agent_eval", json!({"name": "ann", "wait": true}));
    let wanted: [&[&str]; 2] =
        [&["ann is at work (role explore, model fake"], &["ann (explore)", "it is fine"]];
    let played = Play::new(vec![("main", main)]).first(both, &wanted).run(&SURFACE);
    assert_eq!(played.tools_of("cem"), ["read_file", "write_file", "handle_read"]);
    // The second question goes on in the same conversation.
    holds(&played.requests_of("ann")[1]["messages"].to_string(), &["it is fine", "And now?"]);
    // A report has its five sections, in this order.
    let system = played.system_of("ann");
    let at =
        ["SUMMARY:", "CHANGES:", "EVIDENCE:", "RISKS:", "BLOCKERS:"].map(|name| system.find(name).unwrap());
    assert!(at.is_sorted(), "{system}");
    // A fork begins with its parent's bytes, all but the end of the list of messages.
    let bodies = played.person.model.requests();
    let at = bodies.iter().position(|request| asker(&request.json()) == "dora").unwrap();
    let (parent, fork) = (&bodies[at - 1], &bodies[at]);
    let shared = parent.body.strip_suffix(b"]}").unwrap();
    assert!(fork.body.starts_with(shared), "{}\n{}", parent.json(), fork.json());
    let role_and_task = ["You are dora, a general sub-agent of main", "Look."];
    holds(&fork.json()["messages"].as_array().unwrap().last().unwrap().to_string(), &role_and_task);
}

#[test]
fn roles_have_their_rights_and_postures() {
    // What each may be offered, and what not.
    let cases: [(&str, &str, &[&str], &[&str]); 6] = [
        ("general", "carry through", &["write_file", "shell", "agent_open"], &[]),
        ("explore", "find", &["read_file", "grep", "shell"], &["write_file", "edit_file"]),
        ("plan", "plan", &["read_file", "shell"], &["write_file", "edit_file"]),
        ("review", "change", &["read_file"], &["write_file", "edit_file", "shell"]),
        ("implementer", "change", &["write_file", "edit_file", "shell"], &[]),
        ("verifier", "check", &["read_file", "shell"], &["write_file", "edit_file"]),
    ];
    let name = |role: &str| json!({"name": format!("the-{role}"), "type": role, "wait": true});
    let main = cases.iter().map(|(role, ..)| open(name(role), &["it is fine"])).collect();
    let played = Play::new(vec![("main", main)]).run(&SURFACE);
    for (role, posture, there, missing) in cases {
        let agent = format!("the-{role}");
        offers(&played.tools_of(&agent), there, missing);
        holds(&played.system_of(&agent).to_lowercase(), &[posture]);
    }
}

#[test]
fn over_the_cap_they_queue() {
    let main = vec![
        open(json!({"name": "ann"}), &["ann is at work"]),
        open(json!({"name": "bob"}), &["bob waits for its turn"]),
        (go(), &["go.txt"]),
        eval(json!({"wait": true, "until": "all"}), &[]),
    ];
    let play = Play::new(vec![("main", main), ("ann", vec![wait_for_go()])]);
    let played = play.settings("[subagents]\nmax_concurrent = 1\n").run(&SURFACE);
    let told = played.requests_of("main").pop().unwrap()["messages"].to_string();
    holds(&told, &["<report from=\\\"ann\\\">", "<report from=\\\"bob\\\">"]);
}

#[test]
fn notes_of_sub_agents_are_not_asked_about() {
    let main = vec![open(json!({"name": "ann", "wait": true}), &["ann (general)"])];
    let remember = Turn::call("remember", json!({"text": "Tabs, not spaces."}));
    let played = Play::new(vec![("main", main), ("ann", vec![(remember, &[])])]).run(&[
        "--surface",
        "sessions",
        "--approval",
        "ask",
    ]);
    assert!(!played.ran.stderr.contains("denied"), "{:#?}", played.ran);
    played.person.posse(&["memory", "list"]).says("Tabs, not spaces.");
}
