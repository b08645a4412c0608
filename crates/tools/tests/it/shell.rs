//! shell: endings, output, deadlines, cancellation, and text that is the same each time.

use std::time::Duration;

use posse_protocol::Effect;
use posse_tools::ToolSettings;
use serde_json::json;

use crate::{Desk, call_of, full};

#[tokio::test]
async fn commands_end_and_say_so() {
    let desk = Desk::new(&[("a", "x\n")]);
    let cases = [
        ("echo hi", Some(0), "exit code 0\nhi"),
        ("true", Some(0), "exit code 0\n(no output)"),
        ("echo no >&2; exit 3", Some(3), "exit code 3\nno"),
        ("kill -9 $$", None, "ended by signal 9\n(no output)"),
        ("cat a", Some(0), "exit code 0\nx"),
        ("cat", Some(0), "exit code 0\n(no output)"),
        (
            "printf '\\033[31mred\\033[0m\\033]0;title\\007 x\\r\\ny\\rz\\001'",
            Some(0),
            "exit code 0\nred x\ny\nz\\u{1}",
        ),
        ("printf 'caf\\351'", Some(0), "exit code 0\ncaf\u{fffd}"),
        ("basename $PWD", Some(0), "exit code 0\nproject"),
    ];
    for (command, exit_code, text) in cases {
        let outcome = desk.call("shell", json!({"command": command})).await;
        assert_eq!((outcome.ok, outcome.text.as_str()), (exit_code == Some(0), text), "{command}");
        let [Effect::Command(run)] = outcome.effects.as_slice() else { panic!("{:?}", outcome.effects) };
        assert_eq!((run.command.as_str(), run.exit_code, run.tests.is_none()), (command, exit_code, true));
    }
    desk.bad("shell", json!({"command": "  "})).await;
    let nul = desk.bad("shell", json!({"command": "echo a\u{0}b"})).await;
    assert!(nul.contains("could not be started"), "{nul}");
}

#[tokio::test]
async fn long_output_keeps_its_ends() {
    let settings = ToolSettings { shell_head_bytes: 10, shell_tail_bytes: 10, ..ToolSettings::default() };
    let desk = Desk::with(&[], full(), settings);
    let text = desk.good("shell", json!({"command": "seq -w 1 1000"})).await;
    assert_eq!(text, "exit code 0\n0001\n0002\n(4980 of 5000 bytes left out here)\n0999\n1000");
}

#[tokio::test]
async fn deadlines_hold_and_are_capped() {
    let settings =
        ToolSettings { shell_timeout_ms: 300, shell_timeout_max_ms: 1500, ..ToolSettings::default() };
    let desk = Desk::with(&[], full(), settings);
    let cases = [
        (json!({"command": "echo begun; sleep 60"}), 300),
        (json!({"command": "echo begun; sleep 60", "timeout_ms": "100"}), 1000),
        (json!({"command": "echo begun; sleep 60", "timeout_s": 3600}), 1500),
        (json!({"command": "echo begun; sleep 60", "timeout": 99_999_999_999_u64}), 1500),
    ];
    for (arguments, deadline_ms) in cases {
        let text = desk.bad("shell", arguments).await;
        assert_eq!(
            text,
            format!("stopped: not done within {deadline_ms} ms (timeout_ms can be longer)\nbegun")
        );
    }
}

#[tokio::test]
async fn dropping_a_call_ends_its_processes() {
    let desk = Desk::new(&[]);
    let call = call_of("shell", json!({"command": "sleep 61.5 & touch begun; wait"}).to_string());
    let running = tokio::spawn(desk.tools.prepare(&call).unwrap().run());
    while !desk.at("begun").exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    running.abort();
    for _ in 0..200 {
        if posse_testkit::processes_with("61.5").is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the command is still running");
}

#[tokio::test]
async fn the_same_command_gives_the_same_text() {
    let first = Desk::new(&[("a", "x")]).call("shell", json!({"command": "ls; cat a; false"})).await;
    let second = Desk::new(&[("a", "x")]).call("shell", json!({"command": "ls; cat a; false"})).await;
    assert_eq!(first, second);
}

/// In mode full an agent can put anything in the place of a repository. What Posse reads there keeps it neither waiting nor
/// reading for ever.
#[tokio::test]
async fn what_is_in_the_place_of_a_repository_is_not_waited_for() {
    let plants = [
        "mkfifo .git",
        "mkfifo held; ln -s held .git",
        "ln -s /dev/zero .git",
        "mkdir -p own; mkfifo own/gitdir; echo \"gitdir: $PWD/own\" > .git",
        "mkdir -p own; ln -s /dev/zero own/gitdir; echo \"gitdir: $PWD/own\" > .git",
    ];
    let mut tried = 0;
    for plant in plants {
        let desk = Desk::new(&[]);
        let made = std::process::Command::new("sh").args(["-c", plant]).current_dir(desk.at(".")).status();
        assert!(made.unwrap().success(), "{plant}");
        let text = desk.good("shell", json!({"command": "echo on"})).await;
        assert_eq!(text, "exit code 0\non", "{plant}");
        tried += 1;
    }
    assert_eq!(tried, 5);
}

/// A person who lets `git push` out means git, not what an agent has put on the search path.
#[tokio::test]
async fn outside_the_sandbox_nothing_is_found_where_agents_write() {
    let me = std::env::current_exe().unwrap();
    let again = ["--exact", "shell::calls_a_planted_program", "--nocapture"];
    let desk = Desk::new(&[("bin/planted", "#!/bin/sh\necho planted ran\n")]);
    std::fs::set_permissions(desk.at("bin/planted"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let path = format!("{}:/usr/bin:/bin", desk.at("bin").display());
    let root = desk.at("").canonicalize().unwrap();
    // Started again, because setting variables in a threaded process is not safe.
    let done =
        std::process::Command::new(me).args(again).env("PATH", path).env("POSSE_TEST_ROOT", root).output();
    let said = String::from_utf8(done.unwrap().stdout).unwrap();
    assert!(said.contains("inside: exit code 0\nplanted ran"), "{said}");
    assert!(said.contains("outside: exit code 127") && said.contains("left out: PATH: "), "{said}");
    assert!(said.contains("by path: exit code 0\nplanted ran"), "{said}");
}

/// Only of interest when started by the test above.
#[tokio::test]
async fn calls_a_planted_program() {
    let Some(root) = std::env::var_os("POSSE_TEST_ROOT") else { return };
    let workspace = posse_workspace::Workspace::open(root).unwrap();
    let tools = posse_tools::Toolbox::new(
        &workspace,
        full(),
        ToolSettings::default(),
        crate::owner(),
        posse_tools::Jobs::default(),
        posse_tools::Knowledge::default(),
    );
    let calls =
        [("inside", "planted", false), ("outside", "planted", true), ("by path", "bin/planted", true)];
    for (name, command, outside) in calls {
        let call = call_of("shell", json!({"command": command, "outside_sandbox": outside}).to_string());
        let text = tools.prepare(&call).unwrap().run().await.text;
        println!("{name}: {text}");
    }
}
