//! The side of this process: sends a plan to the one that confines, and hears how it went.

use std::{
    ffi::OsString,
    fs,
    io::{self, Read, Write},
    os::{fd::AsFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

use super::{
    handing::hand_over,
    machine,
    plan::{PathText, Plan, PlanMessage, ToldCame},
    ready::{self, Ready},
    secrets,
    watchdog::{self, Watched},
};
use crate::{
    CommandExit, Level, SandboxError, SandboxProfile, Share, Touched, child_env, group::RunningChild, limits,
    stream_ends::StreamEnds,
};

/// What is to be confined, and how.
pub(crate) struct PreparedConfinement {
    plan: Vec<u8>,
    workspace: PathBuf,
    /// The session's share, and where this command can write to a disk.
    share: Share,
    writes: Option<PathBuf>,
}

/// A confinement, from its plan to its report.
pub(crate) struct Confined {
    line: UnixStream,
    workspace: PathBuf,
    /// What was heard of a message that has not ended yet.
    heard: Vec<u8>,
    heard_bytes: usize,
    /// Whether nothing of the command is left.
    over: bool,
    report: ConfinementReport,
    watched: Option<Watched>,
}

/// What a confinement had to say once it was over.
pub(crate) struct ConfinementReport {
    pub(crate) exit: CommandExit,
    pub(crate) notes: Vec<String>,
    pub(crate) touched: Touched,
    /// Why it was not run, if it was not.
    refused: Option<String>,
}

impl ConfinementReport {
    /// Without a word it was killed, and the command with it.
    fn new() -> Self {
        Self { exit: CommandExit::Signal(9), notes: Vec::new(), touched: Touched::default(), refused: None }
    }
}

/// Makes everything ready for a confined command.
pub(crate) fn prepare(
    profile: &SandboxProfile,
    cwd: &Path,
    program: OsString,
    arguments: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
) -> Result<PreparedConfinement, SandboxError> {
    check(profile)?;
    let limits = machine::fitted(profile.limits, &profile.workspace);
    let profile = &SandboxProfile { limits, ..profile.clone() };
    let mut plan = Plan::new(profile, cwd, program, arguments, env);
    if !profile.bare {
        let known = secrets::known(&plan);
        plan.toolchains = known.toolchains.into_iter().map(Into::into).collect();
        plan.notes.extend(secrets::left_out_note(&known.left_out));
        plan.secrets = known.in_toolchains.into_iter().chain(known.left_out).map(Into::into).collect();
        plan.hidden.extend(known.named_here.into_iter().map(OsString::from));
    }
    let plan =
        plan.to_bytes().map_err(|error| not_confined(format!("the plan could not be written: {error}")))?;
    let workspace = profile.workspace.clone();
    let writes = (profile.level == Level::Full && !profile.bare).then(|| workspace.clone());
    Ok(PreparedConfinement { plan, workspace, share: limits.session, writes })
}

fn check(profile: &SandboxProfile) -> Result<(), SandboxError> {
    if profile.bare {
        let mut all = profile.readable.iter().chain(&profile.writable).chain(&profile.read_only);
        return match all.find(|path| !path.is_absolute()) {
            Some(path) => Err(not_confined(format!("{} is not absolute", path.display()))),
            None => Ok(()),
        };
    }
    let workspace = &profile.workspace;
    let of_the_system = ["/proc", "/sys", "/dev"].iter().any(|folder| workspace.starts_with(folder));
    if !workspace.is_absolute() || workspace.parent().is_none() || of_the_system {
        let workspace = workspace.display();
        return Err(not_confined(format!("{workspace} cannot be a workspace; choose a folder of your own")));
    }
    let inside = |path: &std::path::PathBuf| path.starts_with(workspace);
    match profile.writable.iter().chain(&profile.read_only).chain(&profile.covered).find(|path| !inside(path))
    {
        Some(path) => Err(not_confined(format!("{} is not in the workspace", path.display()))),
        None => Ok(()),
    }
}

fn not_confined(reason: String) -> SandboxError {
    SandboxError::NotConfined(reason)
}

/// Removes placeholders that a supervisor which was killed has left in a workspace, unless some command runs there.
pub(crate) fn clear(workspace: &Path) {
    drop(super::placeholders::Placeholders::left_in(workspace));
}

/// Confines a command that tries to write, and sees that it could not; else says why not. Leaves nothing behind, not even
/// if this process is killed meanwhile.
pub(crate) fn try_once() -> Result<(), String> {
    let places = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()];
    let mut places = places.iter().filter_map(|place| place.canonicalize().ok());
    let folder = places.find(|place| check(&SandboxProfile::new(Level::Inspect, place)).is_ok());
    let folder = folder.ok_or("there is no folder for temporary files to try it in")?;
    // A name that nobody can have foreseen: everybody can write there.
    let name = format!("posse-probe-{:016x}{:016x}", super::folder::random(), super::folder::random());
    let tried = try_in(&folder, &name);
    let wrote = std::fs::remove_file(folder.join(&name)).is_ok();
    match tried? {
        CommandExit::Code(0) if !wrote => Ok(()),
        _ => Err("it was tried, and a confined command could write".to_owned()),
    }
}

fn try_in(folder: &Path, name: &str) -> Result<CommandExit, String> {
    let profile = SandboxProfile::new(Level::Inspect, folder);
    let words = ["-c", "! (: > \"$0\") 2>/dev/null", name].map(OsString::from).to_vec();
    let prepared = prepare(&profile, folder, "/bin/sh".into(), words, child_env());
    let PreparedConfinement { plan, workspace, .. } = prepared.map_err(|error| error.to_string())?;
    let system = |error: io::Error| format!("it could not be tried: {error}");
    let null = fs::File::options().read(true).write(true).open("/dev/null").map_err(system)?;
    let (line, mut process) = ready::process().map_err(system)?;
    let mut child = process.as_std_mut().spawn().map_err(system)?;
    // The command holds the other end of the line too.
    drop(process);
    line.set_read_timeout(Some(Duration::from_millis(limits::CONFINE_MS))).map_err(system)?;
    // If it is not taken, the reason is to be heard.
    let _ = hand_over(&line, &[null.as_fd(); 3]).and_then(|()| (&line).write_all(&plan));
    let report = Confined::new(line, workspace).report();
    // Its line is cut by now, so it ends.
    child.wait().map_err(system)?;
    report.refused.map_or(Ok(report.exit), Err)
}

impl PreparedConfinement {
    /// Has a process confine it, and waits until the command runs, or for the reason why it does not.
    pub(crate) async fn begin(
        self,
        program: &str,
        ends: StreamEnds,
    ) -> Result<(RunningChild, Confined), SandboxError> {
        let Self { plan, workspace, share, writes } = self;
        let start = |source| SandboxError::Start { program: program.to_owned(), source };
        let Ready { running, line } = Ready::with(&ends).await.map_err(start)?;
        // Whoever reads the streams waits for their last holder.
        drop(ends);
        let confines = running.child.id().and_then(|pid| i32::try_from(pid).ok());
        let confines =
            confines.ok_or_else(|| not_confined("the process that confines it died".to_owned()))?;
        let watched = watchdog::watch(confines, line.try_clone()?, share, writes.as_deref());
        let watched = watched.map_err(|error| not_confined(format!("nobody can watch over it: {error}")))?;
        let mut confined = Confined { watched: Some(watched), ..Confined::new(line, workspace) };
        let patience = Duration::from_millis(limits::CONFINE_MS);
        let verdict = timeout(patience, confined.exchange(&plan)).await;
        let verdict = verdict.map_err(|_| not_confined("the set-up took too long".to_owned()))??;
        if verdict != Some(PlanMessage::Started) {
            // It is cleaning up; whoever hears of the failure finds everything as it was.
            let patience = Duration::from_millis(limits::UNCONFINE_MS);
            let _ = timeout(patience, confined.until_gone()).await;
        }
        match verdict {
            Some(PlanMessage::Started) => Ok((running, confined)),
            Some(PlanMessage::Failed(step, reason)) => Err(not_confined(format!("{step}: {reason}"))),
            Some(PlanMessage::NoProgram(errno)) => Err(start(io::Error::from_raw_os_error(errno))),
            _ => Err(not_confined("the process that confines it died".to_owned())),
        }
    }
}

impl Confined {
    fn new(line: UnixStream, workspace: PathBuf) -> Self {
        let (heard, heard_bytes, over, report, watched) =
            (Vec::new(), 0, false, ConfinementReport::new(), None);
        Self { line, workspace, heard, heard_bytes, over, report, watched }
    }

    /// Sends a plan and waits for the first word about it.
    async fn exchange(&mut self, plan: &[u8]) -> io::Result<Option<PlanMessage>> {
        let mut line = tokio::net::UnixStream::from_std(self.line.try_clone()?)?;
        // If it is not taken, the reason is to be heard.
        let _ = line.write_all(plan).await;
        let mut chunk = [0; 4096];
        loop {
            match line.read(&mut chunk).await {
                Ok(count @ 1..) => {
                    let verdict = self.take(&chunk[..count]);
                    if verdict.is_some() {
                        return Ok(verdict);
                    }
                }
                _ => return Ok(None),
            }
        }
    }

    /// Hears all that is told while the command runs; whoever tells it would have to wait otherwise. Says whether the last
    /// word was that nothing of the command is left.
    pub(crate) async fn hear(&mut self) -> bool {
        let line = self.line.try_clone().and_then(tokio::net::UnixStream::from_std);
        let Ok(mut line) = line else { return false };
        let mut chunk = vec![0; limits::READ_CHUNK_BYTES];
        while !self.over
            && let Ok(count @ 1..) = line.read(&mut chunk).await
        {
            self.take(&chunk[..count]);
        }
        self.over
    }

    async fn until_gone(&self) -> io::Result<()> {
        self.line.shutdown(std::net::Shutdown::Write)?;
        let mut line = tokio::net::UnixStream::from_std(self.line.try_clone()?)?;
        let mut chunk = [0; 4096];
        while line.read(&mut chunk).await? > 0 {}
        Ok(())
    }

    /// Takes in what was heard. The first message that says whether the command runs is returned.
    fn take(&mut self, bytes: &[u8]) -> Option<PlanMessage> {
        self.heard_bytes += bytes.len();
        if self.heard_bytes > limits::REPORT_BYTES_MAX {
            return None;
        }
        self.heard.extend_from_slice(bytes);
        let whole = self.heard.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.heard.drain(..whole).collect();
        let messages = lines.split(|byte| *byte == b'\n').filter_map(PlanMessage::from_line);
        messages.fold(None, |verdict, message| verdict.or(self.note(message)))
    }

    fn note(&mut self, message: PlanMessage) -> Option<PlanMessage> {
        let Self { report, workspace, .. } = self;
        match message {
            PlanMessage::Code(code) => report.exit = CommandExit::Code(code),
            PlanMessage::Signal(signal) => report.exit = CommandExit::Signal(signal),
            PlanMessage::Note(note) => report.notes.push(note),
            PlanMessage::Touched(paths) => {
                report.touched.paths.extend(paths.into_iter().map(|path| path.below(workspace)));
            }
            PlanMessage::Moved(paths) => {
                let below =
                    |(path, came): (PathText, ToldCame)| (path.below(workspace), came.below(workspace));
                report.touched.moved.extend(paths.into_iter().map(below));
            }
            PlanMessage::Marked(paths) => {
                report.touched.marked.extend(paths.into_iter().map(|path| path.below(workspace)));
            }
            PlanMessage::Watched(complete) => report.touched.complete = complete,
            PlanMessage::Over => self.over = true,
            PlanMessage::Failed(ref step, ref reason) => {
                report.refused = Some(format!("{step}: {reason}"));
                return Some(message);
            }
            PlanMessage::Started | PlanMessage::NoProgram(_) => return Some(message),
        }
        None
    }

    /// What it had to say. To be asked when nothing of it is left, or it is given up.
    pub(crate) fn end(self) -> ConfinementReport {
        Ready::prepare_next();
        self.report()
    }

    fn report(mut self) -> ConfinementReport {
        let mut chunk = [0; 4096];
        while let Ok(count @ 1..) = self.line.read(&mut chunk) {
            self.take(&chunk[..count]);
        }
        self.report.notes.extend(self.watched.as_ref().and_then(Watched::note));
        self.report
    }
}
