//! Exit codes, streams, input, cancellation, and what is left behind: nothing.

use std::{path::Path, time::Duration};

use posse_sandbox::{Command, CommandExit, Program, SandboxError};

use crate::{gone, number_in, said, shell, shell_in};

#[tokio::test]
async fn endings_and_output_are_told() {
    let cases = [
        ("true", CommandExit::Code(0), ""),
        ("exit 7", CommandExit::Code(7), ""),
        ("echo hi", CommandExit::Code(0), "hi\n"),
        ("echo out; echo err >&2; echo out2", CommandExit::Code(0), "out\nerr\nout2\n"),
        ("kill -9 $$", CommandExit::Signal(9), ""),
        ("kill -TERM $$", CommandExit::Signal(15), ""),
        ("no-such-program-here 2>/dev/null", CommandExit::Code(127), ""),
        ("cat", CommandExit::Code(0), ""),
        ("read x; echo \"got:$x\"", CommandExit::Code(0), "got:\n"),
        ("echo > /dev/tty", CommandExit::Code(1), ""),
        ("printf 'a\\0b'", CommandExit::Code(0), "a\0b"),
        ("(sleep 0.05; echo late) & echo first", CommandExit::Code(0), "first\nlate\n"),
    ];
    let mut checked = 0;
    for (line, exit, output) in cases {
        let (ended, text) = said(line).await;
        // What the shell itself says about /dev/tty differs from shell to shell.
        let text = if line.contains("/dev/tty") { "" } else { &text };
        assert_eq!((ended, text), (exit, output), "{line}");
        checked += 1;
    }
    assert_eq!(checked, 12);
}

#[tokio::test]
async fn a_program_has_its_streams_apart_and_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let script = "cat; echo oops >&2";
    let mut command = program("/bin/sh", &["-c", script], folder.path());
    command.env = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    command.stdin = Some(vec![b'x'; 300_000]);
    command.output.head_bytes = 1_000_000;
    let finished = posse_sandbox::run(command).await.unwrap();
    assert_eq!(finished.exit, CommandExit::Code(0));
    assert_eq!(finished.output.bytes(), vec![b'x'; 300_000]);
    assert_eq!(finished.stderr.bytes(), b"oops\n");
}

#[tokio::test]
async fn what_cannot_start_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], cwd: &Path| posse_sandbox::run(program("/bin/echo", arguments, cwd));
    let gone = folder.path().join("gone");
    std::fs::copy("/bin/echo", &gone).unwrap();
    let command = program(gone.to_str().unwrap(), &[], folder.path());
    std::fs::remove_file(gone).unwrap();
    assert!(matches!(posse_sandbox::run(command).await, Err(SandboxError::Start { .. })));
    assert!(matches!(run(&[], &folder.path().join("no")).await, Err(SandboxError::NoFolder(_))));
    assert!(matches!(run(&["a\0b"], folder.path()).await, Err(SandboxError::Start { .. })));
    let long = "x".repeat(3_000_000);
    assert!(matches!(run(&[&long], folder.path()).await, Err(SandboxError::Start { .. })));
}

fn program(path: &str, arguments: &[&str], cwd: &Path) -> Command {
    let program = Program::at(Path::new(path), &[]).unwrap();
    Command::program(&program, arguments.iter().copied(), cwd, Duration::from_secs(20))
}

#[tokio::test]
async fn dropping_the_future_kills_the_whole_group() {
    let folder = tempfile::tempdir().unwrap();
    let line = "trap '' TERM; sleep 60 & echo $! > child; echo $$ > leader; wait; sleep 60";
    let command = Command::shell(line, folder.path(), Duration::from_secs(60));
    let running = tokio::spawn(posse_sandbox::run(command));
    let leader = number_in(&folder.path().join("leader")).await;
    let child = number_in(&folder.path().join("child")).await;
    running.abort();
    gone(leader).await;
    gone(child).await;
}

