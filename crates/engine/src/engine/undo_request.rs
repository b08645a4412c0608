//! What can be asked about the changes of a session, and what comes of it.

use posse_protocol::{Change, Conflict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UndoExtent {
    /// The newest turn that changed something.
    Last,
    /// What one agent and those below it did.
    Agent(String),
    /// What one agent did in one turn; the main agent where none is named.
    Turn {
        /// The agent's name.
        agent: Option<String>,
        /// The turn.
        turn: u32,
    },
    /// Everything.
    Session,
}

/// What is to be taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UndoRequest {
    /// Whose work.
    pub extent: UndoExtent,
    /// Only these files and folders, relative to the workspace, whoever changed them; empty: all that is certain.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Only these parts of these files; empty: all of them. Other files are then left alone.
    #[serde(default)]
    pub hunks: Vec<FileHunks>,
}

/// Some hunks of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileHunks {
    /// The file, relative to the workspace.
    pub path: String,
    /// Their numbers, from 1, as the diff of the same extent shows them.
    pub hunks: Vec<u32>,
}

/// What is asked before anything is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeRequest {
    /// Take something back.
    Undo(UndoRequest),
    /// Take the newest undo back.
    Redo,
    /// Bring the work of an agent with a checkout of its own into the workspace.
    Merge {
        /// The agent's name.
        agent: String,
    },
    /// Bring the files back to where they were when a turn of the main agent began.
    Rewind {
        /// The turn.
        turn: u32,
    },
}

/// What would happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePreview {
    /// What is asked, in words.
    pub what: String,
    /// What it would change.
    pub changes: Vec<Change>,
    /// The same as a unified diff, cut to a length.
    pub diff: String,
    /// What would be left as it is.
    pub conflicts: Vec<Conflict>,
    /// Paths that changed meanwhile, not certain by whom: they would be left as they are.
    pub not_certain: Vec<String>,
    /// What undo does not cover in this workspace, in words.
    pub not_covered: Vec<String>,
}

/// What came of taking something back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UndoOutcome {
    /// What was taken back, in words.
    pub what: String,
    /// What that changed.
    pub changes: Vec<Change>,
    /// What was left as it is.
    pub conflicts: Vec<Conflict>,
    /// Paths that changed meanwhile, not certain by whom: left as they are.
    pub not_certain: Vec<String>,
}

/// What came of bringing an agent's work into the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MergeOutcome {
    /// Its branch.
    pub branch: String,
    /// What came in.
    pub changes: Vec<Change>,
    /// What did not go together, and is still on the branch.
    pub conflicts: Vec<Conflict>,
}
