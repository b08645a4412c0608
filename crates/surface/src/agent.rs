//! The surface `agent`, the default: one tool with an action. Starting answers with a receipt; reports come by
//! themselves.

use posse_protocol::ToolSpec;
use serde_json::json;

use crate::{
    command::{AgentCommand, Join, Shape, Until},
    fields::{FieldNames, Fields},
    limits,
    offer::{Offer, about, integer, integers, isolation, text, texts, tool},
    start::{ROLE, saturated, start},
    team::message,
    wrong::Wrong,
};

const NAME: &str = "agent";
/// Names of the same things elsewhere, with the action they stand for.
const ALIASES: &[(&str, Option<Action>)] = &[
    (NAME, None),
    ("task", None),
    ("spawn_agent", Some(Action::Start)),
    ("wait_agent", Some(Action::Wait)),
    ("list_agents", Some(Action::Status)),
    ("send_input", Some(Action::Message)),
    ("send_message", Some(Action::Message)),
    ("followup_task", Some(Action::Message)),
    ("cancel_agent", Some(Action::Cancel)),
    ("close_agent", Some(Action::Close)),
    ("merge_agent", Some(Action::Merge)),
];

const PROMPT: FieldNames =
    &["prompt", "task", "instructions", "message", "input", "objective", "goal", "instruction"];
const AGENT: FieldNames =
    &["agent", "target", "agent_id", "id", "name", "agents", "to", "names", "targets", "ids", "agent_ids"];

#[derive(Clone, Copy)]
enum Action {
    Start,
    Wait,
    Status,
    Message,
    Cancel,
    Close,
    Merge,
}

const ACTIONS: &[(&str, Action)] = &[
    ("start", Action::Start),
    ("wait", Action::Wait),
    ("status", Action::Status),
    ("message", Action::Message),
    ("cancel", Action::Cancel),
    ("close", Action::Close),
    ("merge", Action::Merge),
];
const MORE_ACTIONS: &[(&str, Action)] = &[
    ("spawn", Action::Start),
    ("open", Action::Start),
    ("launch", Action::Start),
    ("run", Action::Start),
    ("list", Action::Status),
    ("send", Action::Message),
    ("send_message", Action::Message),
    ("follow_up", Action::Message),
    ("stop", Action::Cancel),
    ("kill", Action::Cancel),
];

/// The tool. Only the arguments that are often of use are told; the others parse all the same.
pub(crate) fn spec(offer: &Offer<'_>) -> ToolSpec {
    let offered = |(name, action): &(&'static str, Action)| {
        (offer.merges || !matches!(action, Action::Merge)).then_some(*name)
    };
    let actions: Vec<&str> = ACTIONS.iter().filter_map(offered).collect();
    let mut fields = vec![
        ("action", json!({"type": "string", "enum": actions})),
        ("role", text()),
        ("prompt", text()),
        ("title", text()),
        ("context", json!({"type": "string", "enum": ["fresh", "fork", "summary", "selective"]})),
        ("context_turns", integers()),
        ("context_files", texts()),
        ("deliverables", texts()),
        ("max_turns", integer()),
        ("agents", about(texts(), "not for start")),
        ("message", text()),
        ("until", json!({"type": "string", "enum": ["any", "all"]})),
        ("timeout_s", integer()),
    ];
    if !offer.models.is_empty() {
        fields.push(("model", offer.model_schema()));
    }
    if offer.merges {
        fields.push(("isolation", isolation()));
    }
    fields.extend(offer.place_schema().map(|place| ("on", place)));
    tool(NAME, offer.with_roles(include_str!("../prompts/agent.md"), 0), &[], fields)
}

/// Whether a tool is one of these.
pub(crate) fn owns(tool: &str) -> bool {
    ALIASES.iter().any(|(name, _)| *name == tool)
}

