//! Runs one command on Unix.
//!
//! ```text
//! start ─► running ─► leader ended ──► drain ──┐
//!             │                                ├─► SIGKILL the group ─► reap ─► drain ─► Finished
//!             └─► deadline ─► SIGTERM ─► grace ┘
//! ```
//! Dropping the future at any point kills the group. The leader is reaped only after its group was killed, so the
//! group's number cannot have been given to anybody else by then.

#![allow(clippy::disallowed_types)] // this is the crate the ban points to

use std::{
    io::{self, PipeReader},
    os::{fd::OwnedFd, unix::process::ExitStatusExt},
    pin::{Pin, pin},
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::process::Pid;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::pipe,
    process::ChildStdin,
    time::{sleep, timeout},
};

use crate::{
    Command, Exit, Finished, SandboxError, What, capture::Capture, child_env, group::Running, limits, spawner,
};

/// Runs a command to its end, its deadline, or until the future is dropped; then nothing of its group is left.
pub async fn run(command: Command) -> Result<Finished, SandboxError> {
    let started = Instant::now();
    let (output_reader, stderr_reader, mut running) = start(&command).await?;
    let stdin = running.child.stdin.take();
    let mut output = Capture::new(command.output);
    let mut stderr = Capture::new(command.output);
    let exit = {
        let pump = async {
            tokio::join!(
                feed(stdin, command.stdin.as_deref().unwrap_or_default()),
                collect(output_reader, &mut output),
                collect(stderr_reader, &mut stderr)
            );
        };
        running.finish(Pump { reading: pin!(pump), done: false }, command.deadline).await?
    };
    Ok(Finished { exit, output: output.finish(), stderr: stderr.finish(), duration: started.elapsed() })
}

type Started = (Option<pipe::Receiver>, Option<pipe::Receiver>, Running);

async fn start(command: &Command) -> Result<Started, SandboxError> {
    if !command.cwd.is_dir() {
        return Err(SandboxError::NoFolder(command.cwd.clone()));
    }
    let (program, arguments) = command.words()?;
    let (reader, writer) = io::pipe()?;
    let mut process = tokio::process::Command::new(&program);
    process.args(arguments).current_dir(&command.cwd).env_clear().envs(child_env()).kill_on_drop(true);
    process.envs(command.env.iter().map(|(name, value)| (name, value)));
    process.stdin(if command.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    let stderr_reader = match command.what {
        What::Shell(_) => {
            process.stderr(writer.try_clone()?);
            None
        }
        What::Argv(_) => {
            let (reader, writer) = io::pipe()?;
            process.stderr(writer);
            Some(asynchronous(reader)?)
        }
    };
    process.stdout(writer);
    let parent = rustix::process::getpid();
    // SAFETY: the closure runs between fork and exec and makes only system calls; it allocates nothing.
    unsafe { process.pre_exec(move || cut_loose(parent)) };
    let name = program.to_string_lossy().into_owned();
    let running =
        spawner::spawn(process).await.map_err(|source| SandboxError::Start { program: name, source })?;
    Ok((Some(asynchronous(reader)?), stderr_reader, running))
}

fn asynchronous(reader: PipeReader) -> io::Result<pipe::Receiver> {
    pipe::Receiver::from_owned_fd(OwnedFd::from(reader))
}

/// In the child, before exec: a session of its own without a terminal, death with the parent, no inherited files.
fn cut_loose(parent: Pid) -> io::Result<()> {
    rustix::process::setsid()?;
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        // SAFETY: marks descriptors to be closed by exec. None is closed here, so no owner is surprised. Kernels
        // before 5.11 refuse the flag, and then only what Rust opened itself is closed.
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    }
    // The parent may have died before the signal was set.
    if rustix::process::getppid() != Some(parent) {
        return Err(io::ErrorKind::Interrupted.into());
    }
    Ok(())
}

impl Running {
    async fn finish<F: Future<Output = ()>>(
        &mut self,
        mut pump: Pump<'_, F>,
        deadline: Duration,
    ) -> io::Result<Exit> {
        let in_time = pump.until(deadline, self.ended()).await?;
        if in_time {
            pump.drain().await;
        } else {
            self.terminate();
            pump.until(Duration::from_millis(limits::TERM_GRACE_MS), self.ended()).await?;
        }
        self.kill();
        let exit = if in_time {
            exit_of(self.child.wait().await?)
        } else {
            // A process that even this does not end at once is stuck in the kernel; the runtime reaps it later.
            let _ = timeout(Duration::from_millis(limits::REAP_MS), self.child.wait()).await;
            Exit::DeadlineExceeded
        };
        pump.drain().await;
        Ok(exit)
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(-1),
    }
}

/// The reading of a child's output, which goes on beside every wait.
struct Pump<'a, F> {
    reading: Pin<&'a mut F>,
    done: bool,
}

impl<F: Future<Output = ()>> Pump<'_, F> {
    /// Reads until `event` happens or `limit` has passed; says whether it happened.
    async fn until(
        &mut self,
        limit: Duration,
        event: impl Future<Output = io::Result<()>>,
    ) -> io::Result<bool> {
        let mut event = pin!(event);
        let mut over = pin!(sleep(limit));
        loop {
            tokio::select! {
                biased;
                () = &mut over => return Ok(false),
                ended = &mut event => return ended.map(|()| true),
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

async fn feed(stdin: Option<ChildStdin>, bytes: &[u8]) {
    if let Some(mut stdin) = stdin {
        // A child that does not read its input is no error of ours.
        let _ = stdin.write_all(bytes).await;
    }
}

async fn collect(reader: Option<pipe::Receiver>, into: &mut Capture) {
    let Some(mut reader) = reader else { return };
    let mut chunk = vec![0; limits::READ_CHUNK_BYTES];
    // An error on a pipe is its end: nothing more will come.
    while let Ok(count @ 1..) = reader.read(&mut chunk).await {
        into.push(&chunk[..count]);
    }
}
