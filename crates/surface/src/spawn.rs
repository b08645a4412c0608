//! The surface `spawn`: one tool that waits for the agent and gives back a summary of what it did.

use posse_protocol::ToolSpec;

use crate::{
    command::{AgentCommand, Join, Shape},
    fields::Fields,
    offer::{Offer, about, integer, text, texts, tool},
    start::start,
    wrong::Wrong,
};

const NAME: &str = "spawn_task";

/// The tool.
pub(crate) fn spec(offer: &Offer<'_>) -> ToolSpec {
    let fields = [
        ("task", text()),
        ("context_files", texts()),
        ("model", offer.model_schema()),
        ("endpoint", offer.endpoint_schema()),
        ("max_iterations", about(integer(), "50 by default")),
        ("max_tokens", about(integer(), "of one reply")),
        ("system_prompt", about(text(), "another posture, such as a reviewer's")),
    ];
    tool(NAME, include_str!("../prompts/spawn.md").trim_end(), &["task"], fields)
}

/// Whether a tool is this one.
pub(crate) fn owns(tool: &str) -> bool {
    tool == NAME
}

/// Reads a call.
pub(crate) fn parse(fields: &Fields) -> Result<AgentCommand, Wrong> {
    start(
        fields,
        &["task", "prompt", "instructions", "message", "input", "objective", "goal", "instruction"],
        Join::Blocking,
        Shape::Summary,
    )
}
