//! The names of agents before what they do: one column, and a colour for each agent. Pure.

use posse_view::{AgentView, SessionView};

use crate::limits::AGENT_NAME_COLUMNS_MAX;
use crate::output::{Style, columns, one_line};

/// Between a name and what follows.
const GAP: usize = 2;

/// A name in its column.
pub(super) struct NameColumn {
    /// With its colour, and the blank space behind it.
    pub(super) painted: String,
    pub(super) columns: usize,
}

/// The name of an agent, as wide as the longest of those that are at work.
pub(super) fn column(style: Style, view: &SessionView, agent: &AgentView) -> NameColumn {
    let shown = |agent: &AgentView| one_line(&agent.name, AGENT_NAME_COLUMNS_MAX);
    let open = view.sub_agents().filter(|other| !other.has_ended());
    let name = shown(agent);
    let widest = open.map(|other| columns(&shown(other))).max().unwrap_or(0).max(columns(&name));
    let number = view.agents.iter().position(|other| other.id == agent.id).unwrap_or(0);
    let pad = " ".repeat(widest - columns(&name) + GAP);
    NameColumn { painted: format!("{}{pad}", painted(style, number, &name)), columns: widest + GAP }
}

/// A name in the colour of the agent with this number.
pub(super) fn painted(style: Style, number: usize, name: &str) -> String {
    match number % 4 {
        0 => style.green(name),
        1 => style.cyan(name),
        2 => style.magenta(name),
        _ => style.blue(name),
    }
}
