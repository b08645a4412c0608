//! What was measured stands beside what is said, wherever a report is told: on every surface and in every output, of
//! sub-agents and of the main agent.

use posse_testkit::{FakeModel, Fixture, Turn, asker};
use serde_json::Value;

use crate::dialects::{SURFACES, edit, read, shell, start};
use crate::posse::Person;
use crate::terminal::in_terminal_of;

/// What ann says: a file that is not there, and tests that she has cut.
const REPORT: &str = "SUMMARY: I mended main.py, and all is well.\nCHANGES: tests/test_a.py\nEVIDENCE: nope.py:3\nRISKS: None.\nBLOCKERS: No key.";
/// What main says: a file that nobody made.
const ANSWER: &str = "All is done. I have created gone.py.\n\nBLOCKERS: No key.";

const TESTS: &str = "def test_a():\n    assert 1 == one()\n\ndef test_b():\n    assert 2 == two()\n";
const CUT: &str = "\ndef test_b():\n    assert 2 == two()\n";

/// What was measured of ann.
const FACTS: [&str; 5] = [
    "4 commands run, 1 failed, the last: `echo '12 passed in 0.1s'` (exit code 0)",
    "passed before the last edit: `sh test.sh` (exit code 0, 1 of 1 passed)",
    "test files changed: tests/test_a.py (1 test removed, 1 assertion removed)",
    "`cut a test`",
    "tests/test_a.py (-3 lines)",
];
/// What does not hold of what she says.
const WARNING: &str = "nope.py:3";
/// What was measured of main, and what does not hold of its answer.
const OF_MAIN: [&str; 3] =
    ["no commands run, 4 by sub-agents (1 failed)", "1 sub-agent: ann completed", "gone.py"];

/// Ann tests, then cuts a test, commits, and prints what looks like a result. Main only starts her.
fn person(surface: &'static str) -> Person {
    let model = FakeModel::by_rule_blocking(move |request| {
        let request = request.json();
        let messages = request["messages"].as_array().map_or(0, Vec::len);
        match (asker(&request).as_str(), messages) {
            ("ann", 2) => shell(surface, "sh test.sh"),
            ("ann", 4) => shell(surface, "false"),
            ("ann", 6) => read(surface, "tests/test_a.py"),
            ("ann", 8) => edit(surface, "tests/test_a.py", CUT, ""),
            ("ann", 10) => {
                let commit = "git add -A && git -c user.name=a -c user.email=a@b commit -q -m 'cut a test'";
                shell(surface, commit)
            }
            ("ann", 12) => shell(surface, "echo '12 passed in 0.1s'"),
            ("ann", _) => Turn::text(REPORT),
            (_, 2) => start(surface, "ann", "Do it."),
            _ => Turn::text(ANSWER),
        }
    });
    let project = Fixture::new()
        .file("main.py", "print('hi')\n")
        .file("test.sh", "check() { grep -q hi main.py && echo '1 ok, 0 failed'; }\ncheck\n")
        .file("tests/test_a.py", TESTS)
        .git();
    Person::with_model(model, project)
}

fn holds(place: &str, text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{place}: {part}\n{text}");
    }
}

