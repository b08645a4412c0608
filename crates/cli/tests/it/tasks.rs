//! The agents of a session, as `posse tasks` tells of them.

use posse_testkit::Turn;
use serde_json::json;

use crate::crew::Crew;
use crate::posse::{Person, Ran, eventually};

#[test]
fn the_agents_of_a_session_are_told() {
    let person = Person::new([
        Turn::call("read_file", json!({"path": "main.py"})),
        Turn::text("It prints hi."),
        Turn::text("Second."),
    ]);
    assert_eq!(person.posse(&["tasks"]).code, Some(2), "there is no session yet");
    let first = person.posse(&["run", "--json", "what does it print?"]).events();
    person.posse(&["run", "second task"]);

    let id = first[0]["session"].as_str().unwrap();
    let tasks = person.posse(&["tasks", &id[28..]]);
    assert_eq!(tasks.code, Some(0));
    let lines = tasks.stdout.lines().collect::<Vec<_>>();
    let nothing = "no commands run; no tests run; no commits; no sub-agents; no files changed";
    assert_eq!(lines[2..], ["", "measured", &format!("  main: {nothing}")], "{tasks:#?}");
    assert_eq!(lines[0], format!("session {}  what does it print?", &id[28..]));
    assert!(lines[1].starts_with("✓ main  2 turns · 1 tool call · "), "{tasks:#?}");
    assert!(lines[1].contains(" · 220 tokens · $0.0"), "{tasks:#?}");

    person.posse(&["tasks"]).says("second task");
    let ran = person.posse(&["tasks", "ffff"]);
    assert_eq!(ran.code, Some(2));
    ran.says("ffff");
}

#[test]
fn how_long_an_agent_has_worked_is_told_while_it_works() {
    let crew = Crew::new();
    let person = &crew.person;
    let child = person.spawn(&["run", "share it out"]);
    eventually("ann and bob at work", || crew.at_work());
    let of = |name: &str| {
        let tasks = person.posse(&["tasks", "--json"]).events();
        tasks.into_iter().find(|agent| agent["name"] == name).unwrap()
    };
    let first = of("ann")["elapsed_ms"].as_u64().unwrap();
    eventually("that it is later", || of("ann")["elapsed_ms"].as_u64() > Some(first));
    assert_eq!((&of("ann")["duration_ms"], &of("ann")["status"]), (&json!(null), &json!("running")));
    let shown = person.posse(&["tasks"]).stdout;
    let line = shown.lines().find(|line| line.contains("ann")).unwrap();
    let parts = line.split(" · ").map(str::trim).collect::<Vec<_>>();
    assert!(parts.iter().any(|part| part.ends_with(" s")), "{shown}");

    crate::posse::signal(&child, "INT");
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:#?}");
    assert_eq!(of("ann")["elapsed_ms"], of("ann")["duration_ms"]);
    assert!(of("ann")["duration_ms"].is_u64());
}

#[test]
fn programs_get_one_object_an_agent() {
    let person = Person::new([Turn::text("Done.")]);
    let events = person.posse(&["run", "--json", "go"]).events();
    let agents = person.posse(&["tasks", "last", "--json"]).events();
    assert_eq!(agents.len(), 1);
    let agent = &agents[0];
    assert_eq!(agent["session"], events[0]["session"]);
    assert_eq!(agent["agent"], events[0]["agent"]);
    assert_eq!(agent["parent"], json!(null));
    assert_eq!((&agent["name"], &agent["status"]), (&json!("main"), &json!("completed")));
    assert_eq!(agent["turns"], 1);
    assert_eq!(agent["warnings"], json!([]));
    assert!(agent["facts"].as_str().unwrap().starts_with("no commands run; "), "{agent}");
    assert_eq!(agent["subtree"]["agents"], 1);
    assert_eq!(agent["subtree"]["usage"], agent["usage"]);
    assert_eq!(agent["subtree"]["cost_usd"], agent["cost_usd"]);
}
