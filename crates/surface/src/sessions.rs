//! The surface `sessions`: named background sessions that are opened, looked at and closed.

use posse_protocol::ToolSpec;
use serde_json::json;

use crate::{
    agent,
    command::{AgentCommand, Join, Shape, Until},
    fields::{FieldNames, Fields},
    limits,
    offer::{Offer, about, boolean, integer, isolation, text, texts, tool},
    start::start,
    team::message,
    wrong::Wrong,
};

const OPEN: &str = "agent_open";
const EVAL: &str = "agent_eval";
const CLOSE: &str = "agent_close";

/// The tools.
pub(crate) fn specs(offer: &Offer<'_>) -> Vec<ToolSpec> {
    let mut open = vec![
        ("name", text()),
        ("prompt", text()),
        ("type", about(text(), "role; general by default")),
        ("fork_context", about(boolean(), "go on from this conversation")),
        ("allowed_tools", about(texts(), "needed for custom")),
        ("context_files", texts()),
    ];
    if !offer.models.is_empty() {
        open.push(("model", offer.model_schema()));
    }
    if offer.merges {
        open.push(("isolation", isolation()));
    }
    open.extend(offer.place_schema().map(|place| ("on", place)));
    let eval = [
        ("name", text()),
        ("message", text()),
        ("interrupt", boolean()),
        ("wait", boolean()),
        ("until", json!({"type": "string", "enum": ["any", "all"]})),
        ("timeout_ms", integer()),
    ];
    vec![
        tool(OPEN, offer.with_roles(include_str!("../prompts/agent_open.md"), 0), &["prompt"], open),
        tool(EVAL, include_str!("../prompts/agent_eval.md").trim_end(), &[], eval),
        tool(CLOSE, "End a session; what runs is stopped.", &["name"], [("name", text())]),
    ]
}

/// Whether a tool is one of these.
pub(crate) fn owns(tool: &str) -> bool {
    [OPEN, EVAL, CLOSE].contains(&tool)
}

/// Reads a call of one of these.
pub(crate) fn parse(tool: &str, fields: &Fields) -> Result<AgentCommand, Wrong> {
    const PROMPT: FieldNames =
        &["prompt", "message", "task", "input", "instructions", "objective", "goal", "instruction"];
    match tool {
        OPEN => start(fields, PROMPT, Join::Background, Shape::Text),
        CLOSE => Ok(AgentCommand::Close { agent: agent::one(fields)? }),
        _ => eval(fields),
    }
}

fn eval(fields: &Fields) -> Result<AgentCommand, Wrong> {
    const MESSAGE: FieldNames = &["message", "input", "text", "prompt"];
    let timeout_ms = agent::timeout_ms(fields)?;
    let (wait, until) = waits(fields)?;
    let wait = wait.unwrap_or(timeout_ms.is_some() || until.is_some());
    let wait_ms = wait.then(|| timeout_ms.unwrap_or(limits::WAIT_MS));
    let told = fields.has(MESSAGE);
    let agents = agent::several(fields)?;
    if let ([agent], None | Some(Until::All)) = (agents.as_slice(), until) {
        let message = if told { Some(message(fields)?) } else { None };
        let interrupt = fields.flag(&["interrupt"])?.unwrap_or(false);
        return Ok(AgentCommand::Eval { agent: agent.clone(), message, interrupt, wait_ms });
    }
    // It is about several of them, or all; then there is nobody to tell anything.
    match wait_ms {
        _ if told => Err(fields.missing(&["name"])),
        Some(ms) => {
            // Without names the first end is news; named ones are wanted all.
            let usual = if agents.is_empty() { Until::Any } else { Until::All };
            Ok(AgentCommand::Wait { agents, until: until.unwrap_or(usual), timeout_ms: Some(ms) })
        }
        None => agent::status(fields),
    }
}

/// Whether to wait, and for whom: `wait` is a flag, and "all" or "any" say both.
fn waits(fields: &Fields) -> Result<(Option<bool>, Option<Until>), Wrong> {
    const WAIT: FieldNames = &["wait", "block"];
    let words = &[("any", Until::Any), ("all", Until::All)];
    let until = fields.choice(&["until", "wait_for"], words, &[("first", Until::Any)])?;
    if fields.flag(&["wait_all", "wait_for_all"])? == Some(true) {
        return Ok((Some(true), Some(Until::All)));
    }
    match (fields.flag(WAIT), fields.choice(WAIT, words, &[("first", Until::Any)])) {
        (Err(_), Ok(Some(named))) => Ok((Some(true), Some(until.unwrap_or(named)))),
        (flag, _) => Ok((flag?, until)),
    }
}
