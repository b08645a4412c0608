//! Tests of the sandbox with real processes.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_types)] // these tests stand in for the programs that this crate is part of

#[cfg(target_os = "linux")]
mod ahead;
mod aside;
#[cfg(target_os = "linux")]
mod bare;
#[cfg(target_os = "linux")]
mod confined;
#[cfg(target_os = "linux")]
mod done_for;
#[cfg(target_os = "linux")]
mod endings;
mod environment;
#[cfg(target_os = "linux")]
mod guard;
mod hang;
#[cfg(target_os = "linux")]
mod hidden;
mod job;
mod memory;
#[cfg(target_os = "linux")]
mod missing;
#[cfg(target_os = "linux")]
mod on_terminal;
#[cfg(target_os = "linux")]
mod ordinary;
#[cfg(target_os = "linux")]
mod outside;
#[cfg(target_os = "linux")]
mod privilege;
#[cfg(target_os = "linux")]
mod protected;
#[cfg(target_os = "linux")]
mod raced;
mod running;
#[cfg(target_os = "linux")]
mod share;
#[cfg(target_os = "linux")]
mod sideways;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
mod support;
#[cfg(target_os = "linux")]
mod talking;
#[cfg(target_os = "linux")]
mod touched;

use std::{path::Path, time::Duration};

use posse_sandbox::{Command, CommandExit, CommandOutcome, Level, SandboxProfile};

/// This very program, to run one of its tests with a variable set: for what needs a process of its own.
#[cfg(target_os = "linux")]
fn again(program: &Path, test: &str, name: &str, value: &str) -> std::process::Command {
    let mut process = std::process::Command::new(program);
    process.args(["--exact", test, "--nocapture"]).env(name, value);
    process
}

/// What a process started by [`again`] had to say, line by line, without what the test framework says.
#[cfg(target_os = "linux")]
fn said_lines(mut process: std::process::Command) -> Vec<String> {
    let output = process.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_once("SAID ")).map(|(_, said)| said.to_owned()).collect()
}

/// A confined shell line with changes to its profile.
fn confined_shell(
    level: Level,
    workspace: &Path,
    line: &str,
    change: impl FnOnce(&mut SandboxProfile),
) -> Command {
    let mut profile = SandboxProfile::new(level, workspace);
    change(&mut profile);
    let mut command = Command::shell(line, workspace, Duration::from_secs(30));
    command.confinement = Some(profile);
    command
}

/// Runs it; how it ended, and all it wrote.
#[cfg(target_os = "linux")]
async fn confined_said(
    level: Level,
    workspace: &Path,
    line: &str,
    change: impl FnOnce(&mut SandboxProfile),
) -> (CommandExit, String) {
    let finished = posse_sandbox::run(confined_shell(level, workspace, line, change)).await.unwrap();
    (finished.exit, String::from_utf8_lossy(&finished.output.bytes()).into_owned())
}

/// A Python program, confined, to make system calls as they are: `call(number, ...)` gives the result or the error.
#[cfg(target_os = "linux")]
fn python(level: Level, workspace: &Path, program: &str) -> Command {
    let with = "import ctypes, os, socket, struct, sys, threading, time\n\
                libc = ctypes.CDLL(None, use_errno=True)\n\
                def call(*words):\n \
                done = libc.syscall(*[ctypes.c_long(w) if isinstance(w, int) else w for w in words])\n \
                return done if done >= 0 else -ctypes.get_errno()\n";
    let quoted = format!("{with}{program}").replace('\'', r"'\''");
    let line = format!("exec python3 -c '{quoted}'");
    let mut command = Command::shell(line, workspace, Duration::from_secs(60));
    command.confinement = Some(SandboxProfile::new(level, workspace));
    command
}

/// The names in a folder, sorted.
#[cfg(target_os = "linux")]
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Runs a shell command line in a fresh folder.
async fn shell(line: &str, deadline_ms: u64) -> CommandOutcome {
    let folder = tempfile::tempdir().unwrap();
    shell_in(folder.path(), line, deadline_ms).await
}

async fn shell_in(folder: &Path, line: &str, deadline_ms: u64) -> CommandOutcome {
    let command = Command::shell(line, folder, Duration::from_millis(deadline_ms));
    posse_sandbox::run(command).await.unwrap()
}

/// How a command ended and all it wrote.
async fn said(line: &str) -> (CommandExit, String) {
    let finished = shell(line, 20_000).await;
    (finished.exit, String::from_utf8(finished.output.bytes()).unwrap())
}

/// Whether a process is there and not just waiting to be reaped.
fn alive(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|status| !status.rsplit(") ").next().unwrap().starts_with(['Z', 'X']))
}

/// Waits until a process is gone; panics if it will not go.
async fn gone(pid: i32) {
    for _ in 0..100 {
        if !alive(pid) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("process {pid} is still there: {:?}", std::fs::read_to_string(format!("/proc/{pid}/status")));
}

/// Waits for a number to appear in a file.
async fn number_in(file: &Path) -> i32 {
    for _ in 0..500 {
        let number = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
        if let Some(number) = number {
            return number;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nothing was written to {}", file.display());
}
