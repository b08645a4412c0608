//! Sessions that ended under their agents, and how they go on.

use std::collections::BTreeMap;

use posse_testkit::Turn;
use serde_json::{Value, json};

use crate::crew::Crew;
use crate::posse::{Person, Ran, eventually, signal};

/// Ids and statuses of the agents of the newest session, by name.
fn agents(person: &Person) -> BTreeMap<String, (Value, String)> {
    let agents = person.posse(&["tasks", "last", "--json"]).events();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    agents
        .iter()
        .map(|agent| (text(&agent["name"]), (agent["agent"].clone(), text(&agent["status"]))))
        .collect()
}

/// Runs until both sub-agents are at work, then kills it without a word.
fn killed() -> Crew {
    let crew = Crew::new();
    let mut child = crew.person.spawn(&["run", "share it out"]);
    eventually("both are at work", || crew.at_work());
    signal(&child, "KILL");
    assert_eq!(child.wait().unwrap().code(), None);
    crew
}

#[test]
fn after_kill_9_agents_are_interrupted_and_resume_goes_on_to_the_end() {
    let crew = killed();
    let person = &crew.person;
    let before = agents(person);
    assert_eq!(before.len(), 3, "{before:?}");
    for (name, (_, status)) in &before {
        assert_eq!(status, "interrupted", "{name} does not run");
    }
    let tasks = person.posse(&["tasks"]);
    tasks.says("interrupted: 3 agents do not run now; posse resume ");
    assert!(!tasks.stdout.contains('●') && !tasks.stdout.contains("running"), "{tasks:#?}");
    person.posse(&["sessions", "list"]).says("go on  posse resume ");
    person.posse(&["sessions", "show", "last"]).says("… no result");

    crew.let_go_on();
    let ran = person.posse(&["resume"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "All is done.\n"), "{ran:#?}");
    for part in ["‖ main", "go on      ann, bob", "no result  ann: shell touch ann-began", "[bob] goes on"]
    {
        ran.says(part);
    }
    let after = agents(person);
    for (name, (id, status)) in &after {
        assert_eq!((id, status.as_str()), (&before[name].0, "completed"), "{name} is the same agent");
    }
    let asked = person.model.requests();
    let anns = asked.iter().filter(|r| posse_testkit::asker(&r.json()) == "ann").collect::<Vec<_>>();
    assert_eq!(anns.len(), 2, "her command was not asked for again");
    let told = anns[1].json()["messages"].to_string();
    assert!(told.contains("nterrupted"), "she is told that nobody knows what came of it: {told}");
    let shown = person.posse(&["sessions", "show", "last"]);
    shown.says("the session was interrupted with 3 agents that had not ended");
    shown.says("the session goes on");
    person.posse(&["tasks"]).says("✓ main");
}

