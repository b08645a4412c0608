//! Tests of the sandbox with real processes.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod environment;
mod hang;
mod memory;
mod running;
mod support;

use std::{path::Path, time::Duration};

use posse_sandbox::{Command, Exit, Finished};

/// Runs a shell command line in a fresh folder.
async fn shell(line: &str, deadline_ms: u64) -> Finished {
    let folder = tempfile::tempdir().unwrap();
    shell_in(folder.path(), line, deadline_ms).await
}

async fn shell_in(folder: &Path, line: &str, deadline_ms: u64) -> Finished {
    let command = Command::shell(line, folder, Duration::from_millis(deadline_ms));
    posse_sandbox::run(command).await.unwrap()
}

/// How a command ended and all it wrote.
async fn said(line: &str) -> (Exit, String) {
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
