//! `posse run --background`: a session in a process without a terminal. The process that was typed starts this program once
//! more and waits until the session is on record; the other one attends to the session until it has ended, or has rested for
//! so long that nobody seems to need it.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use posse_engine::record::prepare_data_dir;
use posse_engine::{Engine, Session};
use posse_protocol::{AgentState, EventKind, SessionId, Update};
use posse_sandbox::{DetachedErrors, DetachedInput, DetachedSelf, DetachedStart, leave_terminal};
use posse_setup::{Paths, append_private};
use posse_view::{SessionView, words};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::args::WorkArgs;
use crate::display::short;
use crate::exit::Exit;
use crate::interrupts::EndSignals;
use crate::limits::{
    BACKGROUND_LINE_COLUMNS_MAX, BACKGROUND_LOG_BYTES_MAX, BACKGROUND_LOGS_MAX, REST_MS_MAX,
};
use crate::output::{self, Style, local_time, now_ms, one_line};
use crate::recorded::fold;

/// The flag that a person types, and the one that the other process is started with.
const TYPED: &str = "--background";
const STARTED: &str = "--in-background";
/// Where in the data directory the logs are.
const LOGS: &str = "logs";

/// What the other process says first.
#[derive(Debug, Serialize, Deserialize)]
struct Announced {
    session: SessionId,
    log: PathBuf,
}

/// Starts the other process, waits until its session is on record, and says how to reach it.
pub(crate) fn start(args: &WorkArgs) -> anyhow::Result<Exit> {
    let arguments = arguments(std::env::args_os().skip(1).collect())?;
    let typed = output::stdin_is_terminal();
    let input = if typed { DetachedInput::Nothing } else { DetachedInput::Inherited };
    let started = DetachedSelf::start(&arguments, input, DetachedErrors::Ours);
    let started = started.context("cannot start a process")?;
    let line = match started.first_line().context("cannot hear the process that was started")? {
        DetachedStart::Began { line, .. } => line,
        // It has said why.
        DetachedStart::Ended { code, .. } => return Ok(Exit::of_code(code)),
    };
    let announced: Announced =
        serde_json::from_str(&line).context("the process that was started says something else")?;
    let id = short(announced.session);
    if args.json {
        output::print_json(&announced)?;
    } else if args.quiet {
        output::print(&format!("{}\n", announced.session))?;
    } else {
        let style = Style::for_stdout();
        let step = |label: &str, command: String| style.dim(&format!("  {label:<7}  {command}\n"));
        let steps = [
            step("follow", format!("posse attach {id}")),
            step("say", format!("posse tell {id} \"…\"")),
            step("answer", format!("posse answer {id}")),
            step("stop", format!("posse stop {id}")),
        ];
        output::print(&format!(
            "{} {id} works in the background\n{}",
            style.bold("session"),
            steps.concat()
        ))?;
    }
    Ok(Exit::Completed)
}

/// What was typed, for the other process.
fn arguments(mut typed: Vec<OsString>) -> anyhow::Result<Vec<OsString>> {
    let flag = typed.iter().take_while(|word| *word != "--").position(|word| word == TYPED);
    let Some(flag) = flag.and_then(|flag| typed.get_mut(flag)) else {
        bail!("write {TYPED} as a word of its own");
    };
    *flag = STARTED.into();
    Ok(typed)
}

/// Attends to a session in the other process to its end. `view` is what was on record of it.
pub(crate) async fn attend(
    paths: &Paths,
    engine: &Engine,
    mut session: Session,
    view: SessionView,
    args: &WorkArgs,
    notice: impl Future<Output = Option<String>>,
) -> anyhow::Result<Exit> {
    let mut signals = EndSignals::new()?;
    let mut listening = posse_api::listen(engine);
    let first = session.next().await;
    // Without a socket nobody could answer it or stop it.
    if let Err(error) = listening.ready().await {
        session.cancel();
        session.report().await;
        return Err(error.into());
    }
    let (log, file) = BackgroundLog::open(&paths.data_dir, session.id)?;
    let announced = Announced { session: session.id, log: log.path.clone() };
    if output::print_json(&announced).is_err() {
        // Whoever wanted it is gone before it was told which session it is.
        session.cancel();
        session.report().await;
        return Ok(Exit::Cancelled);
    }
    leave_terminal(&file)?;
    let rest_ms = args.rest_at_most.unwrap_or(REST_MS_MAX);
    let mut attended = Attended { log, view, rest_ms, until: None };
    attended.log.line("started");
    if let Some(update) = first {
        attended.update(&update)?;
    }
    let mut notice = std::pin::pin!(notice);
    let (mut noticed, mut closing) = (false, false);
    loop {
        tokio::select! {
            biased;
            () = signals.next(), if !closing => {
                closing = true;
                if attended.rests() {
                    attended.log.line("asked to end while it rests");
                    engine.close(session.id)?;
                } else if session.detach().await? > 0 {
                    let id = short(session.id);
                    attended.log.line(&format!("asked to end at work; posse resume {id} continues it"));
                    return Ok(Exit::Detached);
                }
            }
            update = session.next() => match update {
                Some(update) => attended.update(&update)?,
                None => break,
            },
            () = attended.rested() => {
                attended.log.line("has rested for long enough");
                attended.until = None;
                engine.close(session.id)?;
            }
            text = &mut notice, if !noticed => {
                noticed = true;
                if let Some(text) = text {
                    attended.log.line(&text);
                }
            }
        }
    }
    let report =
        session.report().await.context("the session ended without a report; this is a defect in posse")?;
    attended.log.line(&format!("ended: {}", report.outcome()));
    listening.close().await;
    Ok(Exit::from(&report.ending))
}

