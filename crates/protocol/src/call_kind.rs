//! What kind of thing a call does, for whoever shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of thing a call does. It says how a call is shown, never what it may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// It reads a file, a stored value or a skill.
    Read,
    /// It changes files.
    Edit,
    /// It searches or lists.
    Search,
    /// It runs a command, or looks after one that runs.
    Run,
    /// It starts, steers or asks about agents.
    Delegate,
    /// It fetches something from the network.
    Fetch,
    /// It asks the person.
    Ask,
    /// It keeps something for later sessions.
    Remember,
    /// It orders the agent's own thoughts.
    Think,
    /// Anything else, and what a newer version calls by another name.
    #[default]
    #[serde(other)]
    Other,
}

impl CallKind {
    /// Whether nothing more is known of it.
    pub fn is_other(&self) -> bool {
        *self == Self::Other
    }
}
