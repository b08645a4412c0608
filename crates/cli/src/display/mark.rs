//! How an agent does, in one character with its colour. Pure.

use posse_protocol::AgentState;
use posse_view::words;

use crate::output::Style;

/// The mark of a state. `blocked`: it says that something was in its way.
pub(crate) fn mark(style: Style, state: AgentState, blocked: bool) -> String {
    let mark = words::mark(state, blocked);
    match state {
        AgentState::Completed if !blocked => style.green(mark),
        AgentState::Completed | AgentState::Cancelled | AgentState::Interrupted | AgentState::NeedsPerson => {
            style.yellow(mark)
        }
        AgentState::Running => style.cyan(mark),
        AgentState::Pending | AgentState::Queued => style.dim(mark),
        _ => style.red(mark),
    }
}
