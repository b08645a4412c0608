//! The surface `task`: one tool that waits for the agent and gives back its text.

use posse_protocol::ToolSpec;

use crate::{
    command::{AgentCommand, Join, Shape},
    fields::Fields,
    offer::{Offer, about, text, tool},
    start::start,
    wrong::Wrong,
};

const NAME: &str = "agent";

/// The tool.
pub(crate) fn spec(offer: &Offer<'_>) -> ToolSpec {
    let fields = [
        ("description", about(text(), "3-5 words")),
        ("prompt", text()),
        ("type", about(offer.role_schema(), "general by default")),
    ];
    let description = offer.with_roles(include_str!("../prompts/task.md"), 0);
    tool(NAME, description, &["description", "prompt"], fields)
}

/// Whether a tool is this one, under its names elsewhere too.
pub(crate) fn owns(tool: &str) -> bool {
    [NAME, "task"].contains(&tool)
}

/// Reads a call. A description is asked for, but work is not refused for want of one.
pub(crate) fn parse(fields: &Fields) -> Result<AgentCommand, Wrong> {
    start(
        fields,
        &["prompt", "task", "instructions", "message", "input", "objective", "goal", "instruction"],
        Join::Blocking,
        Shape::Text,
    )
}
