//! How an agent does, in one character with its colour. Pure.

use posse_view::{State, words};

use crate::output::Style;

/// The mark of a state. `blocked`: it says that something was in its way.
pub(crate) fn mark(style: Style, state: State, blocked: bool) -> String {
    let mark = words::mark(state, blocked);
    match state {
        State::Completed if !blocked => style.green(mark),
        State::Completed | State::Cancelled | State::Interrupted | State::NeedsPerson => style.yellow(mark),
        State::Running => style.cyan(mark),
        State::Pending | State::Queued => style.dim(mark),
        _ => style.red(mark),
    }
}
