//! What an agent starts from, is told and is offered, and what is kept of it when it has ended. Below the crew: it knows one
//! agent at a time.

pub(crate) mod advice;
pub(crate) mod clock;
pub(crate) mod context;
pub(crate) mod conversation;
pub(crate) mod facts;
pub(crate) mod finished;
pub(crate) mod offer;
pub(crate) mod past_prompts;
pub(crate) mod process_slots;
pub(crate) mod prompt;
pub(crate) mod receipt;
pub(crate) mod session_parts;
pub(crate) mod start;
pub(crate) mod sub_agent;
pub(crate) mod sub_agents;
pub(crate) mod tool_lists;
