//! `posse sessions`: what is on record.

mod clear;
mod export;
mod markdown;
mod replay;
mod search;

#[cfg(test)]
pub(crate) use markdown::markdown_of;

use posse_engine::Engine;
use posse_engine::record::SessionRow;
use posse_protocol::{AgentState, Seq, Update};
use posse_setup::Paths;
use posse_view::{SessionView, words};

use crate::args::SessionsCommand;
use crate::display::{short, tree};
use crate::exit::Exit;
use crate::limits::{SESSIONS_PATH_COLUMNS_MAX, SESSIONS_TITLE_COLUMNS_MAX};
use crate::output::{self, Style, counted, local_time, one_line};
use crate::recorded::view_of;
use crate::steps::{Showing, Steps};
use crate::surroundings::shown;
use crate::which_session::{session_of, sessions_here};

/// Terminals that are narrower get fewer figures, so that there is room for the title.
const NARROW: usize = 80;
/// The same where folders are named.
const WIDE: usize = 110;
/// Columns of a folder.
const FOLDER_COLUMNS: usize = 24;

pub(crate) async fn run(paths: &Paths, command: SessionsCommand) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    match command {
        SessionsCommand::List { limit, all, json } => list(&engine, paths, limit.into(), all, json)?,
        SessionsCommand::Show { session, full, json } => show(&engine, &session, full, json).await?,
        SessionsCommand::Search { query, limit, json } => {
            return search::run(&engine, &query.join(" "), limit.into(), json);
        }
        SessionsCommand::Rename { session, title } => rename(&engine, &session, &title.join(" ")).await?,
        SessionsCommand::Export { session, format, output, content } => {
            export::run(&engine, &session, format, output.as_deref(), content).await?;
        }
        SessionsCommand::Delete { sessions, yes } => return clear::delete(&engine, &sessions, yes).await,
        SessionsCommand::Prune(args) => return clear::prune(&engine, &args).await,
    }
    Ok(Exit::Completed)
}

fn list(engine: &Engine, paths: &Paths, limit: usize, all: bool, json: bool) -> anyhow::Result<()> {
    // One more than is shown, to know whether there are more.
    let mut sessions = if all { engine.sessions(limit + 1)? } else { sessions_here(engine)? };
    let more = sessions.len() > limit;
    sessions.truncate(limit);
    if json {
        for session in &sessions {
            output::print_json(&as_json(session))?;
        }
        return Ok(());
    }
    if sessions.is_empty() {
        return Ok(output::print(&none(engine, paths, all)?)?);
    }
    let listing = Listing { width: output::stdout_width(), now_ms: output::now_ms(), all };
    let mut text = listing.text(Style::for_stdout(), &sessions);
    let interrupted = sessions.iter().find(|session| session.status == AgentState::Interrupted);
    let hints = [
        more.then(|| {
            ("more", format!("posse sessions list{} -n {}", if all { " --all" } else { "" }, limit * 2))
        }),
        interrupted.map(|session| ("go on", format!("posse resume {}", short(session.id)))),
        Some(("read", "posse sessions show SESSION".to_string())),
    ];
    text.push('\n');
    for (label, command) in hints.into_iter().flatten() {
        text.push_str(&Style::for_stdout().dim(&format!("{label:<5}  {command}\n")));
    }
    Ok(output::print(&text)?)
}

/// What is said where no session is listed.
fn none(engine: &Engine, paths: &Paths, all: bool) -> anyhow::Result<String> {
    let start = "start  posse run \"what does this project do?\"\n";
    if all || engine.sessions(1)?.is_empty() {
        return Ok(format!("No sessions in {} yet.\n{start}", shown(&paths.data_dir)));
    }
    Ok(format!("No sessions in this project yet.\n{start}all    posse sessions list --all\n"))
}

/// How sessions are listed.
struct Listing {
    width: usize,
    now_ms: u64,
    /// Whether they are of all folders: then these are named, and there are no numbers to type.
    all: bool,
}

impl Listing {
    fn text(&self, style: Style, sessions: &[SessionRow]) -> String {
        let (figures, folder) = (self.figures("turns", "tokens"), self.folder("folder"));
        let number = if self.all { "" } else { "  #  " };
        let head = format!("{number}session   {:<10}  {:<12}  {figures}{folder}", "when", "status");
        let mut text = style.dim(&format!("{}\n", output::fitted(&head, "task", self.width)));
        for (n, session) in sessions.iter().enumerate() {
            let number = if self.all { String::new() } else { format!("{:>3}  ", n + 1) };
            text.push_str(&self.line(&number, session));
        }
        text
    }

