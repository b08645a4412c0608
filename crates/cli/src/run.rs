//! `posse run`: one task, from the prompt to the exit code.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use posse_engine::models::{Governors, Model, Recorder};
use posse_engine::{Engine, Session, SessionRequest, ToolSettings, project_context};

use crate::args::RunArgs;
use crate::config::{Config, Time};
use crate::detect::{self, Choice};
use crate::display::Display;
use crate::exit::Exit;
use crate::output;
use crate::paths::Paths;

/// The longest prompt that is read from standard input.
const PROMPT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// What stands for the workspace's path in a cassette.
const WORKSPACE_PLACEHOLDER: &str = "{workspace}";

pub(crate) async fn run(paths: &Paths, args: RunArgs) -> anyhow::Result<Exit> {
    let folder = std::fs::canonicalize(&args.dir)
        .with_context(|| format!("cannot open the folder {}", args.dir.display()))?;
    let mut config = Config::load(paths, &folder)?;
    let limits = &mut config.limits;
    limits.max_turns = args.max_turns.or(limits.max_turns);
    limits.max_tokens = args.max_tokens.or(limits.max_tokens);
    limits.max_time = args.max_time.map(Time).or(limits.max_time);
    let prompt = prompt(&args.prompt)?;
    let choice = detect::choose(&config, args.model.as_deref()).await?;
    let mut display = if args.json {
        Display::Json
    } else if args.quiet {
        Display::Quiet
    } else {
        Display::live()
    };
    for warning in &config.warnings {
        display.note(&output::harmless(warning))?;
    }
    let engine = Engine::open(&paths.data_dir)?;
    let recorder = match &args.record {
        Some(path) => Some(Arc::new(Recorder::create(path, substitutions(&folder))?)),
        None => None,
    };
    let session = engine.start(request(&config, choice, &folder, prompt, recorder.clone())?)?;
    let exit = follow(session, display).await?;
    if let Some(failure) = recorder.and_then(|recorder| recorder.failure()) {
        bail!("the cassette is not complete: {failure}");
    }
    Ok(exit)
}

/// What stands for this machine's texts in a cassette.
fn substitutions(folder: &Path) -> Vec<(String, String)> {
    vec![(folder.display().to_string(), WORKSPACE_PLACEHOLDER.to_string())]
}

/// Puts together what a session needs.
pub(crate) fn request(
    config: &Config,
    choice: Choice,
    folder: &Path,
    prompt: String,
    recorder: Option<Arc<Recorder>>,
) -> anyhow::Result<SessionRequest> {
    let Choice { model: mut settings, prices } = choice;
    settings.substitutions = substitutions(folder);
    let mut model = Model::new(settings, &Governors::default())?;
    if let Some(recorder) = recorder {
        model = model.recording(recorder);
    }
    Ok(SessionRequest {
        workspace: folder.to_path_buf(),
        prompt,
        model,
        prices,
        grant: config.grant(),
        budget: config.budget(),
        tools: ToolSettings::default(),
        project: project_context(folder),
    })
}

/// Shows a session until its end. Ctrl-C once stops it, twice leaves at once.
pub(crate) async fn follow(mut session: Session, mut display: Display) -> anyhow::Result<Exit> {
    let mut ticker = tokio::time::interval(Duration::from_millis(100));
    ticker.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut interrupts = Interrupts::new()?;
    let mut asked_to_stop = false;
    loop {
        tokio::select! {
            biased;
            () = interrupts.next() => {
                if asked_to_stop {
                    return Ok(Exit::Cancelled);
                }
                asked_to_stop = true;
                session.cancel();
                display.note("stopping … (Ctrl-C again to leave at once)")?;
            }
            update = session.next() => match update {
                Some(update) => if let Err(error) = display.update(&update) {
                    // Nobody reads any more: stop rather than work unseen.
                    session.cancel();
                    session.report().await;
                    return Err(error.into());
                },
                None => break,
            },
            _ = ticker.tick() => display.tick()?,
        }
    }
    let id = session.id;
    let report =
        session.report().await.context("the session ended without a report; this is a defect in posse")?;
    display.finish(id, &report)?;
    Ok(Exit::from(&report.ending))
}

/// Ctrl-C, and the request to end that a system sends.
struct Interrupts {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Interrupts {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl Interrupts {
    fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// The prompt from the command line, or from standard input.
fn prompt(words: &[String]) -> anyhow::Result<String> {
    let from_stdin = words.is_empty() || words == ["-"];
    let prompt = if !from_stdin {
        words.join(" ")
    } else if io::stdin().is_terminal() {
        bail!("say what to do: posse run \"fix the failing test\"");
    } else {
        let mut bytes = Vec::new();
        io::stdin().lock().take(PROMPT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > PROMPT_BYTES_MAX {
            bail!("the prompt is longer than {PROMPT_BYTES_MAX} bytes; put it into a file and name the file");
        }
        String::from_utf8(bytes).context("the prompt is not UTF-8 text")?
    };
    if prompt.trim().is_empty() {
        bail!("the prompt is empty; say what to do: posse run \"fix the failing test\"");
    }
    Ok(prompt)
}
