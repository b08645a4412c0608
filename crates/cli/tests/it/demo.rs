//! `posse demo` works with nothing but git, and its cassette is what recording gives.

use posse_testkit::{Fixture, Turn};
use serde_json::{Value, json};

use crate::posse::{Person, text};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/demo");

fn cassette() -> Vec<Value> {
    let text = std::fs::read_to_string(format!("{FOLDER}/cassette.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_demo_mends_its_repository_and_says_what_is_what() {
    let person = Person::new([]);
    person.configure("");
    let ran = person.posse(&["demo", "--fast"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    for part in [
        "the model is a recording",
        "edit_file greet.sh",
        "shell sh test.sh (exit 1)",
        "The tests pass now",
        "completed · 5 turns · 6 tool calls",
        "changed  greet.sh (+1 −1)",
        "posse sessions show last",
        "posse.db",
    ] {
        ran.says(part);
    }
    let folder = ran.stdout.split("made in ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
    let greet = std::fs::read_to_string(format!("{folder}/greet.sh")).unwrap();
    assert!(greet.contains("Good evening"), "{greet}");
    assert_eq!(person.model.calls(), 0, "the demo calls no server");
    std::fs::remove_dir_all(std::path::Path::new(folder).parent().unwrap()).unwrap();
}

/// Plays the cassette's replies from a server, records the run, and compares. When a tool's words change, run this
/// once with POSSE_UPDATE_CASSETTES=1 and read the diff.
#[test]
fn the_cassette_is_what_recording_gives() {
    let old = cassette();
    let mut project = Fixture::new();
    for name in ["README.md", "greet.sh", "test.sh"] {
        project = project.file(name, std::fs::read(format!("{FOLDER}/{name}")).unwrap());
    }
    let turns = old.iter().skip(1).map(|exchange| turn(&exchange["reply"]));
    let person = Person::with_project(turns, project.git());
    let tape = person.data_dir().with_file_name("tape.jsonl");
    let prompt = "The tests fail. Find out why, fix it, and run them again.";
    let ran = person.posse(&["run", "--record", &text(&tape), prompt]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");

    let recorded = std::fs::read_to_string(&tape).unwrap();
    let recorded = recorded.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut new = vec![json!({"posse_cassette": 1, "match": "conversation"})];
    new.extend(recorded.zip(old.iter().skip(1)).map(|(mut exchange, old)| {
        let fields = exchange.as_object_mut().unwrap();
        fields.retain(|key, _| ["id", "after", "new"].contains(&key.as_str()));
        fields.insert("reply".into(), old["reply"].clone());
        exchange
    }));
    if std::env::var_os("POSSE_UPDATE_CASSETTES").is_some() {
        let lines = new.iter().map(|line| format!("{line}\n")).collect::<String>();
        std::fs::write(format!("{FOLDER}/cassette.jsonl"), lines).unwrap();
    }
    assert_eq!(cassette(), new);
}

fn turn(reply: &Value) -> Turn {
    let mut turn = Turn::text(reply["text"].as_str().unwrap_or_default());
    for call in reply["calls"].as_array().into_iter().flatten() {
        let arguments = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
        turn = turn.and_call(call["name"].as_str().unwrap(), arguments).id(call["id"].as_str().unwrap());
    }
    turn
}
