//! The facts of a receipt in words: what was there, and what was not.

use posse_protocol::{Below, ChildEnded, CommitMade, Ending, Failure, Receipt, TestFileChange, TestsSeen};
use posse_report::{About, facts, facts_line};

use crate::{changed, ran, seen};

fn fact(receipt: &Receipt, about: About) -> String {
    facts(receipt).into_iter().find(|fact| fact.about == about).unwrap().text
}

#[test]
fn what_was_not_there_is_said() {
    let nothing = "no commands run; no tests run; no commits; no sub-agents; no files changed";
    assert_eq!(facts_line(&Receipt::default()), nothing);
    assert!(facts(&Receipt::default()).iter().all(|fact| !fact.any));
}

#[test]
fn commands_are_counted_and_the_last_is_named() {
    let run = |command: &str, exit_code| posse_protocol::CommandRun { exit_code, ..ran(command, None) };
    let receipt = |total, failed, last| Receipt {
        commands_total: total,
        commands_failed: failed,
        last_command: Some(last),
        ..Receipt::default()
    };
    let below = Below { agents: 1, commands: 4, commands_failed: 1, ..Below::default() };
    let old = Receipt {
        commands_total: 2,
        commands: vec![run("a", Some(1)), run("b", Some(0))],
        ..Receipt::default()
    };
    let cases = [
        (receipt(1, 0, run("ls", Some(0))), "1 command run: `ls` (exit code 0)"),
        (receipt(3, 0, run("ls", Some(0))), "3 commands run, none failed, the last: `ls` (exit code 0)"),
        (receipt(3, 2, run("false", Some(1))), "3 commands run, 2 failed, the last: `false` (exit code 1)"),
        (receipt(1, 1, run("sleep 9", None)), "1 command run: `sleep 9` (no exit code)"),
        (receipt(1, 0, run("a`; all\nfine", Some(0))), "1 command run: `a'; all fine` (exit code 0)"),
        (
            Receipt { below, ..receipt(1, 0, run("ls", Some(0))) },
            "1 command run: `ls` (exit code 0), 4 by sub-agents (1 failed)",
        ),
        (Receipt { below, ..Receipt::default() }, "no commands run, 4 by sub-agents (1 failed)"),
        // A record from before the last command and the failed ones were kept.
        (old, "2 commands run, 1 failed, the last: `b` (exit code 0)"),
    ];
    for (receipt, wanted) in cases {
        assert_eq!(fact(&receipt, About::Commands), wanted);
    }
}

#[test]
fn tests_are_told_as_what_they_are() {
    let hidden =
        |counts| TestsSeen { hidden_by: Some("| tail".into()), ..seen("cargo test | tail", 0, counts) };
    let cases = [
        (seen("pytest", 0, None), "tests passed: `pytest` (exit code 0)"),
        (seen("pytest", 0, Some((5, 5))), "tests passed: `pytest` (exit code 0, 5 of 5 passed)"),
        // A failing exit is a failure whatever the output says.
        (seen("pytest", 1, Some((5, 5))), "tests failed: `pytest` (exit code 1, 5 of 5 passed)"),
        (
            seen("pytest", 0, Some((0, 0))),
            "a test command ran no tests: `pytest` (exit code 0, 0 of 0 passed)",
        ),
        (
            TestsSeen { edited_after: true, ..seen("pytest", 0, None) },
            "tests passed before the last edit: `pytest` (exit code 0)",
        ),
        (
            hidden(None),
            "a test command ran, result not known: `cargo test | tail` (exit code hidden by `| tail`)",
        ),
        (
            hidden(Some((5, 5))),
            "tests passed: `cargo test | tail` (exit code hidden by `| tail`, 5 of 5 passed)",
        ),
        (
            TestsSeen { exit_code: None, ..seen("pytest", 0, None) },
            "a test command ran, result not known: `pytest` (no exit code)",
        ),
        (
            TestsSeen { command: String::new(), exit_code: None, ..seen("", 0, Some((5, 4))) },
            "tests failed (4 of 5 passed)",
        ),
        // What the agent made itself says nothing but how it ended.
        (
            TestsSeen { own: true, ..seen("sh test.sh", 0, None) },
            "its own test script ran: `sh test.sh` (exit code 0)",
        ),
        (TestsSeen { own: true, ..seen("sh test.sh", 1, None) }, "tests failed: `sh test.sh` (exit code 1)"),
    ];
    for (tests, wanted) in cases {
        let receipt = Receipt { tests: Some(tests), ..Receipt::default() };
        assert_eq!(fact(&receipt, About::Tests), wanted);
    }
    let by = TestsSeen { by: Some("test-1".into()), ..seen("pytest", 1, None) };
    let below = Receipt { tests_below: Some(by), ..Receipt::default() };
    assert_eq!(fact(&below, About::Tests), "tests by test-1 failed: `pytest` (exit code 1)");
}

