//! Runs a program without a terminal and without a sandbox, beside what the person looks at: this program once more for one of
//! its own commands, or a command of the person's own settings. No agent can reach either. Each call waits for the end, within a
//! deadline, so it belongs on a thread of its own.

#![allow(clippy::disallowed_types)] // this is the crate the ban points to

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::command::shell_program;
use crate::env::without;
use crate::{CapturedOutput, CommandExit, OutputLimits, Program};

/// What a person runs with their own rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonCommand {
    /// A line for the shell: bash where there is one, else `/bin/sh`.
    Shell(String),
    /// A program and its arguments.
    Program(Program, Vec<OsString>),
}

impl PersonCommand {
    /// The process that it is, in a folder. Nothing is started.
    pub(crate) fn process(&self, folder: &Path) -> std::process::Command {
        let (program, arguments) = self.words();
        let mut process = std::process::Command::new(program);
        process.args(arguments).current_dir(folder);
        #[cfg(unix)]
        if let Self::Program(program, _) = self {
            std::os::unix::process::CommandExt::arg0(&mut process, program.name());
        }
        process
    }

    fn words(&self) -> (OsString, Vec<OsString>) {
        match self {
            Self::Shell(line) => (shell_program().into(), vec!["-c".into(), line.into()]),
            Self::Program(program, arguments) => (program.path().into(), arguments.clone()),
        }
    }
}

/// A command of the person's own settings, or a tool of their desktop, ready to run without a terminal.
#[derive(Clone, Debug)]
pub struct PersonProgram {
    /// What to run.
    pub command: PersonCommand,
    /// The folder it runs in.
    pub folder: PathBuf,
    /// Variables that it has beside the person's own.
    pub variables: Vec<(String, String)>,
    /// Folders that agents write. No program or library is looked for in there.
    pub distrusted: Vec<PathBuf>,
    /// What it reads.
    pub input: Vec<u8>,
    /// When it is ended, with all that it started.
    pub deadline: Duration,
    /// How much is kept of each of its two streams.
    pub output: OutputLimits,
}

/// What came of a program that ran beside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsideOutput {
    /// How it ended.
    pub exit: CommandExit,
    /// What it wrote to its standard output.
    pub stdout: CapturedOutput,
    /// What it wrote to its standard error.
    pub stderr: CapturedOutput,
}

/// What came of running this program once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnOutput {
    /// What it wrote to its standard output, with a line that says how much of it is left out.
    pub stdout: String,
    /// The same of its standard error.
    pub stderr: String,
    /// How it ended; none if a signal or the deadline ended it.
    pub code: Option<i32>,
    /// Whether the deadline ended it.
    pub late: bool,
}

/// Runs this program once more, with other arguments and in another folder, and waits for its end. It has no terminal.
pub fn own_program(
    arguments: &[OsString],
    folder: &Path,
    input: &str,
    deadline: Duration,
    output: OutputLimits,
) -> io::Result<OwnOutput> {
    let mut command = std::process::Command::new(own_path()?);
    command.args(arguments).current_dir(folder);
    let ended = run(command, input.as_bytes().to_vec(), deadline, output, Parent::Outlived)?;
    let code = match ended.exit {
        CommandExit::Code(code) => Some(code),
        CommandExit::Signal(_) | CommandExit::DeadlineExceeded => None,
    };
    let late = ended.exit == CommandExit::DeadlineExceeded;
    Ok(OwnOutput { stdout: text(&ended.stdout), stderr: text(&ended.stderr), code, late })
}

/// Runs a command of the person's own and waits for its end. It has the person's rights and environment, and no terminal. Its
/// process group is ended at the deadline; what is left of it after its own end goes on, as a clipboard does.
pub fn person_program(program: PersonProgram) -> io::Result<AsideOutput> {
    let mut command = program.command.process(&program.folder);
    if !program.distrusted.is_empty() {
        let (kept, _) = without(std::env::vars_os().collect(), &program.distrusted, &program.folder);
        command.env_clear().envs(kept);
    }
    command.envs(program.variables);
    run(command, program.input, program.deadline, program.output, Parent::Needed)
}

/// Where this program is.
pub(crate) fn own_path() -> io::Result<PathBuf> {
    // The file may have been replaced by a newer version; the kernel still has the one that runs.
    let own = std::env::current_exe()?;
    Ok(if own.exists() { own } else { "/proc/self/exe".into() })
}

