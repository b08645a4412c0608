//! The surface `sessions`: named background sessions that are opened, looked at and closed.

use posse_protocol::ToolSpec;

use crate::{
    agent,
    command::{Command, Join, Shape, Until},
    fields::Fields,
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
    let eval = [
        ("name", text()),
        ("message", text()),
        ("interrupt", boolean()),
        ("wait", boolean()),
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
pub(crate) fn parse(tool: &str, fields: &Fields) -> Result<Command, Wrong> {
    const PROMPT: &[&str] = &["prompt", "message", "task", "input", "instructions"];
    match tool {
        OPEN => start(fields, PROMPT, Join::Background, Shape::Text),
        CLOSE => Ok(Command::Close { agent: agent::one(fields)? }),
        _ => eval(fields),
    }
}

fn eval(fields: &Fields) -> Result<Command, Wrong> {
    const MESSAGE: &[&str] = &["message", "input", "text", "prompt"];
    let timeout_ms = agent::timeout_ms(fields)?;
    let wait = fields.flag(&["wait", "block"])?.unwrap_or(timeout_ms.is_some());
    let wait_ms = wait.then(|| timeout_ms.unwrap_or(limits::WAIT_MS));
    let told = fields.has(MESSAGE);
    // Without a session it is about all of them, but then there is nobody to tell anything.
    let Some(agent) = agent::any(fields)? else {
        return match wait_ms {
            _ if told => Err(fields.missing(&["name"])),
            Some(ms) => Ok(Command::Wait { agents: Vec::new(), until: Until::Any, timeout_ms: Some(ms) }),
            None => agent::status(fields),
        };
    };
    let message = if told { Some(message(fields)?) } else { None };
    let interrupt = fields.flag(&["interrupt"])?.unwrap_or(false);
    Ok(Command::Eval { agent, message, interrupt, wait_ms })
}
