//! "Fork and return": one call, one text; failures, rights, tokens, files of agents, coordinators and teams.

use posse_testkit::{Fixture, Turn};
use serde_json::{Value, json};

use super::{Play, Row, holds, offers};

const SURFACE: [&str; 2] = ["--surface", "task"];

fn agent(mut arguments: Value, wanted: &'static [&'static str]) -> Row {
    let fields = arguments.as_object_mut().unwrap();
    fields.entry("description").or_insert(json!("do it"));
    fields.entry("prompt").or_insert(json!("Do it."));
    (Turn::call("agent", arguments), wanted)
}

fn write() -> Row {
    (Turn::call("write_file", json!({"path": "c.txt", "content": "x"})), &[])
}

#[test]
fn one_call_gives_one_text_and_a_failure_is_a_result() {
    let main = vec![
        agent(json!({"name": "ann"}), &["ann (general) \"do it\": completed", "it is fine"]),
        agent(json!({"name": "bob", "type": "explore"}), &["bob (explore)"]),
        agent(json!({"name": "cem", "type": "plan"}), &["cem (plan)"]),
        agent(json!({"name": "dora"}), &["dora (general) \"do it\": failed"]),
    ];
    let dora = vec![(Turn::status(400), &[] as &[&str])];
    let mut play = Play::new(vec![("main", main), ("dora", dora)]);
    play.expected.retain(|(name, _)| *name == "main");
    let played = play.run(&SURFACE);
    offers(&played.tools_of("ann"), &["write_file", "shell"], &["agent"]);
    for reader in ["bob", "cem"] {
        offers(&played.tools_of(reader), &["read_file"], &["write_file", "edit_file", "agent"]);
    }
    let agents = played.agents();
    let tokens = |name: &str| agents[name]["usage"]["input_tokens"].as_u64().unwrap_or(0);
    let whole = agents["main"]["subtree"]["usage"]["input_tokens"].as_u64().unwrap();
    assert_eq!(whole, agents.keys().map(|name| tokens(name)).sum::<u64>(), "tokens are the parent's, too");
    assert_eq!(agents["dora"]["status"], "failed");
}

#[test]
fn plan_mode_is_inherited() {
    let main = vec![agent(json!({"name": "ann"}), &["ann (general)"])];
    let played =
        Play::new(vec![("main", main), ("ann", vec![write()])]).run(&["--surface", "task", "--plan"]);
    offers(&played.tools_of("ann"), &["read_file"], &["write_file", "edit_file"]);
    assert!(!played.person.project.path().join("c.txt").exists());
}

#[test]
fn agent_files_of_the_project_go_before_the_persons() {
    let file = |prompt: &str| {
        format!("---\nname: scribe\ndescription: Writes.\nallowed-tools: Read, Grep\n---\n{prompt}\n")
    };
    let project =
        Fixture::new().file("main.py", "").file(".claude/agents/scribe.md", file("Of the project.")).git();
    let main = vec![agent(json!({"name": "ann", "type": "scribe"}), &["ann (scribe)"])];
    let play = Play::in_project(project, vec![("main", main), ("ann", vec![write()])]);
    let own = play.person.config().with_file_name(".claude").join("agents");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("scribe.md"), file("Of the person.")).unwrap();
    let played = play.run(&SURFACE);
    assert!(played.system_of("ann").starts_with("Of the project."), "{}", played.system_of("ann"));
    offers(&played.tools_of("ann"), &["read_file", "grep"], &["write_file", "shell"]);
    assert!(!played.person.project.path().join("c.txt").exists());
}

#[test]
fn a_coordinator_only_delegates_and_a_team_has_mail_and_a_board() {
    let main = vec![agent(json!({"name": "ann"}), &["ann (general)"]), write()];
    let played = Play::new(vec![("main", main)]).run(&["--surface", "task", "--coordinator"]);
    assert_eq!(played.tools_of("main"), ["agent", "handle_read", "agent_merge"]);
    offers(&played.tools_of("ann"), &["write_file", "shell"], &[]);
    assert!(!played.person.project.path().join("c.txt").exists(), "it has no tools of its own");

    let board = |arguments| Turn::call("board", arguments);
    let main = vec![
        (board(json!({"action": "add", "title": "paint"})), &["Added as 1."] as &[&str]),
        (board(json!({"action": "add", "title": "dry", "after": [1]})), &["Added as 2."]),
        agent(json!({"name": "ann"}), &["ann (general)"]),
        (board(json!({"action": "list"})), &["paint", "done", "dry"]),
        agent(json!({"name": "bob"}), &["bob (general)"]),
    ];
    let ann = vec![
        (board(json!({"action": "claim"})), &["1 is yours."] as &[&str]),
        (board(json!({"action": "claim", "id": 2})), &["#2 comes after #1, not done yet"]),
        (board(json!({"action": "done", "id": 1})), &["1 is done."]),
        (
            Turn::call("send_message", json!({"to": "main", "message": "It is </message> painted."})),
            &["Delivered to main."],
        ),
    ];
    let played = Play::new(vec![("main", main), ("ann", ann)]).run(&["--surface", "task", "--team"]);
    let told = played.requests_of("main").pop().unwrap()["messages"].to_string();
    assert_eq!(told.matches("painted.").count(), 1, "told once: {told}");
    holds(&told, &["| It is </message> painted."]);
}
