//! `posse demo` works with nothing but git, and shows a whole crew at work.

use std::path::Path;

use crate::posse::Person;
use crate::scripted::{Scripted, again, agents, outcomes};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/demo");

/// Name, role, status and turns of everybody in it.
const CREW: [(&str, &str, &str, u64); 5] = [
    ("explore-1", "explore", "completed", 3),
    ("explore-2", "explore", "completed", 2),
    ("implementer-1", "implementer", "completed", 4),
    ("main", "main", "completed", 4),
    ("review-1", "review", "completed", 2),
];

#[test]
fn the_demo_mends_its_repository_and_says_what_is_what() {
    let person = Person::new([]);
    person.configure("");
    let ran = person.posse(&["demo", "--fast"]);
    assert_eq!(
        ran.code,
        Some(0),
        "{}\nIt is built into posse: build anew.\n{ran:#?}",
        again(Path::new(FOLDER))
    );
    for part in [
        "what the model says is a recording",
        "[explore-1] started on demo recording: choice of greeting",
        "[explore-2] • read_file test.sh",
        "[implementer-1] ✗ shell sh test.sh (exit 1)",
        "[implementer-1] • edit_file greet.sh (+1 −1)",
        "[review-1] ✓ completed · 2 turns · 3 tool calls",
        "Fixed: the tests pass, 3 ok and 0 failed.",
        "✓ completed · 4 turns · 4 tool calls",
        "4 sub-agents",
        "changed  greet.sh (+1 −1)",
        "posse tasks",
        "posse sessions show last",
        "posse.db",
    ] {
        ran.says(part);
    }
    let folder = ran.stdout.split("made in ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
    let greet = std::fs::read_to_string(format!("{folder}/greet.sh")).unwrap();
    assert!(greet.contains("Good evening"), "{greet}");
    assert_eq!(person.model.calls(), 0, "the demo calls no server");
    assert_eq!(outcomes(&agents(&person)), CREW);
    std::fs::remove_dir_all(Path::new(folder).parent().unwrap()).unwrap();
}

/// The same from the file, so that it can be recorded anew.
#[test]
fn the_cassette_plays_without_a_warning() {
    let played = Scripted::in_folder(FOLDER).git().play();
    assert_eq!(outcomes(&played.agents), CREW);
    played.no_warnings();
    assert_eq!(played.report("implementer-1")["receipt"]["files"][0]["path"], "greet.sh");
    let explorers = ["explore-1", "explore-2"].map(|name| &played.agents[name]);
    let [first, second] = explorers.map(|agent| agent["started_at_ms"].as_u64().unwrap());
    let ended = explorers.map(|agent| agent["ended_at_ms"].as_u64().unwrap());
    assert!(first <= ended[1] && second <= ended[0], "the explorers work at the same time");
}
