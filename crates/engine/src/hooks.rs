//! Hooks of a session: run, put on record, and told to the model as what they are, a stranger's words.

pub(crate) mod agent_hooks;
pub(crate) mod runner;
pub(crate) mod session_hooks;
pub(crate) mod told;
mod transcripts;