fn text(output: &CapturedOutput) -> String {
    let (head, tail) = (String::from_utf8_lossy(&output.head), String::from_utf8_lossy(&output.tail));
    match output.left_out_bytes() {
        0 => String::from_utf8_lossy(&output.bytes()).into_owned(),
        bytes => format!("{head}\n… {bytes} bytes are left out …\n{tail}"),
    }
}

/// Whether a program ends with the process that started it.
#[derive(Clone, Copy)]
enum Parent {
    Needed,
    Outlived,
}

#[cfg(unix)]
use unix::run;

#[cfg(not(unix))]
fn run(
    _: std::process::Command,
    _: Vec<u8>,
    _: Duration,
    _: OutputLimits,
    _: Parent,
) -> io::Result<AsideOutput> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
mod unix {
    //! How it is done on Unix.

    use std::io;
    use std::os::fd::OwnedFd;
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

    use super::{AsideOutput, Parent};
    use crate::run_unix::cut_loose;
    use crate::stream_ends::close_on_exec;
    use crate::talk::{Heard, Talk};
    use crate::{CommandExit, OutputLimits, limits};

    pub(super) fn run(
        mut command: Command,
        input: Vec<u8>,
        deadline: Duration,
        output: OutputLimits,
        needs: Parent,
    ) -> io::Result<AsideOutput> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let parent = rustix::process::getpid();
        // SAFETY: the closure runs between fork and exec and makes only system calls; it allocates nothing.
        unsafe {
            command.pre_exec(move || match needs {
                Parent::Needed => cut_loose(parent),
                Parent::Outlived => {
                    rustix::process::setsid()?;
                    close_on_exec();
                    Ok(())
                }
            });
        }
        let until = Instant::now().checked_add(deadline);
        let mut child = command.spawn()?;
        let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
        let group = group.ok_or_else(|| io::Error::other("a started child has no id"))?;
        let talked = Talk::with(&mut child, input, output)
            .and_then(|talk| Ok((talk, tell_end(group)?)))
            .and_then(|(mut talk, end)| Ok((see_off(&mut talk, group, until, &end)?, talk)));
        if talked.is_err() {
            let _ = kill_process_group(group, Signal::KILL);
        }
        // Reaped last, so that the number of its group is nobody else's until then.
        let status = child.wait()?;
        let (late, talk) = talked?;
        let exit = match (late, status.code(), status.signal()) {
            (true, ..) => CommandExit::DeadlineExceeded,
            (false, Some(code), _) => CommandExit::Code(code),
            (false, None, signal) => CommandExit::Signal(signal.unwrap_or_default()),
        };
        Ok(AsideOutput { exit, stdout: talk.said.so_far(), stderr: talk.complained.so_far() })
    }

    /// Talks to a program until its end. Says whether the deadline ended it.
    fn see_off(talk: &mut Talk, group: Pid, until: Option<Instant>, end: &OwnedFd) -> io::Result<bool> {
        let late = loop {
            match talk.round(until, Some(end))? {
                Heard::More if until.is_none_or(|until| Instant::now() < until) => {}
                Heard::More | Heard::Late => break true,
                Heard::Ended => break false,
            }
        };
        if late {
            let _ = kill_process_group(group, Signal::TERM);
            let grace = Instant::now() + Duration::from_millis(limits::TERM_GRACE_MS);
            while Instant::now() < grace && talk.round(Some(grace), Some(end))? == Heard::More {}
            let _ = kill_process_group(group, Signal::KILL);
        }
        // Another process may hold its pipes open.
        let drained = Instant::now() + Duration::from_millis(limits::DRAIN_MS);
        while talk.open() && Instant::now() < drained && talk.round(Some(drained), None)? == Heard::More {}
        Ok(late)
    }

    /// A pipe whose other side is closed when a child has ended. The child is not reaped.
    fn tell_end(child: Pid) -> io::Result<OwnedFd> {
        let (reader, writer) = io::pipe()?;
        std::thread::Builder::new().name("child".to_owned()).spawn(move || {
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(child), ended), Err(rustix::io::Errno::INTR)) {}
            drop(writer);
        })?;
        Ok(reader.into())
    }
}
