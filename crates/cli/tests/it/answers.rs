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

/// What the main agent's model is told last.
fn told_last(person: &Person) -> String {
    let requests = person.model.requests();
    let last = requests.last().unwrap().json();
    last["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_string()
}

/// A long report in some language, by the names of its sections.
fn long_report([summary, evidence, risks, blockers]: [&str; 4]) -> String {
    let found = "- main.py:1 something that was found there\n".repeat(500);
    format!("{summary}: Much.\n{evidence}:\n{found}{risks}: It may rain.\n{blockers}: The key is lost.")
}

#[test]
fn a_report_that_is_cut_keeps_risks_and_blockers_in_any_language() {
    let start =
        json!({"action": "start", "name": "ann", "role": "general", "prompt": "Do it.", "background": false});
    for names in [
        ["SUMMARY", "EVIDENCE", "RISKS", "BLOCKERS"],
        ["Summary", "Finding", "Risk", "Blocker"],
        ["ZUSAMMENFASSUNG", "BELEGE", "RISIKEN", "HINDERNISSE"],
        ["摘要", "证据", "风险", "阻碍"],
    ] {
        let long = long_report(names);
        let turns = [Turn::call("agent", start.clone()), Turn::text(&long), Turn::text("Done.")];
        let person = Person::new(turns);
        let ran = person.posse(&["run", "go"]);
        ran.says("completed with blockers");
        let told = told_last(&person);
        assert!(told.len() < long.len() / 2, "{} of {}", told.len(), long.len());
        for part in ["Much.", "It may rain.", "The key is lost.", "completed with blockers", "handle_read"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        person.posse(&["tasks"]).says("it names blockers");
    }
}

#[test]
fn a_long_report_is_summed_up_once_on_spawn() {
    let long = long_report(["SUMMARY", "EVIDENCE", "RISKS", "BLOCKERS"]);
    let spawn = Turn::call("spawn_task", json!({"task": "Look."}));
    let person =
        Person::new([spawn, Turn::text(&long), Turn::text("Found 500 things."), Turn::text("Done.")]);
    let ran = person.posse(&["run", "--surface", "spawn", "go"]);
    assert_eq!((ran.code, person.model.calls()), (Some(0), 4), "{ran:#?}");
    let told = told_last(&person);
    for part in ["| Found 500 things.", "RISKS: It may rain.", "BLOCKERS: The key is lost.", "handle_read"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("something that was found"), "{told}");
}

#[test]
fn only_an_empty_answer_is_a_failure() {
    let start =
        json!({"action": "start", "name": "ann", "role": "explore", "prompt": "Look.", "background": false});
    for (answers, ending) in [
        (vec![Turn::text("42")], "completed"),
        (vec![Turn::text("Ja.")], "completed"),
        (vec![Turn::empty(), Turn::empty()], "failed"),
    ] {
        let turns =
            [Turn::call("agent", start.clone())].into_iter().chain(answers).chain([Turn::text("Done.")]);
        let person = Person::new(turns);
        let ran = person.posse(&["run", "go"]);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        let tasks = person.posse(&["tasks", "--json"]).events();
        let ann = tasks.iter().find(|agent| agent["name"] == "ann").unwrap();
        assert_eq!(ann["status"], ending, "{ann}");
    }
}
