//! Runs one command on Unix.
//!
//! ```text
//! start ─► running ─► leader ended ─────────► drain ──┐
//!             │                                       ├─► kill all of it ─► reap ─► drain ─► Ending
//!             ├─► deadline or stop ─► SIGTERM ─► grace ┘                                      ▲
//!             └─► confined: nothing of it is left, says who confines it, and cleans up alone ─┘
//! ```
//! Dropping it at any point ends all of it. The leader is reaped only after its group was killed, so the group's number
//! cannot have been given to anybody else by then. A confined command's leader is the process that confines it.

#![allow(clippy::disallowed_types)] // this is the crate the ban points to

use std::{
    fs::File,
    io::{self, PipeReader, PipeWriter},
    os::{fd::OwnedFd, unix::process::ExitStatusExt},
    pin::{Pin, pin},
    process::ExitStatus,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::process::Pid;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::pipe,
    sync::watch,
    time::{sleep, timeout},
};

#[cfg(target_os = "linux")]
use crate::linux::confined::{self, Confined};
#[cfg(not(target_os = "linux"))]
use crate::no_confinement::{self as confined, Confined};
use crate::{
    Command, CommandExit, SandboxError, Touched, What,
    capture::Capture,
    group::RunningChild,
    limits, spawner,
    stream_ends::{StreamEnds, close_on_exec},
    streams::{CommandEnd, Streams, TalkStreams, passed},
};

/// A command that has been started.
pub(crate) struct StartedCommand {
    running: RunningChild,
    confined: Option<Confined>,
    /// None where somebody else reads it.
    output: Option<pipe::Receiver>,
    stderr: Option<pipe::Receiver>,
    stdin: Option<pipe::Sender>,
    /// What goes into it.
    bytes: Vec<u8>,
    at: Instant,
    /// What its environment lacks.
    left_out: Vec<String>,
}

/// Starts a command, confined if it asks for that.
pub(crate) async fn start(mut command: Command) -> Result<StartedCommand, SandboxError> {
    let at = Instant::now();
    if !command.cwd.is_dir() {
        return Err(SandboxError::NoFolder(command.cwd));
    }
    let profile = command.confinement.take();
    let (program, arguments) = command.words();
    let (env, left_out) = command.environment();
    let name = program.to_string_lossy().into_owned();
    let (ends, ours) = streams(&command)?;
    let started = match profile {
        Some(profile) => {
            let prepared = confined::prepare(&profile, &command.cwd, program, arguments, env)?;
            let (running, confined) = prepared.begin(&name, ends).await?;
            (running, Some(confined))
        }
        None => {
            let mut process = tokio::process::Command::new(&program);
            process.args(arguments).current_dir(&command.cwd).env_clear().envs(env).kill_on_drop(true);
            let StreamEnds { stdin, stdout, stderr } = ends;
            process.stdin(stdin).stdout(stdout).stderr(stderr);
            let parent = rustix::process::getpid();
            // SAFETY: the closure runs between fork and exec and makes only system calls; it allocates nothing.
            unsafe { process.pre_exec(move || cut_loose(parent)) };
            let started = spawner::spawn(process, None).await;
            (started.map_err(|source| SandboxError::Start { program: name, source })?, None)
        }
    };
    let (running, confined) = started;
    let Ours { stdin, output, stderr } = ours;
    let stdin = stdin.map(|writer| pipe::Sender::from_owned_fd(writer.into())).transpose()?;
    let (output, stderr) = (Some(asynchronous(output)?), stderr.map(asynchronous).transpose()?);
    let bytes = command.stdin.unwrap_or_default();
    Ok(StartedCommand { running, confined, output, stderr, stdin, bytes, at, left_out })
}

/// The other ends.
struct Ours {
    /// None where the command has nothing to read.
    stdin: Option<PipeWriter>,
    output: PipeReader,
    /// None where it is one with the output.
    stderr: Option<PipeReader>,
}

fn streams(command: &Command) -> io::Result<(StreamEnds, Ours)> {
    let (theirs, stdin) = match command.stdin {
        Some(_) => io::pipe().map(|(reader, writer)| (reader.into(), Some(writer)))?,
        None => (OwnedFd::from(File::open("/dev/null")?), None),
    };
    let (output, writer) = io::pipe()?;
    let (errors, stderr) = match command.what {
        What::Shell(_) => (writer.try_clone()?, None),
        What::Program(..) | What::Named(..) => io::pipe().map(|(reader, writer)| (writer, Some(reader)))?,
    };
    let ends = StreamEnds { stdin: theirs, stdout: writer.into(), stderr: errors.into() };
    Ok((ends, Ours { stdin, output, stderr }))
}

fn asynchronous(reader: PipeReader) -> io::Result<pipe::Receiver> {
    pipe::Receiver::from_owned_fd(OwnedFd::from(reader))
}

/// In the child, before exec: a session of its own without a terminal, death with the parent, no inherited files.
pub(crate) fn cut_loose(parent: Pid) -> io::Result<()> {
    rustix::process::setsid()?;
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    close_on_exec();
    // The parent may have died before the signal was set.
    if rustix::process::getppid() != Some(parent) {
        return Err(io::ErrorKind::Interrupted.into());
    }
    Ok(())
}

impl StartedCommand {
    /// Its input and its output, for whoever talks with it instead of reading what it wrote afterwards. Once.
    pub(crate) fn take_streams(&mut self) -> Option<TalkStreams> {
        Some(TalkStreams { input: Box::new(self.stdin.take()?), output: Box::new(self.output.take()?) })
    }

