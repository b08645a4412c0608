//! agent_merge: bringing in the work of an agent that had a checkout of its own, on the surfaces without actions.

use posse_protocol::ToolSpec;

use crate::{
    agent,
    command::AgentCommand,
    fields::Fields,
    offer::{text, tool},
    wrong::Wrong,
};

/// The tool's name.
pub(crate) const NAME: &str = "agent_merge";

/// The tool.
pub(crate) fn spec() -> ToolSpec {
    let description =
        "Bring the work of an ended agent with its own worktree into your files; conflicts are told.";
    tool(NAME, description, &["agent"], [("agent", text())])
}

/// Reads a call.
pub(crate) fn parse(fields: &Fields) -> Result<AgentCommand, Wrong> {
    Ok(AgentCommand::Merge { agent: agent::one(fields)? })
}
