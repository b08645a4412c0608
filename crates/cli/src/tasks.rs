//! `posse tasks`: the agents of a session as a tree, with what each of them took. What was interrupted stands apart: it
//! does not run, whatever it did when its process ended.

use posse_engine::Engine;
use posse_engine::record::SessionRow;
use posse_protocol::AgentState;
use posse_setup::Paths;
use posse_view::{AgentView, ReportView, SessionView};

use crate::display::{measured, short, tree};
use crate::exit::Exit;
use crate::limits::{
    MEASURED_SHOWN_MAX, OTHERS_SHOWN_MAX, SESSIONS_LOOKED_AT_MAX, TASKS_NAME_COLUMNS_MAX, TITLE_CHARS_MAX,
};
use crate::output::{self, Style, columns, local_time, one_line};
use crate::prose::hanging;
use crate::recorded::view_of;
use crate::which_session::session_of;

pub(crate) async fn run(paths: &Paths, wanted: Option<String>, json: bool) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    let session = session_of(&engine, wanted.as_deref().unwrap_or("last"))?;
    let view = view_of(&engine, &session).await?;
    if json {
        view.agents.iter().try_for_each(|agent| output::print_json(&as_json(&view, agent)))?;
        return Ok(Exit::Completed);
    }
    let style = Style::for_stdout();
    // Without a terminal the facts stay on one line.
    let width = output::prose_width().map_or(usize::MAX, |width| width.saturating_sub(1));
    let mut text = told(style, &view, width, output::now_ms());
    if wanted.is_none() {
        let others = engine.sessions(SESSIONS_LOOKED_AT_MAX)?;
        let others = others.iter().filter(|other| other.id != session.id).collect::<Vec<_>>();
        text.push_str(&apart(style, &others, AgentState::Running, "also at work"));
        text.push_str(&apart(
            style,
            &others,
            AgentState::Interrupted,
            "interrupted, not running; go on with: posse resume SESSION",
        ));
    }
    output::print(&text)?;
    Ok(Exit::Completed)
}

/// All that is told of one session.
pub(crate) fn told(style: Style, view: &SessionView, width: usize, now_ms: u64) -> String {
    let title = one_line(view.title.as_deref().unwrap_or(""), TITLE_CHARS_MAX);
    let id = view.session.map(short).unwrap_or_default();
    let mut text = format!("{} {id}  {title}\n", style.bold("session"));
    if let Some(left) = tree::interrupted(view) {
        text.push_str(&format!("{}\n", style.yellow(&left)));
    }
    text.push_str(&tree::agents(style, view, width, now_ms));
    text.push_str(&measured_of(style, view, width));
    text
}

/// What was measured of those that have ended, and what does not hold of what they say.
fn measured_of(style: Style, view: &SessionView, width: usize) -> String {
    let ended = view.agents.iter().filter_map(|agent| Some((agent, agent.report.as_ref()?)));
    let ended = ended.collect::<Vec<_>>();
    if ended.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", style.bold("measured"));
    for (agent, report) in ended.iter().take(MEASURED_SHOWN_MAX) {
        let name = one_line(&agent.name, TASKS_NAME_COLUMNS_MAX);
        let head = format!("  {name}: ");
        let facts = hanging(&" ".repeat(columns(&head)), &measured::line(&report.facts_line()), width);
        for (n, row) in facts.iter().enumerate() {
            let (head, row) = row.split_at(columns(&head));
            let head = if n == 0 { format!("  {name}: ") } else { head.to_string() };
            text.push_str(&format!("{head}{}\n", style.dim(row)));
        }
        if report.blocked {
            text.push_str(&style.yellow("    it names blockers: see its report\n"));
        }
        for warning in measured::warnings(report.remarks()) {
            for row in hanging("    warning: ", &warning, width) {
                text.push_str(&style.yellow(&format!("{row}\n")));
            }
        }
    }
    if let Some(more @ 1..) = ended.len().checked_sub(MEASURED_SHOWN_MAX) {
        text.push_str(&style.dim(&format!("  and {more} more: posse tasks --json\n")));
    }
    text
}

/// Other sessions of one kind, under a heading of their own.
fn apart(style: Style, sessions: &[&SessionRow], status: AgentState, heading: &str) -> String {
    let found = sessions.iter().filter(|session| session.status == status).collect::<Vec<_>>();
    if found.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", style.bold(heading));
    for session in found.iter().take(OTHERS_SHOWN_MAX) {
        let title = one_line(session.title.as_deref().unwrap_or(""), TITLE_CHARS_MAX);
        text.push_str(&format!("  {}  {}  {title}\n", short(session.id), local_time(session.started_at_ms)));
    }
    if let Some(more @ 1..) = found.len().checked_sub(OTHERS_SHOWN_MAX) {
        text.push_str(&style.dim(&format!("  and {more} more: posse sessions list\n")));
    }
    text
}

/// One agent for programs.
pub(crate) fn as_json(view: &SessionView, agent: &AgentView) -> serde_json::Value {
    // Nobody was there to see when an interrupted one ended.
    let elapsed_ms = agent.worked_ms(output::now_ms()).filter(|_| agent.state != AgentState::Interrupted);
    let (own, whole, report) = (agent.own, agent.in_all(), agent.report.as_ref());
    serde_json::json!({
        "session": view.session,
        "agent": agent.id,
        "parent": agent.parent,
        "name": agent.name,
        "role": agent.role,
        "depth": agent.depth,
        "title": agent.title,
        "status": agent.state,
        "error": agent.error,
        "requested_model": agent.requested_model,
        "model": agent.model,
        "model_id": agent.model_id,
        "context": agent.context,
        "continues": agent.continues,
        "on": agent.on,
        "delivered": agent.delivered,
        "queued_at_ms": agent.queued_at_ms,
        "started_at_ms": agent.started_at_ms,
        "interrupted_at_ms": agent.interrupted_at_ms,
        "ended_at_ms": agent.ended_at_ms,
        "duration_ms": agent.duration_ms,
        "elapsed_ms": elapsed_ms,
        "turns": own.turns,
        "retries": agent.retries,
        "tool_calls": own.tool_calls,
        "usage": own.usage,
        "cost_usd": own.cost_usd,
        "cost_unknown": own.cost_unknown > 0,
        "blocked": report.is_some_and(|report| report.blocked),
        "facts": report.map(ReportView::facts_line),
        "warnings": report.map(|report| report.warnings.as_slice()).unwrap_or_default(),
        "notes": report.map(|report| report.notes.as_slice()).unwrap_or_default(),
        "subtree": {
            "agents": whole.agents,
            "turns": whole.turns,
            "tool_calls": whole.tool_calls,
            "usage": whole.usage,
            "cost_usd": whole.cost_usd,
            "cost_unknown": whole.cost_unknown,
        },
    })
}