    /// One session in one line, none wider than the terminal.
    fn line(&self, number: &str, session: &SessionRow) -> String {
        let status = words::state(session.status);
        let when = output::ago(session.started_at_ms, self.now_ms);
        let total = session.usage.total_tokens().map_or_else(|| "?".to_string(), output::grouped);
        let figures = self.figures(&session.turns.to_string(), &total);
        let folder = self.folder(&shown(session.workspace.as_ref()));
        let head = format!("{number}{:<8}  {when:<10}  {status:<12}  {figures}{folder}", short(session.id));
        let title = one_line(session.title.as_deref().unwrap_or(""), SESSIONS_TITLE_COLUMNS_MAX);
        format!("{}\n", output::fitted(&head, &title, self.width))
    }

    fn figures(&self, turns: &str, tokens: &str) -> String {
        let room = if self.all { WIDE } else { NARROW };
        if self.width < room { String::new() } else { format!("{turns:>5}  {tokens:>9}  ") }
    }

    /// The end of a path tells more than its beginning.
    fn folder(&self, path: &str) -> String {
        if !self.all {
            return String::new();
        }
        let path = one_line(path, SESSIONS_PATH_COLUMNS_MAX);
        let columns = if self.width < NARROW { FOLDER_COLUMNS / 2 } else { FOLDER_COLUMNS };
        let cut = path.chars().count().saturating_sub(columns - 1);
        let shown = match cut {
            0 | 1 => path,
            _ => format!("…{}", path.chars().skip(cut).collect::<String>()),
        };
        let pad = columns.saturating_sub(output::columns(&shown));
        format!("{shown}{}  ", " ".repeat(pad))
    }
}

fn as_json(session: &SessionRow) -> serde_json::Value {
    serde_json::json!({
        "session": session.id,
        "started_at_ms": session.started_at_ms,
        "last_at_ms": session.last_at_ms,
        "workspace": session.workspace,
        "project": session.project,
        "surface": session.surface,
        "title": session.title,
        "status": session.status,
        "model": session.model,
        "turns": session.turns,
        "usage": session.usage,
        "cost_usd": session.cost_usd,
        "cost_unknown": session.cost_unknown,
    })
}

async fn show(engine: &Engine, wanted: &str, full: bool, json: bool) -> anyhow::Result<()> {
    let session = session_of(engine, wanted)?;
    if !json {
        output::print(&head(&view_of(engine, &session).await?))?;
    }
    let (style, width) = (Style::for_stdout(), output::prose_width());
    let mut steps = Steps::new(Showing { style, width, full });
    let mut updates = engine.recorded(session.id, Seq(0));
    while let Some(Update::Event(event)) = updates.next().await {
        let text = if json { output::event_json(&event)? } else { steps.lines(&event)? };
        output::print(&text)?;
    }
    output::print(&if json { String::new() } else { steps.unanswered() })?;
    Ok(())
}

async fn rename(engine: &Engine, wanted: &str, title: &str) -> anyhow::Result<()> {
    let session = session_of(engine, wanted)?;
    let named = engine.rename(session.id, title).await?;
    let title = one_line(named.title.as_deref().unwrap_or_default(), SESSIONS_TITLE_COLUMNS_MAX);
    Ok(output::print(&format!("Session {} is now called: {title}\n", short(named.id)))?)
}

fn head(view: &SessionView) -> String {
    let style = Style::for_stdout();
    let session = view.session.map(|session| session.to_string()).unwrap_or_default();
    let mut text = format!(
        "{} {session}\n  title      {}\n  started    {}\n  workspace  {}\n  status     {}\n",
        style.bold("session"),
        one_line(view.title.as_deref().unwrap_or_default(), SESSIONS_TITLE_COLUMNS_MAX),
        local_time(view.started_at_ms),
        one_line(&view.workspace, SESSIONS_PATH_COLUMNS_MAX),
        words::state(view.state),
    );
    if let Some(main) = view.main() {
        let own = main.own;
        let cost = own.cost_usd.map(|usd| format!(", {}", words::cost(usd, own.cost_unknown > 0)));
        text.push_str(&format!(
            "  agent      {} on {}: {}, {}, {}, {}{}\n",
            one_line(&main.role, 60),
            one_line(main.model.as_deref().unwrap_or("?"), 100),
            words::state(main.state),
            counted(own.turns, "turn"),
            counted(own.tool_calls, "tool call"),
            words::tokens(own.usage),
            cost.unwrap_or_default(),
        ));
    }
    if let Some(left) = tree::interrupted(view) {
        text.push_str(&format!("  {}  {left}\n", style.yellow("go on    ")));
    }
    if view.agents.len() > 1 {
        let tree = tree::agents(style, view, output::stdout_width(), output::now_ms());
        text.push_str(&format!("\n{tree}"));
    }
    text.push('\n');
    text
}