/// Reads a call of one of these.
pub(crate) fn parse(tool: &str, fields: &Fields) -> Result<AgentCommand, Wrong> {
    let implied = ALIASES.iter().find(|(name, _)| *name == tool).and_then(|(_, action)| *action);
    let action = match implied {
        Some(action) => action,
        None => named(fields)?,
    };
    match action {
        Action::Start => begin(fields),
        Action::Wait => wait(fields),
        Action::Status => status(fields),
        Action::Message => {
            let interrupt = fields.flag(&["interrupt"])?.unwrap_or(false);
            Ok(AgentCommand::Message { agent: one(fields)?, text: message(fields)?, interrupt })
        }
        Action::Cancel => Ok(AgentCommand::Cancel { agent: one(fields)? }),
        Action::Close => Ok(AgentCommand::Close { agent: one(fields)? }),
        Action::Merge => Ok(AgentCommand::Merge { agent: one(fields)? }),
    }
}

/// The action as named, or as it follows from what is there.
fn named(fields: &Fields) -> Result<Action, Wrong> {
    const ACTION: FieldNames = &["action"];
    /// Words that start something; a message may be for an agent that is there.
    const ASKED: FieldNames = &["prompt", "task", "instructions", "objective", "goal", "instruction"];
    let named = fields.choice(ACTION, ACTIONS, MORE_ACTIONS)?;
    let implied = || {
        if fields.has(ASKED) {
            Some(Action::Start)
        } else if fields.has(AGENT) && fields.has(&["message"]) {
            Some(Action::Message)
        } else if fields.has(PROMPT) && fields.has(ROLE) {
            // Words for somebody of a role, not for an agent that is there.
            Some(Action::Start)
        } else {
            None
        }
    };
    // Without an action something shall start, so it is the prompt that is missing.
    named.or_else(implied).ok_or_else(|| fields.missing(ASKED))
}

fn begin(fields: &Fields) -> Result<AgentCommand, Wrong> {
    let mut command = start(fields, PROMPT, Join::Background, Shape::Text)?;
    if let AgentCommand::Start { task, .. } = &mut command
        && task.role.is_none()
    {
        task.role = fields.word(&["agent"], limits::WORD_CHARS_MAX)?;
    }
    Ok(command)
}

/// A wait for named agents, or for all of the caller's.
pub(crate) fn wait(fields: &Fields) -> Result<AgentCommand, Wrong> {
    let agents = several(fields)?;
    let until =
        fields.choice(&["until"], &[("any", Until::Any), ("all", Until::All)], &[("first", Until::Any)])?;
    Ok(AgentCommand::Wait { agents, until: until.unwrap_or(Until::All), timeout_ms: timeout_ms(fields)? })
}

/// How long to wait, within limits.
pub(crate) fn timeout_ms(fields: &Fields) -> Result<Option<u64>, Wrong> {
    let timeout_ms = match fields.number(&["timeout_s", "timeout_seconds"])? {
        Some(seconds) => Some(seconds.saturating_mul(1_000)),
        None => fields.number(&["timeout_ms"])?,
    };
    Ok(timeout_ms.map(|ms| ms.min(limits::WAIT_MS_MAX)))
}

/// A look at one agent or all.
pub(crate) fn status(fields: &Fields) -> Result<AgentCommand, Wrong> {
    Ok(AgentCommand::Status { agent: any(fields)?, page: fields.positive(&["page"])?.map_or(1, saturated) })
}

/// The one agent that is meant.
pub(crate) fn one(fields: &Fields) -> Result<String, Wrong> {
    any(fields)?.ok_or_else(|| fields.missing(AGENT))
}

/// The agent that is meant, if one is: under any of its names, as a string or as a list of one.
pub(crate) fn any(fields: &Fields) -> Result<Option<String>, Wrong> {
    let mut agents = several(fields)?;
    if agents.len() > 1 {
        return Err(Wrong::TooMany { field: "agent", max: 1 });
    }
    Ok(agents.pop())
}

/// The agents that are meant; none where all are.
pub(crate) fn several(fields: &Fields) -> Result<Vec<String>, Wrong> {
    let mut agents = fields.list(AGENT, limits::WAIT_AGENTS_MAX)?;
    if agents.iter().any(|name| ["all", "*"].contains(&name.as_str())) {
        agents.clear();
    }
    if agents.iter().any(|name| name.chars().count() > limits::NAME_CHARS_MAX) {
        let advice = "Use the name that was given at its start.";
        return Err(Wrong::TooLong {
            field: "agent",
            max: limits::NAME_CHARS_MAX,
            unit: "characters",
            advice,
        });
    }
    Ok(agents)
}
