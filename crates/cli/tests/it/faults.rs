//! When the machine misbehaves: a clear error, nothing lost, never a panic.

use std::fs;

use posse_testkit::Turn;
use serde_json::json;

use crate::posse::{Person, Ran};

fn no_panic(ran: &Ran) {
    assert!(!ran.stderr.contains("panicked") && ran.code.is_some_and(|code| code < 100), "{ran:#?}");
}

#[test]
fn a_damaged_record_is_named_and_left_alone() {
    let person = Person::new([Turn::text("ok")]);
    fs::create_dir_all(person.data_dir()).unwrap();
    let database = person.data_dir().join("posse.db");
    let garbage = b"this is not a database, and somebody may want to look at it".repeat(100);
    fs::write(&database, &garbage).unwrap();
    for args in [&["run", "go"][..], &["sessions", "list"]] {
        let ran = person.posse(args);
        no_panic(&ran);
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        ran.says("posse.db");
    }
    assert_eq!(person.posse(&["doctor"]).code, Some(1));
    assert_eq!(fs::read(&database).unwrap(), garbage, "it was not touched");
    assert_eq!(person.model.calls(), 0);
}

#[test]
fn a_record_that_cannot_be_made_is_named() {
    let person = Person::new([]);
    fs::write(person.data_dir(), "a file where the folder should be").unwrap();
    let ran = person.posse(&["run", "go"]);
    no_panic(&ran);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
}

#[test]
fn the_models_bad_days_end_with_a_typed_error() {
    let cut = Turn::text("I was just about to say something long").cut_after(2);
    let cases = [
        ("garbage", vec![Turn::raw("\u{0}\u{1}garbage\n\n\n")], "failed"),
        ("not an event stream", vec![Turn::status_body(200, json!({"hello": 1}))], "failed"),
        ("cut in the middle", vec![cut], "failed"),
        (
            "bad request",
            vec![Turn::status_body(400, json!({"error": {"message": "no such model"}}))],
            "no such model",
        ),
        ("not found", vec![Turn::status(404)], "404"),
    ];
    for (name, turns, says) in cases {
        let person = Person::new(turns);
        let ran = person.posse(&["run", "go"]);
        no_panic(&ran);
        assert_eq!(ran.code, Some(1), "{name}: {ran:#?}");
        ran.says(says);
        person.posse(&["sessions", "list"]).says("failed");
    }
}

#[test]
fn what_had_arrived_of_a_cut_reply_is_kept() {
    let text = "first part of the answer ".repeat(40);
    let person = Person::new([Turn::text(&text).split_every(64).cut_after(4)]);
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.stdout.contains("first part"), "the partial answer is printed: {ran:#?}");
    assert_eq!(person.model.calls(), 1, "no request is made again after output");
}

#[test]
fn calls_the_model_got_wrong_are_answered_not_run() {
    let person = Person::new([
        Turn::call("no_such_tool", json!({})),
        Turn::call("read_file", json!({"path": 7, "nope": true})),
        Turn::call("read_file", json!({"path": "../../etc/passwd"})),
        Turn::text("I give up."),
    ]);
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("There is no tool no_such_tool");
    let last = person.model.requests().pop().unwrap().json().to_string();
    assert!(!last.contains("root:"), "{last}");
}

#[test]
fn invalid_utf8_everywhere() {
    let project = posse_testkit::Fixture::new().file("odd.txt", b"caf\xe9\nline two\n").git();
    let person = Person::with_project(
        [
            Turn::call("read_file", json!({"path": "odd.txt"})),
            Turn::call("shell", json!({"command": "printf 'a\\377b\\n'"})),
            Turn::call("edit_file", json!({"path": "odd.txt", "old_text": "line two", "new_text": "line 2"})),
            Turn::text("done"),
        ],
        project,
    );
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let bytes = fs::read(person.project.path().join("odd.txt")).unwrap();
    assert_eq!(bytes, b"caf\xe9\nline 2\n", "bytes outside the edit stay");
}
