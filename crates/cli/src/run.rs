//! `posse run`: one task, from the prompt to the exit code.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::{Context as _, bail};
use posse_engine::models::{Governors, Model, Models, Recorder};
use posse_engine::{Asking, Engine, Session, SessionRequest, Taken, ToolSettings, project_context};
use posse_protocol::{Approval, Shell, Update};

use crate::agents;
use crate::args::RunArgs;
use crate::config::{Config, Time, Trusted};
use crate::crew::{self, Setup};
use crate::detect::{self, Choice};
use crate::display::Display;
use crate::exit::Exit;
use crate::interrupts;
use crate::output;
use crate::paths::Paths;
use crate::questions::{self, Questions, Reply};

/// The longest prompt that is read from standard input.
const PROMPT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How long standard input beside a prompt has to come to its end.
const PIPED_WAIT_MS: u64 = 1000;
/// When it is found out whether commands can be confined here.
const SANDBOX_TRIED_AFTER_MS: u64 = 500;
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
    let plan = args.modes.plan.then_some(Approval::Plan);
    config.approval.mode = args.approval.or(plan).or(config.approval.mode);
    let prompt = prompt(&args.prompt)?;
    let choice = detect::choose(&config, args.model.as_deref()).await?;
    if config.limits.max_cost_usd.is_some() && choice.prices.is_none() {
        bail!(
            "max_cost_usd cannot be kept: the price of {} is not known; give `price` in [models.NAME]",
            choice.model.name
        );
    }
    if let Some(path) = args.record.as_deref().filter(|path| path.exists()) {
        bail!("{} is already there; record to a new file, or remove it first", path.display());
    }
    let mut display = if args.json {
        Display::Json
    } else if args.quiet {
        Display::Quiet
    } else {
        Display::live()
    };
    let places = agents::places(paths, &folder);
    let trusted = Trusted::load(&paths.data_dir)?;
    let mut setup = Setup::of(&config, &args.modes, &places, &trusted, crew::skills(paths, &folder));
    let person = matches!(display, Display::Live(_)) && questions::person_is_there();
    let tools = tool_settings(&config, paths, args.no_sandbox);
    let has_shell = setup.grant.shell != Shell::None;
    if has_shell && args.no_sandbox {
        let text = "--no-sandbox: commands run with all your rights, also those of read-only roles";
        setup.warnings.push(text.to_string());
    }
    for warning in config.warnings.iter().chain(&setup.warnings) {
        display.note(&output::harmless(warning))?;
    }
    let engine = Engine::open(&paths.data_dir)?;
    let recorder = match &args.record {
        Some(path) => Some(Arc::new(Recorder::create(path, substitutions(&folder))?)),
        None => None,
    };
    let mut request = request(&config, setup, choice, &folder, prompt, recorder.clone())?;
    request.asking = Asking { rules: config.rules()?, person };
    request.tools = tools;
    let notice = async move { if has_shell && !args.no_sandbox { missing_sandbox().await } else { None } };
    let exit = follow(engine.start(request)?, display, person, notice).await?;
    if let Some(failure) = recorder.and_then(|recorder| recorder.failure()) {
        bail!("the cassette is not complete: {failure}");
    }
    Ok(exit)
}

/// How commands run: confined, unless the person says otherwise.
fn tool_settings(config: &Config, paths: &Paths, no_sandbox: bool) -> ToolSettings {
    let mut settings = ToolSettings::default();
    settings.sandbox.on = !no_sandbox;
    settings.sandbox.readable = config.readable();
    settings.sandbox.hidden.extend(paths.own_places());
    settings
}

/// Finds out, beside everything else, whether commands can be confined, and says so if they cannot.
async fn missing_sandbox() -> Option<String> {
    // Not while the first request is on its way: it has the machine to itself.
    tokio::time::sleep(Duration::from_millis(SANDBOX_TRIED_AFTER_MS)).await;
    let tried = tokio::task::spawn_blocking(posse_engine::machine::available).await;
    let missing = tried.ok()?.err()?;
    Some(format!(
        "no shell: {missing}; `posse doctor` tells more, --no-sandbox runs commands with all your rights"
    ))
}

/// What stands for this machine's texts in a cassette.
fn substitutions(folder: &Path) -> Vec<(String, String)> {
    vec![(folder.display().to_string(), WORKSPACE_PLACEHOLDER.to_string())]
}

/// Puts together what a session needs.
pub(crate) fn request(
    config: &Config,
    setup: Setup,
    choice: Choice,
    folder: &Path,
    prompt: String,
    recorder: Option<Arc<Recorder>>,
) -> anyhow::Result<SessionRequest> {
    let (Choice { model: mut settings, prices }, governors) = (choice, Governors::default());
    settings.substitutions = substitutions(folder);
    let mut model = Model::new(settings, &governors)?;
    if let Some(recorder) = &recorder {
        model = model.recording(recorder.clone());
    }
    let mut models = Models::new(model, prices);
    if setup.delegation.is_some() {
        crew::add_models(&mut models, config, &substitutions(folder), &governors, recorder.as_ref());
    }
    Ok(SessionRequest {
        workspace: folder.to_path_buf(),
        prompt,
        models,
        grant: setup.grant,
        budget: setup.budget,
        tools: ToolSettings::default(),
        project: project_context(folder),
        delegation: setup.delegation,
        asking: Asking::default(),
    })
}

