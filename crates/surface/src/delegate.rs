//! The surface `delegate`: one tool that names a role, waits for the agent and gives back its report as JSON.

use posse_protocol::ToolSpec;

use crate::{
    command::{AgentCommand, Join, Shape},
    fields::Fields,
    offer::{Offer, about, text, texts, tool},
    start::start,
    wrong::Wrong,
};

const NAME: &str = "delegate_to_agent";

/// The tool.
pub(crate) fn spec(offer: &Offer<'_>) -> ToolSpec {
    let fields = [
        ("role", offer.role_schema()),
        ("task", text()),
        ("context_files", about(texts(), "files to look at first")),
        ("success_criteria", about(text(), "how to tell that it is done")),
    ];
    let description = offer.with_roles(include_str!("../prompts/delegate.md"), 0);
    tool(NAME, description, &["role", "task"], fields)
}

/// Whether a tool is this one.
pub(crate) fn owns(tool: &str) -> bool {
    tool == NAME
}

/// Reads a call.
pub(crate) fn parse(fields: &Fields) -> Result<AgentCommand, Wrong> {
    let command = start(
        fields,
        &["task", "prompt", "instructions", "message", "input", "objective", "goal", "instruction"],
        Join::Blocking,
        Shape::Json,
    )?;
    match &command {
        AgentCommand::Start { task, .. } if task.role.is_none() => Err(fields.missing(&["role"])),
        _ => Ok(command),
    }
}
