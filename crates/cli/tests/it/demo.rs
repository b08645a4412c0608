//! `posse demo` works with nothing but git, and shows a whole crew at work.

use std::io::{BufRead as _, BufReader};
use std::path::Path;

use serde_json::Value;

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
    let ran = person.posse(&["demo", "--fast", "--keep"]);
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
        "[implementer-1] • edit_file greet.sh (+1 -1)",
        "[review-1] ✓ completed · 2 turns · 3 tool calls",
        "Fixed: the tests pass, 3 ok and 0 failed.",
        "✓ completed · 4 turns · 4 tool calls",
        "4 sub-agents",
        "changed  1 file changed (+1 -1): greet.sh (+1 -1 lines)",
        "tests    tests by implementer-1 passed: `sh test.sh` (exit code 0, 3 of 3 passed)",
        "posse tasks",
        "posse sessions show ",
        "posse.db",
    ] {
        ran.says(part);
    }
    let folder = ran.stdout.split("made in ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
    let greet = std::fs::read_to_string(format!("{folder}/greet.sh")).unwrap();
    assert!(greet.contains("Good evening"), "{greet}");
    assert_eq!(person.model.calls(), 0, "the demo calls no server");
    let id = ran.stdout.split("posse tasks ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
    assert_eq!(outcomes(&agents(&person, id)), CREW);
    std::fs::remove_dir_all(Path::new(folder).parent().unwrap()).unwrap();
}

#[test]
fn the_demos_folder_goes_with_it_and_that_of_a_killed_one_with_the_next() {
    let person = Person::new([]);
    person.configure("");
    let place = tempfile_place(&person);
    let demo = |args: &[&str]| {
        let mut command = person.command(args);
        command.env("TMPDIR", &place);
        command
    };
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(&place).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert!(demo(&["demo", "--fast"]).output().unwrap().status.success());
    assert_eq!(names(), Vec::<String>::new());
    let mut child = demo(&["demo"]).spawn().unwrap();
    // The first line about an agent: from then on Ctrl-C is watched for.
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("explore-1")));
    crate::posse::signal(&child, "INT");
    lines.for_each(drop);
    child.wait().unwrap();
    assert_eq!(names(), Vec::<String>::new(), "after Ctrl-C");
    let mut child = demo(&["demo"]).spawn().unwrap();
    crate::posse::eventually("the demo has begun", || {
        names().iter().any(|name| place.join(name).join("greet/.git").exists())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(names().len(), 1);
    assert!(demo(&["demo", "--fast"]).output().unwrap().status.success());
    assert_eq!(names(), Vec::<String>::new(), "after kill -9 and another");
}

fn tempfile_place(person: &Person) -> std::path::PathBuf {
    let place = person.data_dir().with_file_name("temporary");
    std::fs::create_dir(&place).unwrap();
    place
}

/// The same from the file, so that it can be recorded anew.
#[test]
fn the_cassette_plays_without_a_warning() {
    let played = Scripted::in_folder(FOLDER).git().play();
    assert_eq!(outcomes(&played.agents), CREW);
    played.no_warnings();
    assert_eq!(played.report("implementer-1")["receipt"]["files"][0]["path"], "greet.sh");
    // Started by one reply, so that they work at the same time.
    let events = &played.events;
    let admitted = |name: &str| {
        events.iter().position(|event| event["type"] == "agent_admitted" && event["name"] == name).unwrap()
    };
    let between = &events[admitted("explore-1")..admitted("explore-2")];
    let of_main = |event: &&Value| event["type"] == "replied" && event["parent"].is_null();
    assert_eq!(between.iter().find(of_main), None);
}
