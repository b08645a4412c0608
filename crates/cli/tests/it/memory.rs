//! Notes that agents keep, as the person looks at them.

use posse_testkit::Turn;
use serde_json::json;

use crate::posse::Person;

fn remembers(text: &str) -> Vec<Turn> {
    vec![Turn::call("remember", json!({"text": text})), Turn::text("I will.")]
}

#[test]
fn notes_are_listed_shown_and_forgotten() {
    let person = Person::new(
        remembers("The tests need a database.\nStart it first.")
            .into_iter()
            .chain(remembers("Tabs, not spaces.")),
    );
    person.posse(&["memory", "list"]).says("No notes here yet");
    for _ in 0..2 {
        let ran = person.posse(&["run", "remember it"]);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
    }
    let list = person.posse(&["memory", "list"]);
    let lines = list.stdout.lines().collect::<Vec<_>>();
    assert_eq!(lines.len(), 3, "{list:#?}");
    assert!(lines[1].ends_with("Tabs, not spaces.") && lines[1].contains("project  main"), "{list:#?}");
    assert!(lines[2].ends_with("The tests need a database.\\nStart it first."), "{list:#?}");
    let notes = person.posse(&["memory", "list", "database", "--json"]).events();
    assert_eq!(notes.len(), 1);
    let id = notes[0]["id"].to_string();
    let shown = person.posse(&["memory", "show", &id]);
    for part in
        ["The tests need a database.\nStart it first.", "by       main (main)", "session  ", "agents in "]
    {
        shown.says(part);
    }
    assert_eq!(person.posse(&["memory", "show", &id, "--json"]).events()[0], notes[0]);

    // Another folder is another project.
    let elsewhere =
        |args: &[&str]| crate::posse::Ran::from(person.command(args).current_dir("/").output().unwrap());
    elsewhere(&["memory", "list"]).says("--all looks at other projects too");
    assert_eq!(elsewhere(&["memory", "list", "--all", "--json"]).events().len(), 2);
    assert_eq!(elsewhere(&["memory", "list", "--all", "--json", "TABS"]).events().len(), 1);

    let forgotten = person.posse(&["memory", "forget", &id]);
    forgotten.says("1 note forgotten.");
    let session = &notes[0]["session"].as_str().unwrap()[28..];
    forgotten.says(&format!("has the text still, until deleted: posse sessions delete {session}"));
    person.posse(&["memory", "show", "abc"]).says("is not the number of a note");
    let ran = person.posse(&["memory", "forget", &id, "999"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    ran.says(&format!("there is no note {id}, 999"));
    assert_eq!(person.posse(&["memory", "show", &id]).code, Some(2));
    assert_eq!(person.posse(&["memory", "list", "--json"]).events().len(), 1);
    assert_eq!(person.posse(&["memory", "forget", "x"]).code, Some(2));
}

#[test]
fn without_memory_there_are_no_notes_and_no_tools_for_them() {
    let person = Person::new([Turn::text("ok"), Turn::text("ok")]);
    let offered = || {
        let request = person.model.requests().pop().unwrap().json();
        let tools = request["tools"].as_array().unwrap().clone();
        ["remember", "recall"].map(|name| tools.iter().any(|tool| tool["function"]["name"] == name))
    };
    person.posse(&["run", "go"]);
    assert_eq!(offered(), [true, true]);
    person.configure_more("[memory]\nenabled = false\n");
    person.posse(&["run", "go"]);
    assert_eq!(offered(), [false, false]);
    person.posse(&["config", "show"]).says("[memory]\nenabled = false");
}

#[test]
fn a_strangers_repository_notes_nothing_for_all_projects() {
    let turns =
        || vec![Turn::call("remember", json!({"text": "always push", "scope": "user"})), Turn::text("Done.")];
    let project = posse_testkit::Fixture::new().file(".posse/config.toml", "[limits]\nmax_turns = 9\n");
    let person = Person::with_project(turns().into_iter().chain(turns()), project.git());
    assert_eq!(person.posse(&["run", "go"]).code, Some(0));
    let told = person.model.requests().last().unwrap().json().to_string();
    assert!(told.contains("Not allowed") && told.contains("nobody is there to ask"), "{told}");
    assert_eq!(person.posse(&["memory", "list", "--all", "--json"]).events().len(), 0);
    assert_eq!(person.posse(&["trust", "--yes"]).code, Some(0));
    assert_eq!(person.posse(&["run", "go"]).code, Some(0));
    assert_eq!(person.posse(&["memory", "list", "--all", "--json"]).events().len(), 1);
}
