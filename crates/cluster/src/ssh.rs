//! Workers on machines that are reached by ssh: starts `ssh HOST posse worker --stdio …`, speaks over its streams, and starts it
//! again when it has ended. No server is needed, and no key of ours: ssh has the person's.
//!
//! It must not read the environment, and does not know what the other side runs.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use posse_sandbox::{Command, CommandHandle, OutputLimits, Program, start_talking};
use secrecy::zeroize::Zeroizing;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::limits;
use crate::names::WorkerName;
use crate::pipe::PipeHome;

/// How a worker is started. The program is usually ssh, and can be any that speaks on its standard streams.
#[derive(Clone, Debug)]
pub struct SshStart {
    /// What home calls the worker.
    pub name: WorkerName,
    /// The program.
    pub program: Program,
    /// Its arguments: see [`ssh_arguments`].
    pub arguments: Vec<OsString>,
    /// All of its environment. Ssh needs the person's home, user and agent.
    pub variables: Vec<(String, String)>,
    /// Where it is started.
    pub folder: PathBuf,
    /// What it reads first.
    pub preface: Preface,
}

/// What a program reads before all frames, such as a secret, which nobody finds in its arguments. It is not shown.
#[derive(Clone, Default)]
pub struct Preface(Zeroizing<Vec<u8>>);

impl Preface {
    /// These bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }
}

impl fmt::Debug for Preface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Preface(…)")
    }
}

/// The arguments of ssh for a worker. The words after the host are quoted, because a shell reads them there.
pub fn ssh_arguments(host: &str, options: &[OsString], remote: &[String]) -> Vec<OsString> {
    let fixed = [
        // Nobody is there to answer a question.
        "-o",
        "BatchMode=yes",
        "-o",
        "ConnectTimeout=15",
        // A dead connection is noticed within half a minute.
        "-o",
        "ServerAliveInterval=10",
        "-o",
        "ServerAliveCountMax=3",
        // Nothing but the two streams.
        "-T",
        "-a",
        "-x",
    ];
    let fixed = fixed.into_iter().map(OsString::from).chain(options.iter().cloned());
    let remote = remote_command(remote);
    // What follows the two dashes is no option, whatever it looks like.
    fixed.chain(["--".into(), host.into(), remote.into()]).collect()
}

