//! The ways in which work can be shared out, as flags and as configuration.

use std::collections::BTreeSet;

use posse_testkit::Turn;
use serde_json::{Value, json};

use crate::posse::Person;

/// The names of the tools a request offers.
fn offered(request: &Value) -> BTreeSet<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_string()).collect()
}

#[test]
fn each_mode_offers_what_it_says() {
    let cases: [(&[&str], &[&str], &[&str]); 11] = [
        (&[], &["agent", "handle_read", "write_file", "shell"], &["send_message"]),
        (&["--no-agents"], &["write_file", "shell"], &["agent", "handle_read"]),
        (&["--coordinator"], &["agent", "handle_read"], &["read_file", "write_file", "shell", "todo"]),
        (&["--plan"], &["agent", "read_file", "shell"], &["write_file", "edit_file"]),
        (&["--approval", "plan"], &["agent", "read_file", "shell"], &["write_file", "edit_file"]),
        (&["--team"], &["agent", "send_message", "board"], &[]),
        (&["--surface", "sessions"], &["agent_open", "agent_eval", "agent_close"], &["agent"]),
        (&["--surface", "task"], &["agent", "read_file"], &["agent_open"]),
        (&["--surface", "spawn"], &["spawn_task"], &["agent"]),
        (&["--surface", "delegate"], &["delegate_to_agent"], &["agent"]),
        (&["--surface", "shell"], &["bash"], &["read_file", "write_file", "shell", "agent"]),
    ];
    let mut ran = 0;
    for (flags, there, missing) in cases {
        let person = Person::new([Turn::text("done")]);
        let out = person.posse(&[&["run"], flags, &["go"]].concat());
        assert_eq!(out.code, Some(0), "{out:#?}");
        let tools = offered(&person.model.requests()[0].json());
        assert!(there.iter().all(|name| tools.contains(*name)), "{flags:?}: {tools:?}");
        assert!(!missing.iter().any(|name| tools.contains(*name)), "{flags:?}: {tools:?}");
        ran += 1;
    }
    assert_eq!(ran, 11);
    let person = Person::new([]);
    let wrong = person.posse(&["run", "--surface", "sign-language", "go"]);
    assert_eq!(wrong.code, Some(2));
    wrong.says("agent, sessions, task, spawn, delegate");
}

#[test]
fn sub_agents_are_configured_and_a_project_must_be_trusted_for_it() {
    let settings = "[sub_agents]\nmax_iterations = 7\nsystem_prompt = \"Be brief.\"\nmax_tokens = 321\n";
    let start = json!({"role": "explore", "prompt": "look around here", "background": false});
    let script =
        || [Turn::call("agent", start.clone()), Turn::text("I looked around here."), Turn::text("done")];
    let person = Person::new(script());
    person.configure_more(settings);
    assert_eq!(person.posse(&["run", "go"]).code, Some(0));
    let child = person.model.requests()[1].json();
    let system = child["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with("Be brief.") && system.contains("7 turns"), "{system}");
    assert!(child.to_string().contains("321"));
    person.posse(&["config", "show"]).says("max_iterations = 7");

    let project = posse_testkit::Fixture::new().file(".posse/config.toml", settings).file("main.py", "");
    let person = Person::with_project(script(), project.git());
    let ran = person.posse(&["run", "go"]);
    ran.says("wants to set sub_agents");
    let child = person.model.requests()[1].json();
    assert!(!child["messages"][0]["content"].as_str().unwrap().contains("Be brief."));

    let person = Person::new([]);
    person.configure_more("[sub_agents]\nmax_iteration = 7\n");
    person.posse(&["run", "go"]).says("did you mean `max_iterations`?");
}
