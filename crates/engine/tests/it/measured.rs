//! What a receipt says of tests, test files and sub-agents, in the order in which it happened.

use posse_protocol::{ChildEnded, Ending, TestFileChange, TestVerdict, TestsSeen};
use posse_testkit::Turn;
use serde_json::json;

use crate::crew::{REPORT, Stage};
use crate::follow::{named, sh, wait};

#[tokio::test]
async fn facts_of_a_session_are_measured_in_order() {
    let write =
        |path: &str, content: &str| Turn::call("write_file", json!({"path": path, "content": content}));
    let main = vec![
        write("test.sh", "check() { [ -f a.txt ]; }\ncheck\n"),
        sh("sh test.sh"),
        sh("echo '12 passed in 0.1s'"),
        Turn::call("agent", named("child", "general", "Do it.")),
        wait(),
        Turn::text("Done."),
    ];
    let child = vec![write("new.txt", "new\n"), sh("sh test.sh; true"), sh("exit 3"), Turn::text(REPORT)];
    let stage = Stage::new([("main", main), ("child", child)]).await;
    let ran = stage.run("go").await;

    let receipt = &ran.report.receipt;
    let seen = TestsSeen {
        command: "sh test.sh".into(),
        exit_code: Some(0),
        files: vec!["test.sh".into()],
        by_name: true,
        ..TestsSeen::default()
    };
    // Main wrote the script itself, and the child has changed a file since.
    assert_eq!(receipt.tests, Some(TestsSeen { own: true, edited_after: true, ..seen.clone() }));
    assert_eq!((receipt.commands_total, receipt.commands_failed), (2, 0));
    assert_eq!((receipt.below.commands, receipt.below.commands_failed), (2, 1));
    let ended = ChildEnded { name: "child".into(), role: "general".into(), ending: Ending::Completed };
    assert_eq!((&receipt.children, receipt.children_total), (&vec![ended], 1));
    let test_file = TestFileChange { path: "test.sh".into(), created: true, ..TestFileChange::default() };
    assert_eq!(receipt.test_files, [test_file]);

    let below = ran.report_of("child").receipt.clone();
    let hidden = TestsSeen { command: "sh test.sh; true".into(), hidden_by: Some("; true".into()), ..seen };
    assert_eq!(below.tests, Some(hidden.clone()));
    assert_eq!(below.last_command.and_then(|run| run.exit_code), Some(3));
    assert_eq!(receipt.tests_below, Some(TestsSeen { by: Some("child".into()), own: true, ..hidden }));
}

/// What says what runs is named beside the result when the agent changed it, whatever it is called.
#[tokio::test]
async fn files_that_say_what_runs_stand_beside_the_result() {
    let write =
        |path: &str, content: &str| Turn::call("write_file", json!({"path": path, "content": content}));
    // The runner, its script and the file that names it; how that is told.
    let cases = [
        ("run.sh", "#!/bin/sh\npython3 -m unittest\n", "sh run.sh", Some(TestVerdict::NoneRan)),
        ("check.sh", "grep -q x run.txt\n", "sh check.sh", Some(TestVerdict::Failed)),
        ("Makefile", "test:\n\tpython3 -m unittest\n", "make test", Some(TestVerdict::NoneRan)),
        ("pytest", "#!/bin/sh\necho '12 passed in 1s'\n", "chmod +x pytest; ./pytest", None),
        (
            "run_tests.py",
            "import os\nos.write(1, b'12 passed in 1s')\n",
            "python3 run_tests.py",
            Some(TestVerdict::Own),
        ),
    ];
    for (path, content, command, verdict) in cases {
        let main = vec![write("run.txt", "y\n"), write(path, content), sh(command), Turn::text("Done.")];
        let ran = Stage::new([("main", main)]).await.run("go").await;
        let receipt = &ran.report.receipt;
        let named = receipt.test_files.iter().map(|file| (file.path.as_str(), file.created));
        let seen = receipt.tests.as_ref().map(TestsSeen::verdict);
        // Python before 3.12 ends well without tests.
        assert!(seen == verdict || seen == Some(TestVerdict::Failed), "{command}: {receipt:?}");
        let wanted = if verdict.is_some() { vec![(path, true)] } else { Vec::new() };
        assert_eq!(named.collect::<Vec<_>>(), wanted, "{command}");
    }
}
