//! The branch of one agent, and what became of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits;
use crate::text::cut;

/// The branch of an agent that works in a checkout of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BranchView {
    /// Its name in the person's repository.
    pub name: String,
    /// What became of it.
    pub state: BranchState,
    /// The paths whose change is on the branch and not in the folder, as far as the agent's receipt lists them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// What became of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BranchState {
    /// Its agent is at work.
    Working,
    /// Its agent has ended, and nobody has merged it.
    Unmerged,
    /// All of it is in the folder.
    Merged,
    /// What did not fit is on the branch alone.
    Conflicts,
}

impl BranchView {
    pub(crate) fn new(name: &str, state: BranchState) -> Self {
        Self { name: cut(name, limits::TEXT_CHARS_MAX), state, paths: Vec::new() }
    }

    /// Whether there is work on it that is not in the folder.
    pub fn is_open(&self) -> bool {
        matches!(self.state, BranchState::Unmerged | BranchState::Conflicts)
    }
}
