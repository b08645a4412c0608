//! Delegation: calls of delegation tools become agents, messages and answers.

pub(crate) mod answers;
pub(crate) mod calls;
pub(crate) mod handles;
mod placing;
pub(crate) mod starting;
pub(crate) mod team;
