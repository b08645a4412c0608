//! Runs something on a worker over ssh, and waits for it within a limit. What comes from there is a stranger's text.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::Context as _;
use posse_sandbox::{CommandExit, OutputLimits, PersonCommand, PersonProgram, person_program};
use posse_setup::{Paths, SshTarget, SshTool};

use crate::limits::{REMOTE_ANSWER_BYTES_MAX, REMOTE_ANSWER_MS_MAX};
use crate::output::one_line;

/// What came of it.
pub(super) struct Remote {
    /// Whether it ended well.
    pub(super) ok: bool,
    /// How it ended; none if it took too long or was killed.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Remote {
    /// What went wrong, in one line.
    pub(super) fn trouble(&self) -> String {
        let lines: Vec<&str> = self.stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        match (lines.last(), self.code) {
            (Some(last), _) => one_line(last, 300),
            (None, Some(code)) => format!("it ended with code {code} and said nothing"),
            (None, None) => "it did not answer in time".to_owned(),
        }
    }
}

/// Runs the worker's posse with these words.
pub(super) async fn posse(paths: &Paths, target: &SshTarget, words: &[&str]) -> anyhow::Result<Remote> {
    let all: Vec<String> =
        std::iter::once(target.program.as_str()).chain(words.iter().copied()).map(str::to_owned).collect();
    let tool = tool(paths)?;
    let arguments = tool.arguments(target, &all);
    run(tool, arguments, Vec::new(), Duration::from_millis(REMOTE_ANSWER_MS_MAX)).await
}

/// Runs a line of the shell there, which reads the input.
pub(super) async fn shell(
    paths: &Paths,
    target: &SshTarget,
    line: &str,
    input: Vec<u8>,
    patience: Duration,
) -> anyhow::Result<Remote> {
    let tool = tool(paths)?;
    let arguments = tool.shell_arguments(target, line);
    run(tool, arguments, input, patience).await
}

fn tool(paths: &Paths) -> anyhow::Result<SshTool> {
    SshTool::find(paths, paths.surroundings().folder()?)
        .context("there is no ssh in your PATH; install it (openssh-client)")
}

async fn run(
    tool: SshTool,
    arguments: Vec<OsString>,
    input: Vec<u8>,
    deadline: Duration,
) -> anyhow::Result<Remote> {
    let program = PersonProgram {
        command: PersonCommand::Program(tool.program, arguments),
        folder: tool.folder,
        variables: Vec::new(),
        distrusted: Vec::new(),
        input,
        deadline,
        output: OutputLimits { head_bytes: REMOTE_ANSWER_BYTES_MAX, tail_bytes: REMOTE_ANSWER_BYTES_MAX },
    };
    let ended = tokio::task::spawn_blocking(move || person_program(program)).await??;
    let code = match ended.exit {
        CommandExit::Code(code) => Some(code),
        CommandExit::Signal(_) | CommandExit::DeadlineExceeded => None,
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Remote {
        ok: code == Some(0),
        code,
        stdout: text(ended.stdout.bytes()),
        stderr: text(ended.stderr.bytes()),
    })
}
