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
use posse_protocol::{Seq, Update};
use posse_setup::Paths;
use posse_view::{SessionView, words};

use crate::args::SessionsCommand;
use crate::display::{short, tree};
use crate::exit::Exit;
use crate::output::{self, Style, counted, local_time, one_line};
use crate::recorded::view_of;
use crate::steps::{Showing, Steps};
use crate::surroundings::shown;
use crate::which_session::session_of;

/// Columns of a session's title that are shown.
const TITLE_COLUMNS_MAX: usize = 60;
/// Columns of a path that are shown.
const PATH_COLUMNS_MAX: usize = 1000;
/// Terminals that are narrower get fewer figures, so that there is room for the title.
const NARROW: usize = 80;

pub(crate) async fn run(paths: &Paths, command: SessionsCommand) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    match command {
        SessionsCommand::List { limit, json } => list(&engine, paths, limit.into(), json)?,
        SessionsCommand::Show { session, full, json } => show(&engine, &session, full, json).await?,
        SessionsCommand::Search { query, limit, json } => {
            return search::run(&engine, &query.join(" "), limit.into(), json);
        }
        SessionsCommand::Export { session, format, output } => {
            export::run(&engine, &session, format, output.as_deref()).await?;
        }
        SessionsCommand::Delete { sessions, yes } => return clear::delete(&engine, &sessions, yes).await,
        SessionsCommand::Prune(args) => return clear::prune(&engine, &args).await,
    }
    Ok(Exit::Completed)
}

fn list(engine: &Engine, paths: &Paths, limit: usize, json: bool) -> anyhow::Result<()> {
    // One more than is shown, to know whether there are more.
    let mut sessions = engine.sessions(limit + 1)?;
    let more = sessions.len() > limit;
    sessions.truncate(limit);
    if json {
        for session in &sessions {
            output::print_json(&as_json(session))?;
        }
        return Ok(());
    }
    if sessions.is_empty() {
        return Ok(output::print(&format!(
            "No sessions in {} yet. Start one: posse demo\n",
            shown(&paths.data_dir)
        ))?);
    }
    let style = Style::for_stdout();
    let width = output::stdout_width();
    let head = match width {
        0..NARROW => "session        started           status        task",
        _ => "session        started           status        turns     tokens  task",
    };
    let mut text = style.dim(&format!("{}\n", output::fitted(head, "", width)));
    for session in &sessions {
        text.push_str(&line(session, width));
    }
    let hints = [
        more.then(|| format!("There are more; posse sessions list -n {} shows them.", limit * 2)),
        sessions
            .iter()
            .find(|session| session.status == "interrupted")
            .map(|session| format!("What was interrupted goes on with: posse resume {}", short(session.id))),
    ];
    for hint in hints.into_iter().flatten() {
        text.push_str(&style.dim(&format!("{hint}\n")));
    }
    Ok(output::print(&text)?)
}

/// One session in one line, none wider than `width`.
fn line(session: &SessionRow, width: usize) -> String {
    let started = local_time(session.started_at_ms);
    let status = match session.status.parse() {
        Ok(state) => words::state(state),
        Err(_) => session.status.as_str(),
    };
    let mut head = format!("{:<13}  {started}  {status:<12}  ", short(session.id));
    if width >= NARROW {
        let total = session.usage.total_tokens().map_or_else(|| "?".to_string(), output::grouped);
        head.push_str(&format!("{:>5}  {total:>9}  ", session.turns));
    }
    let title = one_line(session.title.as_deref().unwrap_or(""), TITLE_COLUMNS_MAX);
    format!("{}\n", output::fitted(&head, &title, width))
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

fn head(view: &SessionView) -> String {
    let style = Style::for_stdout();
    let session = view.session.map(|session| session.to_string()).unwrap_or_default();
    let mut text = format!(
        "{} {session}\n  started    {}\n  workspace  {}\n  status     {}\n",
        style.bold("session"),
        local_time(view.started_at_ms),
        one_line(&view.workspace, PATH_COLUMNS_MAX),
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