/// Words as a POSIX shell on the other machine reads them. A program without a path is also looked for in `~/.local/bin`, which
/// a shell without a terminal may not know.
pub fn remote_command(words: &[String]) -> String {
    let found = words.first().is_some_and(|program| !program.contains('/'));
    let path = found.then(|| r#"PATH="$PATH:$HOME/.local/bin""#.to_owned());
    path.into_iter().chain(words.iter().map(|word| quoted(word))).collect::<Vec<_>>().join(" ")
}

/// A word as a POSIX shell reads it. The home folder at its beginning stays one.
fn quoted(word: &str) -> String {
    if let Some(rest) = word.strip_prefix("~/") {
        return format!("~/{}", quoted(rest));
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Where a connection is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SshState {
    /// It is being started.
    Starting,
    /// It speaks.
    Running,
    /// It has ended and is started again after a pause.
    Ended {
        /// Why, and the last lines that ssh or the worker wrote to its standard error.
        why: String,
        /// How long the pause is.
        again_ms: u64,
    },
}

/// A worker by ssh that is started again and again. Dropped, it is ended.
#[derive(Debug)]
pub struct SshWorker {
    state: watch::Receiver<SshState>,
    tries: Arc<Mutex<SshTries>>,
    task: JoinHandle<()>,
}

/// How often a worker did not come to speak.
#[derive(Debug, Default)]
struct SshTries {
    /// Whether it ever spoke.
    spoke: bool,
    /// Starts since it last spoke.
    in_row: u32,
    /// When it last stopped speaking, or was started first.
    since: Option<Instant>,
    why: String,
}

impl SshWorker {
    /// Starts a worker and keeps it running, as one of a home's pipes.
    pub fn start(home: Arc<PipeHome>, start: SshStart) -> Self {
        let (sender, state) = watch::channel(SshState::Starting);
        let tries = Arc::new(Mutex::new(SshTries { since: Some(Instant::now()), ..SshTries::default() }));
        let counted = Arc::clone(&tries);
        let task = tokio::spawn(async move {
            let mut pause_ms = limits::RECONNECT_MS_MIN;
            loop {
                let begun = Instant::now();
                let why = run_once(&home, &start, &sender, &counted).await;
                {
                    let mut tries = locked(&counted);
                    tries.in_row = tries.in_row.saturating_add(1);
                    tries.why.clone_from(&why);
                }
                if begun.elapsed() >= Duration::from_millis(limits::CONNECTION_GOOD_MS) {
                    pause_ms = limits::RECONNECT_MS_MIN;
                }
                let again_ms = with_jitter(pause_ms);
                tracing::warn!(worker = %start.name, %why, again_ms, "a worker by ssh has ended");
                sender.send_replace(SshState::Ended { why, again_ms });
                tokio::time::sleep(Duration::from_millis(again_ms)).await;
                sender.send_replace(SshState::Starting);
                pause_ms = pause_ms.saturating_mul(2).min(limits::RECONNECT_MS_MAX);
            }
        });
        Self { state, tries, task }
    }

    /// Why nobody should wait for it any more, if so. It is still started again and again.
    pub fn hopeless(&self) -> Option<String> {
        let tries = locked(&self.tries);
        let is_away = || {
            tries.since.is_some_and(|since| since.elapsed() >= Duration::from_millis(limits::SSH_AWAY_MS_MAX))
        };
        let is_hopeless = match tries.spoke {
            false => tries.in_row >= limits::SSH_TRIES_MAX,
            // A machine that sleeps comes back.
            true => tries.in_row > 0 && is_away(),
        };
        is_hopeless.then(|| tries.why.clone())
    }

    /// Where it is now, and each change of that.
    pub fn state(&self) -> watch::Receiver<SshState> {
        self.state.clone()
    }
}

impl Drop for SshWorker {
    fn drop(&mut self) {
        // The task owns the process, which ends with it.
        self.task.abort();
    }
}

fn locked(tries: &Mutex<SshTries>) -> MutexGuard<'_, SshTries> {
    tries.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Between half of a pause and all of it, so that many do not start at the same moment.
pub(crate) fn with_jitter(pause_ms: u64) -> u64 {
    fastrand::u64(pause_ms / 2..=pause_ms)
}

/// Runs a worker to its end. Says why it ended.
async fn run_once(
    home: &PipeHome,
    start: &SshStart,
    state: &watch::Sender<SshState>,
    tries: &Mutex<SshTries>,
) -> String {
    // It ends with its pipe, however long that lasts.
    let command = Command::program(&start.program, start.arguments.clone(), &start.folder, Duration::MAX);
    let output = OutputLimits { head_bytes: 0, tail_bytes: limits::SSH_SAID_BYTES_MAX };
    let command = Command { env: start.variables.clone(), output, ..command };
    let (handle, mut streams) = match start_talking(command).await {
        Ok(started) => started,
        Err(error) => return error.to_string(),
    };
    // A program that has ended does not read it; why is told below.
    let _ = streams.input.write_all(&start.preface.0).await;
    let mut end = match home.add(&start.name, streams.output, streams.input) {
        Ok(end) => end,
        Err(error) => return error.to_string(),
    };
    let spoke = end.speaks().await;
    if spoke {
        state.send_replace(SshState::Running);
        *locked(tries) = SshTries { spoke, ..SshTries::default() };
    }
    let why = end.ended().await;
    if spoke {
        locked(tries).since = Some(Instant::now());
    }
    // What it says as it ends may come after the end of its pipe.
    let _ = tokio::time::timeout(Duration::from_millis(limits::SSH_LAST_WORDS_MS_MAX), handle.wait()).await;
    handle.stop();
    let _ = tokio::time::timeout(Duration::from_millis(limits::SSH_END_MS_MAX), handle.wait()).await;
    match said(&handle) {
        lines if lines.is_empty() => why,
        lines => format!("{why}; it said: {lines}"),
    }
}

/// The last that it wrote to its standard error, in one line.
fn said(handle: &CommandHandle) -> String {
    let captured = handle.stderr();
    let text = String::from_utf8_lossy(&captured.tail).into_owned();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines.len().saturating_sub(limits::SSH_LINES_SHOWN_MAX);
    lines[last..].join(" · ")
}