#[test]
fn the_interrupted_one_stands_apart_and_is_found_behind_newer_ones() {
    let crew = killed();
    let person = &crew.person;
    crew.let_go_on();
    let newer = person.posse(&["run", "another task"]);
    assert_eq!(newer.code, Some(0), "{newer:#?}");
    let tasks = person.posse(&["tasks"]).stdout;
    let (own, apart) =
        tasks.split_once("\ninterrupted, not running; go on with: posse resume SESSION\n").unwrap();
    assert!(own.contains("another task") && !own.contains("share it out"), "{tasks}");
    assert!(apart.contains("share it out") && apart.lines().count() == 1, "{tasks}");
    let ran = person.posse(&["resume", "-q"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "All is done.\n"), "{ran:#?}");
    let sessions = person.posse(&["sessions", "list", "--json"]).events();
    let statuses = sessions.iter().map(|session| session["status"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(statuses, ["completed", "completed"]);
}

#[test]
fn json_begins_where_the_session_goes_on() {
    let crew = killed();
    let person = &crew.person;
    crew.let_go_on();
    let ran = person.posse(&["resume", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
    let events = ran.events();
    assert_eq!(events[0]["type"], "session_resumed");
    assert_eq!(events.last().unwrap()["report"]["text"], "All is done.");
    let whole = person.posse(&["sessions", "show", "last", "--json"]).events();
    assert_eq!(whole[whole.len() - events.len()..], events, "the rest of the record, without a gap");
}

#[test]
fn detached_agents_wait_to_be_resumed_and_the_exit_code_says_so() {
    let crew = Crew::new();
    let person = &crew.person;
    let ran = person.posse(&["run", "--detach", "share it out"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(5), "They are at it.\n"), "{ran:#?}");
    ran.says("not done: 2 sub-agents are left where they are; go on with: posse resume ");
    for (name, (_, status)) in agents(person) {
        assert_eq!(status, "interrupted", "{name}");
    }
    person.posse(&["sessions", "show", "last"]).says("the session was left with 3 agents");

    crew.let_go_on();
    let ran = person.posse(&["resume", "-q"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "All is done.\n"), "{ran:#?}");
    // Nothing but what was measured is said beside the answer.
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:#?}");
    assert!(ran.stderr.contains("2 sub-agents: ann completed, bob completed"), "{ran:#?}");
    assert!(agents(person).values().all(|(_, status)| status == "completed"));
}

#[test]
fn detaching_is_an_event_and_nothing_is_done_without_it() {
    let crew = Crew::new();
    let ran = crew.person.posse(&["run", "--detach", "--json", "share it out"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(5), ""), "{ran:#?}");
    let last = ran.events().pop().unwrap();
    assert_eq!((&last["type"], &last["detached"]), (&json!("session_interrupted"), &json!(true)));
    // One that has nobody to wait for ends as ever.
    let person = Person::new([Turn::text("Done.")]);
    assert_eq!(person.posse(&["run", "--detach", "go"]).code, Some(0));
}

#[test]
fn a_completed_session_goes_on_with_what_there_is_to_say() {
    let person = Person::new([Turn::text("It prints hi."), Turn::text("It is Python.")]);
    person.posse(&["run", "what does it print?"]);
    let ran = person.posse(&["resume"]);
    assert_eq!(ran.code, Some(2));
    ran.says("is completed; say what to do next: posse resume ");
    let ran = person.posse(&["resume", "and in which language?"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "It is Python.\n"), "{ran:#?}");
    let told = person.model.requests()[1].json()["messages"].to_string();
    for part in ["what does it print?", "It prints hi.", "and in which language?"] {
        assert!(told.contains(part), "{told}");
    }
    let sessions = person.posse(&["sessions", "list", "--json"]).events();
    assert_eq!((sessions.len(), &sessions[0]["turns"]), (1, &json!(2)), "it is one session");
}

#[test]
fn what_cannot_go_on_is_refused_with_the_reason() {
    let person = Person::new([Turn::text("one two three").stall_after(1)]);
    let refused = |person: &Person, args: &[&str], says: &str| {
        let ran = person.posse(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:#?}");
        ran.says(says);
    };
    refused(&person, &["resume"], "no sessions yet");
    refused(&person, &["resume", "continue"], "no sessions yet");
    let mut child = person.spawn(&["run", "go"]);
    eventually("it is on record", || person.posse(&["sessions", "list"]).stdout.contains("running"));
    refused(&person, &["resume", "ffff"], "no session is called \"ffff\"");
    refused(&person, &["resume", "continue"], "posse resume last");
    let said = person.posse(&["resume", "zzz"]).stderr;
    assert!(!said.contains("no session is called") && said.lines().count() == 1, "one sentence: {said}");
    refused(&person, &["resume"], "is at work in another process");
    refused(&person, &["sessions", "delete", "last", "--yes"], "is at work");
    signal(&child, "KILL");
    child.wait().unwrap();
    refused(&person, &["resume", "--model", "nope"], "there is no model");
    refused(&person, &["resume", "--no-agents"], "--no-agents");
    let (from, to) = (person.project.path().to_path_buf(), person.project.path().with_extension("moved"));
    std::fs::rename(&from, &to).unwrap();
    let mut command = person.command(&["resume", &newest(&person)]);
    let ran = Ran::from(command.current_dir(&to).output().unwrap());
    std::fs::rename(&to, &from).unwrap();
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    ran.says("is not there any more");
}

fn newest(person: &Person) -> String {
    let mut command = person.command(&["sessions", "list", "--all", "--json"]);
    let ran = Ran::from(command.current_dir("/").output().unwrap());
    ran.events()[0]["session"].as_str().unwrap().to_string()
}

#[test]
fn another_model_is_used_where_it_is_named_or_the_old_one_is_gone() {
    let person = Person::new([Turn::text("one"), Turn::text("two"), Turn::text("three")]);
    let endpoint = person.model.base_url();
    let models = |names: &[&str]| {
        let one =
            |name: &&str| format!("[models.{name}]\nendpoint = \"{endpoint}\"\nmodel = \"{name}-model\"\n");
        person.configure(&names.iter().map(one).collect::<String>());
    };
    models(&["old", "new"]);
    person.posse(&["run", "--model", "old", "go"]);
    let ran = person.posse(&["resume", "--model", "new", "go", "on"]);
    assert_eq!(ran.code, Some(2), "go is no session: {ran:#?}");
    assert_eq!(person.posse(&["resume", "--model", "new", "last", "go on"]).stdout, "two\n");
    models(&["newest"]);
    let ran = person.posse(&["resume", "last", "and on"]);
    assert_eq!(ran.stdout, "three\n", "{ran:#?}");
    ran.says("its model new cannot be used any more; it goes on with newest");
    let used = person.model.requests().iter().map(|r| r.json()["model"].clone()).collect::<Vec<_>>();
    assert_eq!(used, ["old-model", "new-model", "newest-model"]);
}

#[test]
fn how_it_delegates_is_as_it_was() {
    for (flags, tool) in [(&["--no-agents"][..], None), (&["--surface", "spawn"], Some("spawn_task"))] {
        let person = Person::new([Turn::text("one"), Turn::text("two")]);
        person.posse(&[&["run"], flags, &["go"]].concat());
        person.posse(&["resume", "last", "go on"]);
        let offered = person.model.requests().iter().map(|r| r.json()["tools"].clone()).collect::<Vec<_>>();
        assert_eq!(offered.len(), 2);
        assert_eq!(offered[0], offered[1], "{flags:?}");
        let has = |name: &str| offered[1].as_array().unwrap().iter().any(|t| t["function"]["name"] == name);
        assert!(!has("agent") && tool.is_none_or(has), "{flags:?}: {}", offered[1]);
    }
}