    /// Sees the command to its end.
    pub(crate) async fn finish(
        mut self,
        into: &Streams,
        stop: watch::Receiver<bool>,
        deadline: watch::Receiver<Duration>,
    ) -> CommandEnd {
        let over = AtomicBool::new(false);
        let ended = {
            let pump = async {
                tokio::join!(
                    feed(self.stdin, &self.bytes),
                    collect(self.output, &into.output),
                    collect(self.stderr, &into.stderr),
                    hear(self.confined.as_mut(), &over),
                );
            };
            let pump = Pump { reading: pin!(pump), done: false, over: &over };
            self.running.see_off(pump, passed(Instant::now(), deadline), stop).await
        };
        if over.into_inner() {
            self.running.reap_later();
        }
        let (mut notes, mut touched) = (Vec::new(), Touched::default());
        let mut exit = ended.unwrap_or_else(|error| {
            notes.push(format!("how it ended is not known: {error}"));
            CommandExit::Code(-1)
        });
        if !self.left_out.is_empty() && exit != CommandExit::Code(0) {
            let named = self.left_out.join(", ");
            notes.push(format!(
                "outside the sandbox nothing is looked for in folders that agents write unless it is named by its path; left \
                 out: {named}"
            ));
        }
        if let Some(confined) = self.confined {
            let report = confined.end();
            notes.extend(report.notes);
            touched = report.touched;
            if exit != CommandExit::DeadlineExceeded {
                exit = report.exit;
            }
        }
        CommandEnd { exit, duration: self.at.elapsed(), notes, touched }
    }
}

impl RunningChild {
    async fn see_off<F: Future<Output = ()>>(
        &mut self,
        mut pump: Pump<'_, F>,
        deadline: impl Future<Output = ()>,
        mut stop: watch::Receiver<bool>,
    ) -> io::Result<CommandExit> {
        let asked = async move {
            if stop.wait_for(|stop| *stop).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let why = pump.until(deadline, asked, self.ended()).await?;
        match why {
            // How it ended is in the report.
            Why::Over => return Ok(CommandExit::Code(0)),
            Why::Ended => pump.drain().await,
            Why::Stopped | Why::Deadline => {
                self.terminate();
                let grace = Duration::from_millis(limits::TERM_GRACE_MS);
                pump.until(sleep(grace), std::future::pending(), self.ended()).await?;
            }
        }
        self.kill();
        // A process that even this does not end at once is stuck in the kernel; the runtime reaps it later.
        let patience = Duration::from_millis(self.patience_ms());
        let reaped = timeout(patience, pump.beside(self.child.wait())).await;
        pump.drain().await;
        match (why, reaped) {
            (Why::Deadline, _) => Ok(CommandExit::DeadlineExceeded),
            (_, Ok(status)) => Ok(exit_of(status?)),
            (_, Err(_)) => Ok(CommandExit::Signal(9)),
        }
    }
}

fn exit_of(status: ExitStatus) -> CommandExit {
    match (status.code(), status.signal()) {
        (Some(code), _) => CommandExit::Code(code),
        (None, Some(signal)) => CommandExit::Signal(signal),
        (None, None) => CommandExit::Code(-1),
    }
}

/// Why a wait was over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    /// Nothing of it is left, and all it had to say was heard.
    Over,
    Ended,
    Stopped,
    Deadline,
}

/// The reading of what a child and its confinement tell, which goes on beside every wait.
struct Pump<'a, F> {
    reading: Pin<&'a mut F>,
    done: bool,
    /// Whether a confinement has told that nothing of the command is left.
    over: &'a AtomicBool,
}

impl<F: Future<Output = ()>> Pump<'_, F> {
    /// Reads until all is over, `ended` happens, somebody asks to stop, or the time is over; says which.
    async fn until(
        &mut self,
        deadline: impl Future<Output = ()>,
        stop: impl Future<Output = ()>,
        ended: impl Future<Output = io::Result<()>>,
    ) -> io::Result<Why> {
        let (mut stop, mut ended, mut over) = (pin!(stop), pin!(ended), pin!(deadline));
        loop {
            tokio::select! {
                biased;
                () = &mut over => return Ok(Why::Deadline),
                () = &mut stop => return Ok(Why::Stopped),
                ended = &mut ended => return ended.map(|()| Why::Ended),
                () = &mut self.reading, if !self.done => {
                    self.done = true;
                    if self.over.load(Ordering::Relaxed) {
                        return Ok(Why::Over);
                    }
                }
            }
        }
    }

    /// Reads until `event` happens.
    async fn beside<T>(&mut self, event: impl Future<Output = T>) -> T {
        let mut event = pin!(event);
        loop {
            tokio::select! {
                biased;
                outcome = &mut event => return outcome,
                () = &mut self.reading, if !self.done => self.done = true,
            }
        }
    }

    /// Reads what is left, but not for long: an escaped child may hold the pipe open for ever.
    async fn drain(&mut self) {
        if !self.done {
            let rest = timeout(Duration::from_millis(limits::DRAIN_MS), self.reading.as_mut());
            self.done = rest.await.is_ok();
        }
    }
}

async fn feed(stdin: Option<pipe::Sender>, bytes: &[u8]) {
    if let Some(mut stdin) = stdin {
        // A child that does not read its input is no error of ours.
        let _ = stdin.write_all(bytes).await;
    }
}

async fn hear(confined: Option<&mut Confined>, over: &AtomicBool) {
    if let Some(confined) = confined {
        over.store(confined.hear().await, Ordering::Relaxed);
    }
}

async fn collect(reader: Option<pipe::Receiver>, into: &Mutex<Capture>) {
    let Some(mut reader) = reader else { return };
    let mut chunk = vec![0; limits::READ_CHUNK_BYTES];
    // An error on a pipe is its end: nothing more will come.
    while let Ok(count @ 1..) = reader.read(&mut chunk).await {
        into.lock().unwrap_or_else(PoisonError::into_inner).push(&chunk[..count]);
    }
}
