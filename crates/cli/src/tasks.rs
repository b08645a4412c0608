//! `posse tasks`: the agents of a session as a tree, with what each of them took.

use posse_engine::Engine;
use posse_engine::record::{AgentRow, SessionRow, Totals, subtree_totals};

use crate::display::tree;
use crate::exit::Exit;
use crate::output::{self, Style, one_line};
use crate::paths::Paths;

/// Characters of the session's title that are shown.
const TITLE_CHARS_MAX: usize = 80;

pub(crate) async fn run(paths: &Paths, wanted: String, json: bool) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    let session = engine.find_session(&wanted)?;
    let agents = engine.agents(session.id)?;
    if json {
        let totals = subtree_totals(&agents);
        for agent in &agents {
            let whole = totals.get(&agent.id).copied().unwrap_or_default();
            output::print(&format!("{}\n", as_json(&session, agent, whole)))?;
        }
    } else {
        let style = Style::for_stdout();
        let title = one_line(session.title.as_deref().unwrap_or(""), TITLE_CHARS_MAX);
        let id = session.id.to_string();
        output::print(&format!("{} {}  {title}\n", style.bold("session"), &id[..13]))?;
        output::print(&tree::agents(style, &agents, output::stdout_width()))?;
    }
    Ok(Exit::Completed)
}

fn as_json(session: &SessionRow, agent: &AgentRow, whole: Totals) -> serde_json::Value {
    serde_json::json!({
        "session": session.id,
        "agent": agent.id,
        "parent": agent.parent,
        "name": agent.name,
        "role": agent.role,
        "depth": agent.depth,
        "title": agent.title,
        "status": agent.status,
        "error": agent.error,
        "requested_model": agent.requested_model,
        "model": agent.model,
        "model_id": agent.model_id,
        "context": agent.context,
        "continues": agent.continues,
        "delivered": agent.delivered,
        "queued_at_ms": agent.queued_at_ms,
        "started_at_ms": agent.started_at_ms,
        "ended_at_ms": agent.ended_at_ms,
        "duration_ms": agent.duration_ms,
        "turns": agent.turns,
        "retries": agent.retries,
        "tool_calls": agent.tool_calls,
        "usage": agent.usage,
        "cost_usd": agent.cost_usd,
        "subtree": {
            "agents": whole.agents,
            "turns": whole.turns,
            "tool_calls": whole.tool_calls,
            "usage": whole.usage,
            "cost_usd": whole.cost_usd,
        },
    })
}
