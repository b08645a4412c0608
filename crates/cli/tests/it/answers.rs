//! The main agent's answer is checked like any report: what does not hold is said in the summary.

use posse_testkit::{Fixture, Turn};
use serde_json::json;

use crate::posse::Person;

#[test]
fn the_summary_says_what_does_not_hold_of_the_answer() {
    let english = "I have created hello.py. I fixed the bug in main.py. All tests pass. I ran `cargo clippy`, too. The entry \
                   is main.py:900.";
    let cases: [(&str, &[&str]); 3] = [
        (
            english,
            &[
                "says it created `hello.py`: no file was changed",
                "says it changed `main.py`: no file was changed",
                "says that tests pass: no command was run",
                "says it ran `cargo clippy`: no command was run",
                "cites `main.py:900`: the file has 1 line",
            ],
        ),
        (
            "Ich habe hello.py erstellt. In `main.py:1` steht `import antigravity`.",
            &[
                "says it created `hello.py`: no file was changed",
                "quotes `import antigravity` from `main.py:1`: it is not in that file",
            ],
        ),
        (
            "我已创建 hello.py。所有测试均已通过。",
            &["says it created `hello.py`: no file was changed", "says that tests pass: no command was run"],
        ),
    ];
    let mut seen = 0;
    for (answer, warnings) in cases {
        // The call fails, and success is claimed all the same.
        let edit = json!({"path": "main.py", "old_text": "no such text", "new_text": "x"});
        let person = Person::new([Turn::call("edit_file", edit), Turn::text(answer)]);
        let ran = person.posse(&["run", "go"]);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        for warning in warnings {
            ran.says(warning);
            seen += 1;
        }
    }
    assert_eq!(seen, 9);
}

#[test]
fn a_true_answer_has_no_warning() {
    let person = Person::new([
        Turn::call("write_file", json!({"path": "hello.py", "content": "print(1)\n"})),
        Turn::text(
            "I have created hello.py. You should update config.ini next; `hello.py:1` reads `print(1)`.",
        ),
    ]);
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(!ran.stderr.contains("warning"), "{ran:#?}");
}

/// A checkout that could not be made is told to everybody, and makes no report one that says what is not so.
#[test]
fn a_note_is_told_and_is_no_warning() {
    let start = json!({"action": "start", "name": "ann", "role": "general", "prompt": "Do it.", "isolation": "worktree",
                       "background": false});
    let turns = [Turn::call("agent", start), Turn::text("SUMMARY: Looked."), Turn::text("Done.")];
    let person = Person::with_project(turns, Fixture::new().file("main.py", "print('hi')\n"));
    let ran = person.posse(&["run", "go"]);
    let note = "No checkout of its own";
    ran.says(note);
    for args in [&["tasks"][..], &["sessions", "show", "last"], &["sessions", "export", "last"]] {
        person.posse(args).says(note);
    }
    let tasks = person.posse(&["tasks", "--json"]).events();
    let ann = tasks.iter().find(|agent| agent["name"] == "ann").unwrap();
    assert!(ann["notes"][0].as_str().unwrap().contains(note), "{ann}");
    assert_eq!(ann["warnings"], json!([]));
    let stats = person.posse(&["stats", "--json"]).events().pop().unwrap();
    assert_eq!((&stats["total"]["tasks"], &stats["total"]["warned"]), (&json!(2), &json!(0)));
}