/// What main's model is told of ann.
fn told(person: &Person) -> String {
    let requests = person.model.requests();
    let mut requests = requests.iter().rev().map(|request| request.json());
    let last = requests.find(|request| asker(request) == "main").unwrap();
    last["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_string()
}

/// The reports of ann and of main among events.
fn reports(events: &[Value]) -> [&Value; 2] {
    let settled = |sub_agent: bool| {
        let of =
            |event: &&Value| event["type"] == "agent_settled" && event["parent"].is_string() == sub_agent;
        &events.iter().find(of).unwrap()["report"]
    };
    [settled(true), settled(false)]
}

/// Lines of events tell the facts first.
fn events_tell(place: &str, events: &[Value]) {
    for (report, parts) in reports(events).into_iter().zip([&FACTS[..], &OF_MAIN[..2]]) {
        assert_eq!(report.as_object().unwrap().keys().next().unwrap(), "facts", "{place}: {report}");
        holds(place, report["facts"].as_str().unwrap(), parts);
    }
    let [ann, main] = reports(events).map(|report| report["warnings"].to_string());
    holds(place, &ann, &[WARNING]);
    holds(place, &main, &[OF_MAIN[2]]);
}

#[test]
fn every_surface_and_every_output_tells_what_was_measured() {
    for surface in SURFACES {
        let person = person(surface);
        let ran = person.posse(&["run", "--surface", surface, "go"]);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        let of_ann = FACTS.iter().chain([&WARNING]).copied().collect::<Vec<_>>();
        holds(surface, &told(&person).replace("\\n", "\n"), &of_ann);
        // What the person is told: of ann, and of all. A report with blockers is no plain success.
        holds(surface, &ran.stderr, &of_ann);
        let all = ["agents   1 sub-agent: ann completed", "commits  1 commit: ", "warning  ", "gone.py"];
        holds(surface, &ran.stderr, &all);
        holds(surface, &ran.stderr, &["tests    tests by ann passed before the last edit"]);
        holds(surface, &ran.stderr, &["changed  1 file changed (+0 -3): tests/test_a.py (-3 lines)"]);
        holds(surface, &ran.stderr, &["[ann] ! completed with blockers", "\n! completed with blockers"]);
        // What is on record, for people.
        for args in [&["tasks"][..], &["sessions", "show", "last"], &["sessions", "export", "last"]] {
            let text = person.posse(args).stdout.replace('\\', "");
            let place = format!("{surface} {args:?}");
            holds(&place, &text, &of_ann);
            holds(&place, &text, &OF_MAIN);
            holds(&place, &text, &["blockers"]);
        }
        // And for programs.
        for args in [&["sessions", "show", "--json"][..], &["sessions", "export", "--format", "jsonl"]] {
            events_tell(&format!("{surface} {args:?}"), &person.posse(args).events());
        }
        let tasks = person.posse(&["tasks", "--json"]).events();
        for (name, facts, warning) in [("ann", &FACTS[..], WARNING), ("main", &OF_MAIN[..2], OF_MAIN[2])] {
            let agent = tasks.iter().find(|agent| agent["name"] == name).unwrap();
            holds(surface, agent["facts"].as_str().unwrap(), facts);
            holds(surface, &agent["warnings"].to_string(), &[warning]);
            assert_eq!(agent["blocked"], true, "{agent}");
        }
        // How many reports had warnings.
        let stats: Value = serde_json::from_str(&person.posse(&["stats", "--json"]).stdout).unwrap();
        let warned = |rows: &str, key: &str| {
            let row = stats[rows].as_array().unwrap().iter().find(|row| row["key"] == key).unwrap();
            (row["warned"].as_u64(), row["tasks"].as_u64())
        };
        let role = if surface == "delegate" { "coder" } else { "general" };
        assert_eq!(warned("roles", role), (Some(1), Some(1)), "{surface}");
        assert_eq!(warned("models", "fake-model"), (Some(2), Some(2)), "{surface}");
        holds(surface, &person.posse(&["stats"]).stdout, &["warned", "100%"]);
    }
}

#[test]
fn a_terminal_a_quiet_run_and_lines_of_json_tell_it_too() {
    let of_ann = FACTS.iter().chain([&WARNING]).copied().collect::<Vec<_>>();
    let quiet = person("agent").posse(&["run", "-q", "go"]);
    assert_eq!(quiet.stdout, format!("{ANSWER}\n"));
    holds("quiet", &quiet.stderr, &OF_MAIN);
    holds(
        "quiet",
        &quiet.stderr,
        &["posse: measured: ", "posse: warning: ", "posse: completed with blockers\n"],
    );
    events_tell("--json", &person("agent").posse(&["run", "--json", "go"]).events());
    let bytes = in_terminal_of(1000, &person("agent"), "run go", &[("NO_COLOR", "1")]);
    let seen = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
    holds("terminal", &seen, &of_ann);
    holds("terminal", &seen, &OF_MAIN);
    holds("terminal", &seen, &["ann  ! completed with blockers · Do it.", "\n! completed with blockers"]);
}

#[test]
fn what_was_not_done_is_said_in_one_line() {
    let person = Person::new([Turn::text("All tests pass, and I committed it.")]);
    let ran = person.posse(&["run", "go"]);
    ran.says("facts    no commands run; no tests run; no commits; no sub-agents; no files changed");
}