/// A session that nobody need watch.
struct Attended {
    log: BackgroundLog,
    view: SessionView,
    /// How long it may rest.
    rest_ms: u64,
    /// When it has rested for that long, while it rests.
    until: Option<Instant>,
}

impl Attended {
    fn rests(&self) -> bool {
        self.view.main().is_some_and(|main| main.state == AgentState::Resting)
    }

    fn update(&mut self, update: &Update) -> anyhow::Result<()> {
        let Update::Event(event) = update else { return Ok(()) };
        fold(&mut self.view, event)?;
        let name = self.view.agents.get(event.agent).map_or("main", |agent| &agent.name);
        let line = match &event.kind {
            EventKind::PersonNeeded { question } => {
                Some(format!("{name} asks ({}): {} {}", event.seq.0, question.tool, question.what))
            }
            EventKind::PersonAnswered { answer, .. } => {
                Some(format!("{name} was answered: {}", words::answer(answer).unwrap_or_default()))
            }
            EventKind::AgentWoken { .. } => Some("goes on with another prompt".to_string()),
            EventKind::AgentRested { report } => {
                let how = report.as_ref().map(|report| format!(": {}", report.outcome())).unwrap_or_default();
                Some(format!("rests{how}"))
            }
            EventKind::Retrying { reason, .. } => Some(format!("{name} tries again: {reason}")),
            _ => None,
        };
        line.iter().for_each(|line| self.log.line(line));
        match (self.rests(), self.until) {
            (true, None) => self.until = Instant::now().checked_add(Duration::from_millis(self.rest_ms)),
            (false, _) => self.until = None,
            _ => {}
        }
        Ok(())
    }

    /// Waits until it has rested for long enough; for ever while it works.
    async fn rested(&self) {
        match self.until {
            Some(until) => tokio::time::sleep_until(until).await,
            None => std::future::pending().await,
        }
    }
}

/// What a process without a terminal writes down, up to a limit. The record has the whole story.
struct BackgroundLog {
    path: PathBuf,
    file: File,
    bytes: usize,
}

impl BackgroundLog {
    /// Opens the log of a session, and removes the oldest of the others where there are too many.
    fn open(data_dir: &Path, session: SessionId) -> anyhow::Result<(Self, File)> {
        let folder = data_dir.join(LOGS);
        prepare_data_dir(&folder)?;
        clear(&folder, BACKGROUND_LOGS_MAX - 1);
        let path = folder.join(format!("{session}.log"));
        let file = append_private(&path).context("cannot write the log")?;
        let copy = file.try_clone()?;
        Ok((Self { path, file, bytes: 0 }, copy))
    }

    fn line(&mut self, text: &str) {
        let line = format!("{}  {}\n", local_time(now_ms()), one_line(text, BACKGROUND_LINE_COLUMNS_MAX));
        if self.bytes + line.len() <= BACKGROUND_LOG_BYTES_MAX {
            self.bytes += line.len();
            // A full disk must not end the session.
            let _ = self.file.write_all(line.as_bytes());
        }
    }
}

/// Leaves the newest logs. Their names begin with the time.
fn clear(folder: &Path, keep: usize) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let logs =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "log"));
    let mut logs = logs.collect::<Vec<_>>();
    logs.sort_unstable();
    let old = logs.len().saturating_sub(keep);
    for path in logs.into_iter().take(old) {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_flag_is_replaced() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let cases = [
            ("run --background go", Some("run --in-background go")),
            ("run go --background -- --background", Some("run go --in-background -- --background")),
            ("run -- --background", None),
        ];
        assert_eq!(cases.len(), 3);
        for (typed, want) in cases {
            assert_eq!(arguments(words(typed)).ok(), want.map(words), "{typed}");
        }
    }

    #[test]
    fn the_newest_logs_are_kept_and_one_has_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let ids = (1..=4)
            .map(|n| format!("00000000-0000-7000-8000-00000000000{n}").parse::<SessionId>().unwrap())
            .collect::<Vec<_>>();
        for id in &ids {
            BackgroundLog::open(folder.path(), *id).unwrap();
        }
        clear(&folder.path().join(LOGS), 2);
        let left = std::fs::read_dir(folder.path().join(LOGS)).unwrap().count();
        assert_eq!(left, 2);
        let (mut log, file) = BackgroundLog::open(folder.path(), ids[3]).unwrap();
        let long = "x".repeat(BACKGROUND_LINE_COLUMNS_MAX * 2);
        (0..BACKGROUND_LOG_BYTES_MAX / BACKGROUND_LINE_COLUMNS_MAX * 2).for_each(|_| log.line(&long));
        let bytes = file.metadata().unwrap().len();
        assert!((1..=BACKGROUND_LOG_BYTES_MAX as u64).contains(&bytes), "{bytes}");
    }
}
