//! The one tool by which a small model delegates, in few words. Its calls are read as those of the whole surface.

use posse_protocol::ToolSpec;

use crate::{
    Surface, limits,
    offer::{Offer, text, tool},
    team,
};

impl Surface {
    /// The same for a small model: one tool that starts an agent, in few words. What is not offered can still be called.
    /// Where everything is a command, the one tool says it all.
    pub fn lean_tools(self, offer: &Offer<'_>) -> Vec<ToolSpec> {
        let mut tools = self.tools(&Offer { team: false, ..*offer });
        if self != Self::Shell {
            tools.truncate(usize::from(offer.may_delegate));
            tools.iter_mut().for_each(|tool| *tool = spec(self, &tool.name, offer));
        }
        if offer.team {
            tools.extend(team::specs());
        }
        tools
    }
}

/// The tool that starts an agent, with the fields that it needs.
fn spec(surface: Surface, name: &str, offer: &Offer<'_>) -> ToolSpec {
    let description = if surface.blocks() {
        include_str!("../prompts/lean_blocking.md")
    } else {
        include_str!("../prompts/lean_background.md")
    };
    let (role, task) = match surface {
        Surface::Sessions | Surface::Task => (Some("type"), "prompt"),
        Surface::Delegate => (Some("role"), "task"),
        Surface::Spawn => (None, "task"),
        Surface::Agent | Surface::Shell => (Some("role"), "prompt"),
    };
    let names: usize = offer.roles.iter().map(|role| role.name.len() + 3).sum();
    let roles = if names > limits::LEAN_ROLES_BYTES_MAX { text() } else { offer.role_schema() };
    let required = if surface == Surface::Delegate { vec!["role", task] } else { vec![task] };
    let fields = role.map(|role| (role, roles)).into_iter().chain([(task, text())]);
    tool(name, description.trim_end(), &required, fields)
}
