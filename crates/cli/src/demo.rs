//! `posse demo`: the main agent and four sub-agents fix a small real repository. The models are a recording; all else
//! is real.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use anyhow::Context as _;
use posse_api::Handle;
use posse_engine::record::DATABASE_FILE;
use posse_engine::{Engine, Session};
use posse_model::ModelConfig;
use posse_setup::{ModelChoice, Paths, SessionPlan, Wishes};
use posse_tui::{BeginFrom, BeginSession, ChatOpening, ChatStart, HostedSession, SessionHost};
use posse_view::SessionView;
use posse_workspace::git;

use crate::args::DemoArgs;
use crate::chat;
use crate::demo_folder::DemoFolder;
use crate::display::{Display, short};
use crate::exit::Exit;
use crate::follow::{Watching, follow};
use crate::limits::PACE_MS;
use crate::output::{self, Style};
use crate::surroundings::{shown, whole};
use crate::work;

const FILES: [(&str, &str); 3] = [
    ("README.md", include_str!("../demo/files/README.md")),
    ("greet.sh", include_str!("../demo/files/greet.sh")),
    ("test.sh", include_str!("../demo/files/test.sh")),
];
const CASSETTE: &str = include_str!("../demo/cassette.jsonl");
const PROMPT: &str = "The tests fail. Find out why, fix it, and run them again.";

pub(crate) async fn run(paths: Paths, flags: Vec<OsString>, args: DemoArgs) -> anyhow::Result<Exit> {
    if args.play || !chat::is_possible() {
        play(&paths, args).await
    } else {
        converse(paths, flags, args).await
    }
}

/// Plays it from the prompt to the end, as `posse run` would show it.
async fn play(paths: &Paths, args: DemoArgs) -> anyhow::Result<Exit> {
    let style = Style::for_stdout();
    let engine = Engine::open(&paths.data_dir)?;
    let place = DemoFolder::make(paths.surroundings().temp_dir(), args.keep)
        .context("cannot make the demo's folder")?;
    let folder = place.path().join("greet");
    let plan = SessionPlan::without_files(paths, &folder, Wishes::default());
    make_repository(&folder).await.context("cannot make the demo's repository")?;
    let stays = if args.keep {
        "It stays there for you to look at"
    } else {
        "It is removed at the end; --keep leaves it"
    };
    output::print(&format!(
        "{}\nA small repository was made in {}\n{stays}.\nAgents, tools, files and tests are real;\n\
         what the model says is a recording, so no key and no server is needed.\n\n{} {PROMPT}\n\n",
        style.bold("posse demo"),
        whole(&folder),
        style.bold("you:"),
    ))?;
    let cassette = place.path().join("cassette.jsonl");
    std::fs::write(&cassette, CASSETTE)?;
    let mut model = ModelConfig::replay("demo recording", &cassette);
    model.replay_pace_ms = if args.fast { 0 } else { PACE_MS };
    let terms = plan.terms(ModelChoice { model, prices: None })?;
    let mut display = Display::live_without_next_steps();
    let (request, _) = work::request(terms, &mut display, PROMPT.to_string().into(), None)?;
    let session = engine.start(request)?;
    let id = short(session.id);
    let watching = Watching::new(SessionView::default(), false, false);
    let exit = follow(&engine, session, display, watching, std::future::ready(None)).await?;
    if exit == Exit::Completed {
        output::print(&next_steps(style, paths, &id, args.keep.then_some(folder.as_path())))?;
    }
    Ok(exit)
}

/// Opens the chat on it, so that people can press keys and look at agents.
async fn converse(paths: Paths, flags: Vec<OsString>, args: DemoArgs) -> anyhow::Result<Exit> {
    let place = DemoFolder::make(paths.surroundings().temp_dir(), args.keep)
        .context("cannot make the demo's folder")?;
    let folder = place.path().join("greet");
    make_repository(&folder).await.context("cannot make the demo's repository")?;
    let cassette = place.path().join("cassette.jsonl");
    std::fs::write(&cassette, CASSETTE)?;
    let paths = Arc::new(paths);
    let host = DemoHost { paths: paths.clone(), folder: folder.clone(), cassette, fast: args.fast };
    let greeting = [
        "Agents, tools, files and tests are real; what the model says is a recording.",
        "Try Ctrl+T (agents), Ctrl+O (transcript), /diff, /undo, /help.",
        "",
    ];
    let start = ChatStart {
        opening: ChatOpening::Prompt(PROMPT.to_string()),
        host: Some(Arc::new(host)),
        greeting: greeting.map(str::to_string).to_vec(),
        ..chat::start(paths, flags, folder)
    };
    posse_tui::open(start).await?;
    Ok(Exit::Completed)
}

/// Runs the demo's session in this process: its folder goes with it.
struct DemoHost {
    paths: Arc<Paths>,
    folder: PathBuf,
    cassette: PathBuf,
    fast: bool,
}

impl SessionHost for DemoHost {
    fn begin(
        &self,
        begin: BeginSession,
    ) -> Pin<Box<dyn Future<Output = Result<HostedSession, String>> + Send>> {
        let is_recorded = begin.words.text == PROMPT && begin.from == BeginFrom::Nothing;
        let started = is_recorded.then(|| self.start(begin.words.text));
        Box::pin(async move {
            let Some(started) = started else {
                return Err(
                    "the demo is a recording of one prompt; posse opens the chat in a folder of yours"
                        .to_string(),
                );
            };
            let (engine, mut session) = started.map_err(|error| format!("{error:#}"))?;
            // It is on record from its first event on.
            session.next().await;
            let id = session.id;
            // Somebody has to hold the session: it ends with its handle.
            tokio::spawn(async move { while session.next().await.is_some() {} });
            Ok(HostedSession { session: id, handle: Handle::Here(engine), notes: Vec::new() })
        })
    }
}

impl DemoHost {
    fn start(&self, prompt: String) -> anyhow::Result<(Engine, Session)> {
        let engine = Engine::open(&self.paths.data_dir)?;
        let wishes = Wishes { stay: true, person: true, ..Wishes::default() };
        let plan = SessionPlan::without_files(&self.paths, &self.folder, wishes);
        let mut model = ModelConfig::replay("demo recording", &self.cassette);
        model.replay_pace_ms = if self.fast { 0 } else { PACE_MS };
        let terms = plan.terms(ModelChoice { model, prices: None })?;
        let session = engine.start(terms.request(prompt, None)?)?;
        Ok((engine, session))
    }
}

/// The demo's files in a folder of their own, committed.
async fn make_repository(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir(folder)?;
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text)?;
    }
    git::init(folder).await?;
    Ok(git::commit_all(folder, "greet people by the hour").await?)
}

fn next_steps(style: Style, paths: &Paths, id: &str, kept: Option<&Path>) -> String {
    let folder = kept.map(|folder| {
        let folder = whole(folder);
        format!("  see what they changed   cd {folder} && posse diff\n  take it all back        posse undo --session\n")
    });
    format!(
        "\n{}\n{}  see who did what        posse tasks {id}\n  \
         see every step          posse sessions show {id}\n  look for a model        posse doctor\n  let it work for you     posse run \"what does this project do?\"\n\n\
         The record of this session is in {}.\n",
        style.bold("What to try next"),
        folder.unwrap_or_default(),
        shown(&paths.data_dir.join(DATABASE_FILE)),
    )
}
