//! What was measured stands beside what is said, wherever a report is told.

use posse_testkit::{FakeModel, Fixture, Turn, asker};
use serde_json::{Value, json};

use crate::posse::Person;

/// What ann says: a file that is not there, and tests that she has cut.
const REPORT: &str = "SUMMARY: I mended main.py, and all is well.\nCHANGES: tests/test_a.py\nEVIDENCE: nope.py:3\nRISKS: None.\nBLOCKERS: No key.";

const TESTS: &str = "def test_a():\n    assert 1 == one()\n\ndef test_b():\n    assert 2 == two()\n";

/// Ann tests, then cuts a test, commits, and prints what looks like a result. Main only starts her.
fn person() -> Person {
    let model = FakeModel::by_rule_blocking(|request| {
        let request = request.json();
        let messages = request["messages"].as_array().map_or(0, Vec::len);
        let shell = |command: &str| Turn::call("shell", json!({"command": command}));
        match (asker(&request).as_str(), messages) {
            ("ann", 2) => shell("sh test.sh"),
            ("ann", 4) => shell("false"),
            ("ann", 6) => Turn::call("read_file", json!({"path": "tests/test_a.py"})),
            ("ann", 8) => Turn::call(
                "edit_file",
                json!({"path": "tests/test_a.py", "old": "\ndef test_b():\n    assert 2 == two()\n", "new": ""}),
            ),
            ("ann", 10) => {
                shell("git add -A && git -c user.name=a -c user.email=a@b commit -q -m 'cut a test'")
            }
            ("ann", 12) => shell("echo '12 passed in 0.1s'"),
            ("ann", _) => Turn::text(REPORT),
            (_, 2) => Turn::call(
                "agent",
                json!({"action": "start", "name": "ann", "role": "general", "prompt": "Do it.", "background": false}),
            ),
            _ => Turn::text("Done."),
        }
    });
    let project = Fixture::new()
        .file("main.py", "print('hi')\n")
        .file("test.sh", "check() { grep -q hi main.py && echo '1 ok, 0 failed'; }\ncheck\n")
        .file("tests/test_a.py", TESTS)
        .git();
    Person::with_model(model, project)
}

#[test]
fn every_output_tells_what_was_measured() {
    let person = person();
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let facts = [
        "4 commands run, 1 failed, the last: `echo '12 passed in 0.1s'` (exit code 0)",
        "passed before the last edit: `sh test.sh` (exit code 0, 1 of 1 passed)",
        "test files changed: tests/test_a.py (1 test removed, 1 assertion removed)",
        "`cut a test`",
        "1 file changed (+0 -3): tests/test_a.py (-3 lines)",
    ];
    // A report with blockers is no plain success.
    ran.says("[ann] ! completed with blockers");
    person.posse(&["tasks"]).says("it names blockers");
    person.posse(&["sessions", "show"]).says("completed with blockers");
    let warning = "nope.py:3";
    // What main's model is told.
    let requests = person.model.requests();
    let told =
        requests.iter().rev().map(|request| request.json()).find(|request| asker(request) != "ann").unwrap();
    let told = told["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_string();
    for part in facts.iter().chain([&warning]) {
        assert!(told.contains(part), "{part}\n{told}");
    }
    // What the person is told: of ann, and of all.
    for part in facts.iter().chain([&warning]) {
        ran.says(part);
    }
    ran.says("agents   1 sub-agent: ann completed");
    ran.says("commits  1 commit: ");
    ran.says("tests    tests by ann passed before the last edit");
    for args in [&["tasks"][..], &["sessions", "show", "last"], &["sessions", "export", "last"]] {
        let shown = person.posse(args);
        let text = shown.stdout.replace('\\', "");
        for part in facts.iter().chain([&warning, &"1 sub-agent: ann completed"]) {
            assert!(text.contains(part), "{args:?}: {part}\n{text}");
        }
    }
    let tasks = person.posse(&["tasks", "--json"]).events();
    let ann = tasks.iter().find(|agent| agent["name"] == "ann").unwrap();
    assert!(facts.iter().all(|part| ann["facts"].as_str().unwrap().contains(part)), "{ann}");
    assert!(ann["warnings"][0].as_str().unwrap().contains(warning), "{ann}");
    // How many reports had warnings.
    let stats: Value = serde_json::from_str(&person.posse(&["stats", "--json"]).stdout).unwrap();
    let warned = |rows: &str, key: &str| {
        let row = stats[rows].as_array().unwrap().iter().find(|row| row["key"] == key).unwrap();
        (row["warned"].as_u64(), row["tasks"].as_u64())
    };
    assert_eq!(warned("roles", "general"), (Some(1), Some(1)));
    assert_eq!(warned("models", "fake-model").1, Some(2));
    let shown = person.posse(&["stats"]).stdout;
    assert!(shown.contains("warned") && shown.contains("100%"), "{shown}");
}

#[test]
fn what_was_not_done_is_said_in_one_line() {
    let person = Person::new([Turn::text("All tests pass, and I committed it.")]);
    let ran = person.posse(&["run", "go"]);
    ran.says("facts    no commands run; no tests run; no commits; no sub-agents; no files changed");
}
