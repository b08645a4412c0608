//! Runs one command where there are no process groups to lean on: the direct child is killed, not what it started.

#![allow(clippy::disallowed_types)] // this is the crate the ban points to

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

use crate::{Command, Exit, Finished, SandboxError, What, capture::Capture, child_env, limits};

/// Runs a command to its end, its deadline, or until the future is dropped.
pub async fn run(command: Command) -> Result<Finished, SandboxError> {
    let started = Instant::now();
    if !command.cwd.is_dir() {
        return Err(SandboxError::NoFolder(command.cwd));
    }
    let (program, arguments) = command.words()?;
    let mut process = tokio::process::Command::new(&program);
    process.args(arguments).current_dir(&command.cwd).env_clear().envs(child_env()).kill_on_drop(true);
    process.envs(command.env.iter().map(|(name, value)| (name, value)));
    process.stdin(if command.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    process.stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = program.to_string_lossy().into_owned();
    let mut child = process.spawn().map_err(|source| SandboxError::Start { program, source })?;
    let (stdin, stdout, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    // Both readers share one capture, so that a shell command's streams come out as one.
    let output = std::sync::Mutex::new(Capture::new(command.output));
    let stderr = std::sync::Mutex::new(Capture::new(command.output));
    let errors_into = if matches!(command.what, What::Shell(_)) { &output } else { &stderr };
    let bytes = command.stdin.unwrap_or_default();
    let all = async {
        let feed = async {
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(&bytes).await;
            }
        };
        let read = async { tokio::join!(feed, collect(stdout, &output), collect(errors, errors_into)) };
        let (_, status) = tokio::join!(timeout(command.deadline, read), child.wait());
        status
    };
    let exit = match timeout(command.deadline, all).await {
        Ok(status) => Exit::Code(status?.code().unwrap_or(-1)),
        Err(_) => Exit::DeadlineExceeded,
    };
    if exit == Exit::DeadlineExceeded {
        let _ = timeout(Duration::from_millis(limits::REAP_MS), child.kill()).await;
    }
    let captured = |capture: std::sync::Mutex<Capture>| {
        capture.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).finish()
    };
    Ok(Finished { exit, output: captured(output), stderr: captured(stderr), duration: started.elapsed() })
}

async fn collect(reader: Option<impl AsyncRead + Unpin>, into: &std::sync::Mutex<Capture>) {
    let Some(mut reader) = reader else { return };
    let mut chunk = vec![0; limits::READ_CHUNK_BYTES];
    while let Ok(count @ 1..) = reader.read(&mut chunk).await {
        if let Ok(mut capture) = into.lock() {
            capture.push(&chunk[..count]);
        }
    }
}
