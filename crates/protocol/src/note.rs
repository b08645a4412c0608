//! Notes that outlive a session: what an agent wants to be known the next time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SessionId;

/// A note as an agent makes it. Who, when and where are added by the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewNote {
    /// Who finds it.
    pub scope: NoteScope,
    /// What kind of note it is, in one word. Those of sub-agents are [`SUB_AGENT_RESULT`](Self::SUB_AGENT_RESULT).
    pub kind: String,
    /// What is to be known.
    pub text: String,
}

impl NewNote {
    /// The kind of every note that a sub-agent makes.
    pub const SUB_AGENT_RESULT: &str = "sub_agent_result";
    /// The kind of a note for which none was given.
    pub const NOTE: &str = "note";
}

/// Who finds a note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteScope {
    /// Agents in the same project.
    #[default]
    Project,
    /// All agents of the person.
    User,
}

impl NoteScope {
    /// One word for tables and the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// A note on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// Its number.
    pub id: u64,
    /// Who finds it.
    pub scope: NoteScope,
    /// The project it was made in.
    pub project: String,
    /// What kind of note it is.
    pub kind: String,
    /// What is to be known.
    pub text: String,
    /// The name of the agent that made it.
    pub agent: String,
    /// That agent's role.
    pub role: String,
    /// In which session; that may be gone.
    pub session: SessionId,
    /// When: milliseconds since 1970, UTC.
    pub at_ms: u64,
}
