//! What is to be run, and what came of it. Plain data: nothing here touches the system.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{CapturedOutput, OutputLimits, Program, SandboxProfile, Touched, child_env, env::without};

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A command line for the shell: bash where there is one, else `/bin/sh`. Its two output streams are captured
    /// as one, in the order they were written.
    Shell(String),
    /// A program of our own and its arguments, without a shell. Its environment is [`Command::env`] and nothing else; its
    /// two output streams are captured apart.
    Program(Program, Vec<OsString>),
    /// A program by its name, as the search path of its environment has it, and its arguments, which no shell reads. Its
    /// environment is that of a shell command; its two output streams are captured apart.
    Named(String, Vec<String>),
}

/// One command, ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What to run.
    pub what: What,
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// For a shell command added to [`crate::child_env`], the only other source of its environment.
    pub env: Vec<(String, String)>,
    /// When it is stopped.
    pub deadline: Duration,
    /// How much of its output is kept.
    pub output: OutputLimits,
    /// What it reads; with `None` its input is at its end from the start.
    pub stdin: Option<Vec<u8>>,
    /// How the kernel confines it. With `None` it has all the rights of this process: only for what a person has
    /// allowed outside.
    pub confinement: Option<SandboxProfile>,
    /// Folders that agents write. A command that a person let out looks for no program or library in there unless it says
    /// so: entries of search paths that lead there, and settings that name them, are left out of its environment.
    pub distrusted: Vec<PathBuf>,
}

impl Command {
    /// A shell command line with default limits.
    pub fn shell(line: impl Into<String>, cwd: &Path, deadline: Duration) -> Self {
        Self::new(What::Shell(line.into()), cwd, deadline)
    }

    /// A program of our own with arguments and default limits.
    pub fn program<S: Into<OsString>>(
        program: &Program,
        arguments: impl IntoIterator<Item = S>,
        cwd: &Path,
        deadline: Duration,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self::new(What::Program(program.clone(), arguments), cwd, deadline)
    }

    fn new(what: What, cwd: &Path, deadline: Duration) -> Self {
        let cwd = cwd.to_owned();
        let output = OutputLimits::default();
        let (env, distrusted) = (Vec::new(), Vec::new());
        Self { what, cwd, env, deadline, output, stdin: None, confinement: None, distrusted }
    }

    /// The program and its arguments as they are started.
    pub(crate) fn words(&self) -> (OsString, Vec<OsString>) {
        match &self.what {
            What::Shell(line) => (shell_program().into(), vec!["-c".into(), line.into()]),
            What::Program(program, arguments) => (program.path().into(), arguments.clone()),
            What::Named(name, arguments) => {
                let begin = ["-c", r#"exec "$0" "$@""#, name.as_str()].into_iter();
                let words = begin.chain(arguments.iter().map(String::as_str));
                (shell_program().into(), words.map(OsString::from).collect())
            }
        }
    }

    /// Everything in its environment, and what was left out of it. What is the person's is for what agents run; a program
    /// of ours gets none of it.
    pub(crate) fn environment(&self) -> (Vec<(OsString, OsString)>, Vec<String>) {
        let inherited = match self.what {
            What::Shell(_) | What::Named(..) => child_env(),
            What::Program(..) => Vec::new(),
        };
        let (mut all, left_out) = match self.distrusted.is_empty() {
            true => (inherited, Vec::new()),
            false => without(inherited, &self.distrusted, &self.cwd),
        };
        let own = self.env.iter().map(|(name, value)| (name.into(), value.into()));
        match &self.what {
            // All that it has is given; what leads to agents' files is left out of that, too.
            What::Program(..) if !self.distrusted.is_empty() => {
                without(own.collect(), &self.distrusted, &self.cwd)
            }
            _ => {
                all.extend(own);
                (all, left_out)
            }
        }
    }
}

#[cfg(unix)]
pub(crate) fn shell_program() -> &'static str {
    ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists()).unwrap_or("/bin/sh")
}

#[cfg(not(unix))]
pub(crate) fn shell_program() -> &'static str {
    "sh"
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandExit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal, not sent by us.
    Signal(i32),
    /// It was stopped because its time was over.
    DeadlineExceeded,
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutcome {
    /// How it ended.
    pub exit: CommandExit,
    /// For a shell command everything it wrote, in order; for a program its standard output.
    pub output: CapturedOutput,
    /// The standard error of a program; empty for a shell command.
    pub stderr: CapturedOutput,
    /// From start to end.
    pub duration: Duration,
    /// What somebody who reads the result should know about how it was run; usually nothing.
    pub notes: Vec<String>,
    /// What it named in order to change it.
    pub touched: Touched,
}

/// Why a command could not be run at all.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The folder to run in is not there.
    #[error("the folder to run in, {0}, is not there")]
    NoFolder(PathBuf),
    /// The program could not be started.
    #[error("{program} could not be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// It was to be confined and could not be. It was not run.
    #[error("the command was not run, because it could not be confined: {0}")]
    NotConfined(String),
    /// The system refused a pipe or a wait.
    #[error("the system refused to run a process: {0}")]
    System(#[from] std::io::Error),
}
