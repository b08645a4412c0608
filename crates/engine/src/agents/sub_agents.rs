//! How a session delegates: the dialect, the roles, the limits, and what holds for all sub-agents.

use std::collections::BTreeSet;

pub use posse_delegate::{Limits, OverCap};
use posse_protocol::Isolation;
use posse_roles::Roles;
use posse_surface::Surface;
use serde::{Deserialize, Serialize};

use crate::limits;

/// Everything about delegation that is fixed for a session.
#[derive(Clone, Debug)]
pub struct Delegation {
    /// The dialect its models speak.
    pub surface: Surface,
    /// The roles there are.
    pub roles: Roles,
    /// How wide and deep the tree may grow.
    pub limits: Limits,
    /// What holds for all sub-agents.
    pub sub_agents: SubAgents,
    /// Whether the main agent has delegation tools only.
    pub coordinator: bool,
    /// Whether agents can write to each other and share a board.
    pub team: bool,
    /// Agent files of the project, by path, that the person has trusted as they are. Roles of others only ask.
    pub trusted_files: BTreeSet<String>,
}

impl Delegation {
    /// The longest report of a sub-agent that is told as it is, in bytes, if longer ones are summed up.
    pub(crate) fn sum_up_over(&self) -> Option<usize> {
        let wished = self.sub_agents.sum_up.unwrap_or(self.surface == Surface::Spawn);
        let room = self.sub_agents.result_tokens * limits::BYTES_PER_TOKEN;
        wished.then(|| room.saturating_sub(limits::REPORT_HEAD_BYTES))
    }
}

/// What holds for all sub-agents unless role or task say otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct SubAgents {
    /// Turns.
    pub max_turns: u32,
    /// Tokens of requests and replies together.
    pub tokens: u64,
    /// Wall time.
    pub time_ms: u64,
    /// The most tokens of one reply.
    pub max_output_tokens: Option<u32>,
    /// Tokens of a report that reach the parent; the rest is behind a handle.
    pub result_tokens: usize,
    /// Whether a longer report is summed up by the agent's own model; where `None`, on the `spawn` surface.
    pub sum_up: Option<bool>,
    /// Words before every role's own.
    pub system_prompt: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The endpoint.
    pub endpoint: Option<String>,
    /// Whether they are given the project's notes.
    pub inherit_context_file: bool,
    /// Whether they read and make notes that outlive the session.
    pub inherit_memory: bool,
    /// Whether whoever delegates is told how each role has fared in this project.
    pub show_record: bool,
    /// How much of their work is kept.
    pub record: RecordDetail,
    /// Where they work.
    pub isolation: Isolation,
    /// On which machine: a worker, a label, `anywhere` or `home`; at home where `None`.
    pub on: Option<String>,
}

impl Default for SubAgents {
    fn default() -> Self {
        Self {
            max_turns: limits::SUB_AGENT_TURNS,
            tokens: limits::SUB_AGENT_TOKENS,
            time_ms: limits::SUB_AGENT_TIME_MS,
            max_output_tokens: Some(limits::SUB_AGENT_REPLY_TOKENS),
            result_tokens: limits::RESULT_TOKENS,
            sum_up: None,
            system_prompt: None,
            model: None,
            endpoint: None,
            inherit_context_file: true,
            inherit_memory: true,
            show_record: false,
            record: RecordDetail::Full,
            isolation: Isolation::Shared,
            on: None,
        }
    }
}

/// How much of a sub-agent's work goes on record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordDetail {
    /// Every step.
    #[default]
    Full,
    /// That it was there, and what it came to.
    Result,
}
