//! `posse sessions`: what is on record.

use posse_engine::Engine;
use posse_engine::record::{AgentRow, SessionRow};
use posse_protocol::{Seq, Update};

use crate::args::SessionsCommand;
use crate::display::{tokens, tree};
use crate::exit::Exit;
use crate::output::{self, Style, counted, harmless, one_line};
use crate::paths::{Paths, shown};
use crate::steps::Steps;

pub(crate) async fn run(paths: &Paths, command: SessionsCommand) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    match command {
        SessionsCommand::List { limit, json } => list(&engine, paths, limit.into(), json)?,
        SessionsCommand::Show { session, json } => show(&engine, &session, json).await?,
    }
    Ok(Exit::Completed)
}

fn list(engine: &Engine, paths: &Paths, limit: usize, json: bool) -> anyhow::Result<()> {
    let sessions = engine.sessions(limit)?;
    if json {
        for session in &sessions {
            output::print(&format!("{}\n", as_json(session)))?;
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
    let mut text = style.dim("session        started           status        turns  tokens     task\n");
    for session in &sessions {
        let id = session.id.to_string();
        let total = session.usage.total_tokens().map_or_else(|| "?".to_string(), output::grouped);
        text.push_str(&format!(
            "{:<13}  {}  {:<12}  {:>5}  {:>9}  {}\n",
            &id[..13],
            local_time(session.started_at_ms),
            session.status,
            session.turns,
            total,
            one_line(session.title.as_deref().unwrap_or(""), 60),
        ));
    }
    Ok(output::print(&text)?)
}

fn as_json(session: &SessionRow) -> serde_json::Value {
    serde_json::json!({
        "session": session.id,
        "started_at_ms": session.started_at_ms,
        "workspace": session.workspace,
        "title": session.title,
        "status": session.status,
        "model": session.model,
        "turns": session.turns,
        "usage": session.usage,
        "cost_usd": session.cost_usd,
    })
}

async fn show(engine: &Engine, wanted: &str, json: bool) -> anyhow::Result<()> {
    let session = engine.find_session(wanted)?;
    if !json {
        output::print(&head(&session, &engine.agents(session.id)?))?;
    }
    let mut steps = Steps::new(Style::for_stdout());
    let mut updates = engine.recorded(session.id, Seq(0));
    while let Some(Update::Event(event)) = updates.next().await {
        let text = if json { format!("{}\n", serde_json::to_string(&event)?) } else { steps.lines(&event) };
        output::print(&text)?;
    }
    output::print(&if json { String::new() } else { steps.unanswered() })?;
    Ok(())
}

fn head(session: &SessionRow, agents: &[AgentRow]) -> String {
    let style = Style::for_stdout();
    let mut text = format!(
        "{} {}\n  started    {}\n  workspace  {}\n  status     {}\n",
        style.bold("session"),
        session.id,
        local_time(session.started_at_ms),
        harmless(&session.workspace),
        session.status,
    );
    for agent in agents.iter().filter(|agent| agent.parent.is_none()) {
        let cost = agent.cost_usd.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
        text.push_str(&format!(
            "  agent      {} on {}: {}, {}, {}, {}{cost}\n",
            harmless(&agent.role),
            harmless(agent.model.as_deref().unwrap_or("?")),
            agent.status,
            counted(agent.turns, "turn"),
            counted(agent.tool_calls, "tool call"),
            tokens(agent.usage),
        ));
    }
    if agents.len() > 1 {
        text.push_str(&format!("\n{}", tree::agents(style, agents, output::stdout_width())));
    }
    text.push('\n');
    text
}

fn local_time(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    match jiff::Timestamp::from_millisecond(ms) {
        Ok(time) => time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => "?".to_string(),
    }
}