/// Shows a session until its end. Ctrl-C once stops it, twice leaves at once.
///
/// `person` answers questions; `notice` is something to tell that takes a moment to find out.
pub(crate) async fn follow(
    mut session: Session,
    mut display: Display,
    person: bool,
    notice: impl Future<Output = Option<String>>,
) -> anyhow::Result<Exit> {
    let mut ticker = tokio::time::interval(Duration::from_millis(100));
    ticker.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut stopping = interrupts::watch(session.canceller())?;
    let mut questions = person.then(Questions::default);
    let (mut notice, mut noticed) = (std::pin::pin!(notice), false);
    loop {
        let shown = tokio::select! {
            biased;
            Some(()) = stopping.recv() => display.note("stopping … (Ctrl-C again to leave at once)"),
            update = session.next() => match update {
                Some(update) => shown(&mut display, &mut questions, &update),
                None => break,
            },
            reply = typed(&mut questions) => answered(&session, &mut display, &mut questions, reply),
            text = &mut notice, if !noticed => {
                noticed = true;
                text.map_or(Ok(()), |text| display.note(&output::harmless(&text)))
            }
            _ = ticker.tick() => display.tick(),
        };
        if let Err(error) = shown {
            // Nobody reads any more: stop rather than work unseen.
            session.cancel();
            session.report().await;
            let gone = error.kind() == io::ErrorKind::BrokenPipe;
            return if gone { Ok(Exit::Cancelled) } else { Err(error.into()) };
        }
    }
    let id = session.id;
    let report =
        session.report().await.context("the session ended without a report; this is a defect in posse")?;
    let exit = Exit::from(&report.ending);
    match display.finish(id, &report) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(exit),
    }
}

fn shown(display: &mut Display, questions: &mut Option<Questions>, update: &Update) -> io::Result<()> {
    display.update(update)?;
    let (Update::Event(event), Some(questions)) = (update, questions) else { return Ok(()) };
    if !questions.event(event) {
        return Ok(());
    }
    display.question(questions.show(display.style()))
}

/// Waits for what the person types; for ever where nobody is asked.
async fn typed(questions: &mut Option<Questions>) -> Reply {
    match questions {
        Some(questions) => questions.typed().await,
        None => std::future::pending().await,
    }
}

fn answered(
    session: &Session,
    display: &mut Display,
    questions: &mut Option<Questions>,
    reply: Reply,
) -> io::Result<()> {
    let again = match reply {
        Reply::Answer(agent, question, answer) => match session.answer(agent, &question.call, answer) {
            // The event that follows takes the question away.
            Taken::Accepted | Taken::NotOpen => return Ok(()),
            Taken::BadPattern => "that is no pattern for this; one is written like edit_file(src/*)",
        },
        Reply::Again(hint) => hint,
    };
    display.question(questions.as_mut().and_then(|questions| questions.again(again)))
}

/// The prompt from the command line, with what is piped in behind it; or from standard input alone.
fn prompt(words: &[String]) -> anyhow::Result<String> {
    let from_stdin = words.is_empty() || words == ["-"];
    let prompt = if from_stdin {
        if io::stdin().is_terminal() {
            bail!("say what to do: posse run \"fix the failing test\"");
        }
        piped()?.recv()??
    } else {
        let prompt = words.join(" ");
        match beside_the_prompt()? {
            Some(text) => format!("{prompt}\n\n{text}"),
            None => prompt,
        }
    };
    if prompt.trim().is_empty() {
        bail!("the prompt is empty; say what to do: posse run \"fix the failing test\"");
    }
    Ok(prompt)
}

/// What is piped in beside a prompt. A pipe that stays open and silent is left alone: whoever started posse may not
/// have thought of it.
fn beside_the_prompt() -> anyhow::Result<Option<String>> {
    if io::stdin().is_terminal() {
        return Ok(None);
    }
    match piped()?.recv_timeout(Duration::from_millis(PIPED_WAIT_MS)) {
        Ok(text) => Ok(Some(text?).filter(|text| !text.trim().is_empty())),
        Err(_) => {
            let note = "posse: standard input did not end within a second and is left out; close it (< /dev/null) or pipe into `posse run -`\n";
            io::stderr().write_all(note.as_bytes())?;
            Ok(None)
        }
    }
}

/// Reads standard input on a thread of its own.
fn piped() -> anyhow::Result<mpsc::Receiver<anyhow::Result<String>>> {
    let (told, text) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let read = || {
            let mut bytes = Vec::new();
            io::stdin().lock().take(PROMPT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > PROMPT_BYTES_MAX {
                bail!(
                    "the prompt is longer than {PROMPT_BYTES_MAX} bytes; put it into a file and name the file"
                );
            }
            String::from_utf8(bytes).context("the prompt is not UTF-8 text")
        };
        let _ = told.send(read());
    })?;
    Ok(text)
}