/// Children that leave the group while their parent lives. Each writes its number to `child`.
const LEAVERS: [&str; 6] = [
    "timeout 60 sh -c 'echo $$ > child; sleep 60'",
    "setsid -w sh -c 'echo $$ > child; sleep 60'",
    "set -m; sh -c 'echo $$ > child; sleep 60' & wait",
    "python3 -c 'import os,time; os.setpgid(0,0); open(\"child\",\"w\").write(str(os.getpid())+\"\\n\"); time.sleep(60)'; true",
    "sh -c 'setsid sh -c \"echo \\$\\$ > child; trap : TERM; sleep 60; sleep 60\" & wait'; true",
    "timeout 60 timeout 60 timeout 60 sh -c 'echo $$ > child; sleep 60'",
];

#[tokio::test]
async fn children_in_groups_of_their_own_end_too() {
    let mut ended = 0;
    for line in LEAVERS {
        let folder = tempfile::tempdir().unwrap();
        let child = folder.path().join("child");
        let finished = shell_in(folder.path(), line, 1_000).await;
        assert_eq!(finished.exit, CommandExit::DeadlineExceeded, "{line}");
        gone(number_in(&child).await).await;
        std::fs::remove_file(&child).unwrap();
        let command = Command::shell(line, folder.path(), Duration::from_secs(60));
        let running = tokio::spawn(posse_sandbox::run(command));
        let pid = number_in(&child).await;
        running.abort();
        gone(pid).await;
        ended += 2;
    }
    assert_eq!(ended, 12);
}

#[tokio::test]
async fn background_children_end_with_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        "sleep 60 & echo $! > child",
        "sleep 60 >/dev/null 2>&1 & echo $! > child",
        "nohup sleep 60 >/dev/null 2>&1 & echo $! > child",
        "(sleep 60 & echo $! > child) &",
        "trap '' TERM HUP; sleep 60 & echo $! > child",
    ];
    for line in lines {
        let _ = std::fs::remove_file(folder.path().join("child"));
        let finished = shell_in(folder.path(), line, 20_000).await;
        assert_eq!(finished.exit, CommandExit::Code(0), "{line}");
        assert!(finished.duration < Duration::from_secs(5), "{line} took {:?}", finished.duration);
        gone(number_in(&folder.path().join("child")).await).await;
    }
}

#[tokio::test]
async fn a_deadline_leaves_the_output_so_far_and_a_chance_to_clean_up() {
    let finished =
        shell("trap 'echo cleaned; exit 3' TERM; echo begun; while :; do sleep 0.01; done", 300).await;
    assert_eq!(finished.exit, CommandExit::DeadlineExceeded);
    let text = String::from_utf8(finished.output.bytes()).unwrap();
    assert!(text.starts_with("begun\n") && text.ends_with("cleaned\n"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_do_not_mix() {
    let runs: Vec<_> =
        (0..50).map(|n| tokio::spawn(async move { said(&format!("echo {n}")).await })).collect();
    let mut checked = 0;
    for (n, run) in runs.into_iter().enumerate() {
        assert_eq!(run.await.unwrap(), (CommandExit::Code(0), format!("{n}\n")));
        checked += 1;
    }
    assert_eq!(checked, 50);
}

#[tokio::test]
async fn cancelling_at_any_moment_leaves_nothing() {
    // A length of sleep that nobody else asks for, to find the processes by.
    let mark = format!("61.{}", std::process::id());
    let folder = tempfile::tempdir().unwrap();
    let mut cancelled = 0;
    for delay_us in (0..6_000).step_by(200) {
        let line = format!("sleep {mark} & sleep {mark}; sleep {mark}");
        let command = Command::shell(line, folder.path(), Duration::from_secs(60));
        let running = tokio::spawn(posse_sandbox::run(command));
        tokio::time::sleep(Duration::from_micros(delay_us)).await;
        running.abort();
        assert!(running.await.unwrap_err().is_cancelled());
        cancelled += 1;
    }
    assert_eq!(cancelled, 30);
    let of_ours = || {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let ours = |pid: &i32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&mark)
        };
        pids.filter(ours).collect::<Vec<i32>>()
    };
    // A child that was being started in the last moment is killed by the thread that started it.
    tokio::time::sleep(Duration::from_millis(100)).await;
    for pid in of_ours() {
        gone(pid).await;
    }
    assert_eq!(of_ours(), Vec::<i32>::new());
}
