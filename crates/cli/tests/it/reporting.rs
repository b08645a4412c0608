//! What counts as tests, and what counts as an answer.

use posse_testkit::{Fixture, Turn};
use serde_json::json;

use crate::posse::Person;

#[test]
fn a_test_result_counts_only_from_a_command_that_runs_tests() {
    let cases = [
        ("echo '12 passed in 0.1s'", "no tests run"),
        ("true", "no tests run"),
        ("cat test.sh", "no tests run"),
        ("sh test.sh", "tests passed: `sh test.sh` (exit code 0, 1 of 1 passed)"),
        ("sh failing_test.sh", "tests failed: `sh failing_test.sh` (exit code 1, 0 of 1 passed)"),
        (
            "sh failing_test.sh || true",
            "tests failed: `sh failing_test.sh || true` (exit code hidden by `|| true`, 0 of 1 passed)",
        ),
        ("sh test.sh; touch main.py", "exit code hidden by"),
    ];
    for (command, fact) in cases {
        let project = Fixture::new()
            .file("main.py", "print('hi')\n")
            .file("test.sh", "check() { grep -q hi main.py && echo '1 ok, 0 failed'; }\ncheck\n")
            .file(
                "failing_test.sh",
                "check() { grep -q bye main.py || { echo '0 ok, 1 failed'; exit 1; }; }\ncheck\n",
            )
            .git();
        let turns = [Turn::call("shell", json!({"command": command})), Turn::text("ok")];
        let person = Person::with_project(turns, project);
        let ran = person.posse(&["run", "go"]);
        assert!(ran.stderr.contains(fact), "{command}: {fact}\n{}", ran.stderr);
    }
}

#[test]
fn only_an_empty_answer_is_a_failure_and_roles_say_what_they_want() {
    let asked = "Your reply was empty.";
    let cases = [
        (vec![Turn::text("42")], "completed", "42", 0),
        (vec![Turn::text("Yes.")], "completed", "Yes.", 0),
        (vec![Turn::empty(), Turn::text("No.")], "completed", "No.", 1),
        (vec![Turn::empty(), Turn::empty()], "failed", "the model gave an empty reply twice", 1),
    ];
    for (says, status, told, again) in cases {
        let start = Turn::call(
            "agent",
            json!({"role": "counter", "name": "ann", "prompt": "How many?", "background": false}),
        );
        let person = Person::new([start].into_iter().chain(says).chain([Turn::text("done")]));
        let agents = person.config().with_file_name("agents");
        std::fs::create_dir(&agents).unwrap();
        let role = "---\nname: counter\ndescription: Counts.\nreport: answer\n---\nCount.\n";
        std::fs::write(agents.join("counter.md"), role).unwrap();
        let ran = person.posse(&["run", "go"]);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        let requests = person.model.requests();
        let system = requests[1].json()["messages"][0]["content"].as_str().unwrap().to_string();
        assert!(
            system.contains("Your last message is your answer") && !system.contains("EVIDENCE"),
            "{system}"
        );
        let last = requests.last().unwrap().json()["messages"].to_string();
        assert!(last.contains(told), "{told}: {last}");
        let prompted =
            requests.iter().filter(|one| one.json()["messages"].to_string().contains(asked)).count();
        assert_eq!(prompted, again, "{told}");
        let agents = person.posse(&["tasks", "--json"]).events();
        let ann = agents.iter().find(|agent| agent["name"] == "ann").unwrap();
        assert_eq!((&ann["status"], &ann["warnings"]), (&json!(status), &json!([])), "{ann}");
    }
}