#[test]
fn changed_test_files_stand_next_to_the_result() {
    let file = |path: &str| TestFileChange { path: path.into(), ..TestFileChange::default() };
    let receipt = Receipt {
        tests: Some(seen("pytest", 0, None)),
        test_files: vec![
            TestFileChange { tests_removed: 2, assertions_removed: 1, skips_added: 1, ..file("tests/a.py") },
            TestFileChange { deleted: true, tests_removed: 3, ..file("tests/b.py") },
            TestFileChange { created: true, ..file("tests/c.py") },
            file("tests/d.py"),
            file("tests/e.py"),
            file("tests/f.py"),
        ],
        ..Receipt::default()
    };
    assert_eq!(
        fact(&receipt, About::Tests),
        "tests passed: `pytest` (exit code 0); test files changed: tests/a.py (2 tests removed, 1 assertion removed, 1 \
         skip added), tests/b.py (deleted, 3 tests removed), tests/c.py (new file), tests/d.py, tests/e.py, and 1 more"
    );
}

#[test]
fn files_commits_and_sub_agents_are_named_as_far_as_they_are_few() {
    let child = |name: &str, ending| ChildEnded { name: name.into(), role: "explore".into(), ending };
    let failed = Ending::Failed { failure: Failure::NoReport };
    let commit = |n: u32| CommitMade { id: format!("{n:040x}"), subject: format!("part {n}") };
    let few = Receipt {
        files: vec![changed("a.rs", false, 1, 2)],
        commits: vec![commit(1)],
        commits_total: 1,
        children: vec![child("explore-1", Ending::Completed), child("explore-2", failed)],
        children_total: 2,
        below: Below { agents: 3, ..Below::default() },
        ..Receipt::default()
    };
    assert_eq!(fact(&few, About::Files), "1 file changed (+1 -2): a.rs (+1 -2 lines)");
    assert_eq!(fact(&few, About::Commits), "1 commit: 0000000 `part 1`");
    assert_eq!(
        fact(&few, About::SubAgents),
        "2 sub-agents (3 with those below them): explore-1 completed, explore-2 failed"
    );
    let many = Receipt {
        commits: (1..=5).map(commit).collect(),
        commits_total: 9,
        children: (0..8)
            .map(|n| child("x", if n < 6 { Ending::Completed } else { Ending::OutOfTurns }))
            .collect(),
        children_total: 8,
        below: Below { agents: 8, ..Below::default() },
        ..Receipt::default()
    };
    let commits = "9 commits, the last: 0000000 `part 3`, 0000000 `part 4`, 0000000 `part 5`";
    assert_eq!(fact(&many, About::Commits), commits);
    assert_eq!(fact(&many, About::SubAgents), "8 sub-agents: 6 completed, 2 out of turns");
    let old = Receipt { below: Below { agents: 3, ..Below::default() }, ..Receipt::default() };
    assert_eq!(fact(&old, About::SubAgents), "3 sub-agents");
}
