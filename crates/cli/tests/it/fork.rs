//! `posse fork`: a new session from the first turns of another, with or without the files of that turn.

use posse_testkit::Turn;
use serde_json::json;

use crate::posse::{Person, eventually};

fn write(text: &str) -> Turn {
    Turn::call("write_file", json!({"path": "new.txt", "content": text}))
}

fn read(person: &Person) -> String {
    std::fs::read_to_string(person.project.path().join("new.txt")).unwrap()
}

/// A session that writes a file twice, in turns 1 and 4.
fn person() -> Person {
    let person = Person::new([
        write("one\n"),
        Turn::text("Written once."),
        Turn::call("read_file", json!({"path": "new.txt"})),
        write("two\n"),
        Turn::text("Written twice."),
        Turn::text("From the fork."),
    ]);
    person.posse(&["run", "Write a file."]);
    person.posse(&["resume", "last", "Write it again."]);
    person
}

#[test]
fn a_fork_takes_up_the_conversation_and_leaves_the_files_alone() {
    let person = person();
    let now = read(&person);
    let forked = person.posse(&["fork", "last", "--turn", "2", "Another way."]);
    assert_eq!(forked.code, Some(0), "{forked:#?}");
    for part in ["after turn 2", "the files are as they are now", "From the fork."] {
        forked.says(part);
    }
    assert_eq!(read(&person), now);
    let requests = person.model.requests();
    let last = requests.last().unwrap().json();
    let texts: Vec<&str> = last["messages"]
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .filter(|message| message["role"] != "tool")
        .map(|message| message["content"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(texts, ["Write a file.", "", "Written once.", "Another way."]);
}

#[test]
fn the_files_of_the_turn_come_back_when_asked_for_with_a_preview_first() {
    let person = person();
    let now = read(&person);
    let preview = person.posse(&["fork", "last", "--turn", "2", "--preview"]);
    preview.says("Nothing is written yet");
    preview.says("new.txt");
    assert_eq!((read(&person), person.model.requests().len()), (now, 5), "nothing has begun");
    let forked = person.posse(&["fork", "last", "--turn", "2", "--files", "Another way."]);
    assert_eq!(forked.code, Some(0), "{forked:#?}");
    forked.says("Taken back");
    forked.says("From the fork.");
    assert_eq!(read(&person), "one\n");
}

#[test]
fn what_cannot_be_forked_is_told() {
    let person = person();
    let cases: [(&[&str], &str); 4] = [
        (&["fork", "last", "--turn", "9", "go"], "cannot be forked after turn 9"),
        (&["fork", "last", "--turn", "0", "go"], "cannot be forked after turn 0"),
        (&["fork", "ffff", "go"], "ffff"),
        (&["fork", "last"], "required"),
    ];
    for (args, told) in cases {
        let ran = person.posse(args);
        assert_eq!(ran.code, Some(2), "{args:?} {ran:#?}");
        ran.says(told);
    }
    assert_eq!(person.model.requests().len(), 5, "no model was asked");
}

#[test]
fn a_fork_works_in_the_background_with_the_files_of_its_turn() {
    let person = person();
    let forked =
        person.posse(&["fork", "last", "--turn", "2", "--files", "--background", "-q", "Another way."]);
    assert_eq!(forked.code, Some(0), "{forked:#?}");
    for part in ["Taken back", "new.txt", "after turn 2"] {
        assert!(forked.stderr.contains(part), "{part}: {forked:#?}");
    }
    let id = forked.stdout.trim();
    eventually("rest", || person.posse(&["sessions", "show", id]).stdout.contains("From the fork."));
    assert_eq!(read(&person), "one\n");
    assert_eq!(person.posse(&["stop", id]).code, Some(0));
    // What prevents the start is said where it was typed.
    let refused = person.posse(&["fork", "last", "--turn", "9", "--background", "go"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused:#?}");
    refused.says("cannot be forked after turn 9");
}
