//! What is given to the store to be recorded.

use posse_protocol::{AgentId, EventKind, SessionId};

/// Something that happened and is to go on record. Its place in the session is given by the store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// The session.
    pub session: SessionId,
    /// The agent it happened to.
    pub agent: AgentId,
    /// That agent's parent; none for the main agent.
    pub parent: Option<AgentId>,
    /// Milliseconds since 1970, UTC.
    pub at_ms: u64,
    /// What happened.
    pub kind: EventKind,
}
