//! Where an agent was when its process ended.

use std::time::Duration;

use posse_agent::{Agent, Next};

use crate::agents::receipt::Effects;

/// An agent as its record leaves it.
pub(crate) struct Past {
    pub(crate) agent: Agent,
    /// What it goes on with.
    pub(crate) next: Next,
    /// How long it had worked.
    pub(crate) worked: Duration,
    /// What it had done.
    pub(crate) effects: Effects,
}
