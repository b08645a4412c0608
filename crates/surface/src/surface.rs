//! The surfaces by name, and which of them does what.

use std::{fmt, str::FromStr, sync::LazyLock};

use posse_protocol::{ToolCall, ToolSpec};
use serde::{Deserialize, Serialize};

use crate::{
    agent,
    command::AgentCommand,
    delegate,
    fields::Fields,
    handles, limits, merge,
    offer::{Offer, offered, takes},
    sessions, shell, spawn, task, team,
    words::short,
    wrong::Wrong,
};

/// The set of tools by which a model asks for delegation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// One tool with an action; starting answers with a receipt.
    #[default]
    Agent,
    /// Named background sessions: open, eval, close.
    Sessions,
    /// One tool that waits and gives back text.
    Task,
    /// One tool that waits and gives back a summary.
    Spawn,
    /// One tool that waits and gives back JSON.
    Delegate,
    /// One shell; delegation and file tools are commands in it.
    Shell,
}

/// There is no surface of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no surface \"{name}\"; choose one of agent, sessions, task, spawn, delegate, shell")]
pub struct UnknownSurface {
    name: String,
}

const NAMES: &[(&str, Surface)] = &[
    ("agent", Surface::Agent),
    ("sessions", Surface::Sessions),
    ("task", Surface::Task),
    ("spawn", Surface::Spawn),
    ("delegate", Surface::Delegate),
    ("shell", Surface::Shell),
];

/// The tools of each surface, for telling what they take.
static TOOLS: LazyLock<[(Surface, Vec<ToolSpec>); 6]> = LazyLock::new(|| {
    let offer = Offer { merges: true, ..Offer::BARE };
    Surface::ALL.map(|surface| (surface, surface.tools(&offer)))
});

impl FromStr for Surface {
    type Err = UnknownSurface;

    fn from_str(name: &str) -> Result<Self, UnknownSurface> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        let unknown = || UnknownSurface { name: short(name, limits::SHOWN_CHARS_MAX) };
        found.map(|(_, surface)| *surface).ok_or_else(unknown)
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, surface)| surface == self).map_or("", |(name, _)| *name);
        f.write_str(name)
    }
}

impl Surface {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Agent, Self::Sessions, Self::Task, Self::Spawn, Self::Delegate, Self::Shell];

    /// The tools to offer. They need no rights: whoever runs a command checks them.
    pub fn tools(self, offer: &Offer<'_>) -> Vec<ToolSpec> {
        let mut tools = match self {
            Self::Shell => vec![shell::spec(offer)],
            _ if !offer.may_delegate => Vec::new(),
            Self::Agent => vec![agent::spec(offer)],
            Self::Sessions => sessions::specs(offer),
            Self::Task => vec![task::spec(offer)],
            Self::Spawn => vec![spawn::spec(offer)],
            Self::Delegate => vec![delegate::spec(offer)],
        };
        if self != Self::Shell {
            tools.push(handles::spec());
        }
        if offer.merges && offer.may_delegate && !matches!(self, Self::Shell | Self::Agent) {
            tools.push(merge::spec());
        }
        if offer.team {
            tools.extend(team::specs());
        }
        tools
    }

    /// Whether a call of this tool is for this surface, under other usual names of its tools too.
    pub fn owns(self, tool: &str, team: bool) -> bool {
        let tool = tool.to_ascii_lowercase();
        if team && team::owns(&tool) {
            return true;
        }
        let own = match self {
            Self::Shell => return shell::owns(&tool),
            Self::Agent => agent::owns(&tool),
            Self::Sessions => sessions::owns(&tool),
            Self::Task => task::owns(&tool),
            Self::Spawn => spawn::owns(&tool),
            Self::Delegate => delegate::owns(&tool),
        };
        own || [handles::NAME, merge::NAME].contains(&tool.as_str())
    }

    /// What a call asks for; otherwise a text for the model that says what is wrong and what is accepted.
    pub fn parse(self, call: &ToolCall, team: bool) -> Result<AgentCommand, String> {
        let tool = call.name.to_ascii_lowercase();
        if !self.owns(&tool, team) {
            let offer = Offer { team, ..Offer::BARE };
            let available: Vec<String> = self.tools(&offer).into_iter().map(|tool| tool.name).collect();
            let tool = short(&call.name, limits::SHOWN_CHARS_MAX);
            return Err(Wrong::NoTool { tool, available: available.join(", ") }.to_string());
        } else if self == Self::Shell {
            return shell::parse_routed(call).map(|routed| routed.command);
        }
        let parsed = Fields::read(&call.arguments).and_then(|mut fields| {
            let command = match self {
                _ if team && team::owns(&tool) => team::parse(&tool, &fields)?,
                _ if tool == handles::NAME => handles::parse(&mut fields)?,
                _ if tool == merge::NAME => merge::parse(&fields)?,
                Self::Agent => agent::parse(&tool, &fields)?,
                Self::Sessions => sessions::parse(&tool, &fields)?,
                Self::Task => task::parse(&fields)?,
                Self::Spawn => spawn::parse(&fields)?,
                Self::Delegate | Self::Shell => delegate::parse(&fields)?,
            };
            fields.nothing_else(&self.spec_of(&tool).map(offered).unwrap_or_default())?;
            Ok(command)
        });
        parsed.map_err(|wrong| self.explained(&tool, &wrong))
    }

    /// Whether starting an agent waits for its report unless the call says otherwise.
    pub fn blocks(self) -> bool {
        !matches!(self, Self::Agent | Self::Sessions)
    }

    /// The tool of this name, or the one that its other names stand for.
    fn spec_of(self, tool: &str) -> Option<&'static ToolSpec> {
        let (_, tools) = TOOLS.iter().find(|(surface, _)| *surface == self)?;
        tools.iter().find(|spec| spec.name == tool).or(tools.first())
    }

    /// Whether those who are delegated to may delegate in turn unless the configuration says so.
    pub fn nests(self) -> bool {
        !matches!(self, Self::Task | Self::Spawn)
    }

    /// How many agents may run at the same time, whatever the configuration says; no ceiling of its own where `None`.
    pub fn running_max(self) -> Option<usize> {
        (self == Self::Sessions).then_some(limits::SESSIONS_RUNNING_MAX)
    }

    /// An error, with what the tool takes.
    fn explained(self, tool: &str, wrong: &Wrong) -> String {
        let takes = self.spec_of(tool).map(takes).unwrap_or_default();
        match wrong {
            Wrong::Unknown { also, .. } if !also.is_empty() => {
                format!("{wrong} {takes} Also accepted: {also}.")
            }
            _ => format!("{wrong} {takes}"),
        }
    }
}
