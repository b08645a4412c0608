//! What a tool is, seen from outside: its description for the model, its needs for the policy, its outcome.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Attachment, CommandRun, CommitMade, Denial, FileChange, Files, NewNote, Shell, TestFileDelta};

/// A tool as it is offered to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name the model calls.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// JSON Schema of the arguments: always an object schema.
    pub schema: std::sync::Arc<serde_json::Value>,
    /// What a grant must hold for this tool to be offered and run.
    pub needs: Needs,
}

/// The rights a tool needs. Calls that are `read_only` may run at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// The least right on files.
    pub files: Files,
    /// The least shell level.
    pub shell: Shell,
    /// Whether it reaches the network.
    pub network: bool,
}

impl Needs {
    /// Whether a call with these needs leaves no trace: it writes nothing, runs nothing and asks nobody outside.
    pub fn read_only(self) -> bool {
        self.files != Files::Write && self.shell == Shell::None && !self.network
    }
}

/// What one call came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// Whether the call did what it was asked.
    pub ok: bool,
    /// What the model is told.
    pub text: String,
    /// What changed in the world, measured by the tool itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// What the model is shown with the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

impl ToolOutcome {
    /// A call that worked and changed nothing.
    pub fn ok(text: impl Into<String>) -> Self {
        Self { ok: true, text: text.into(), effects: Vec::new(), attachments: Vec::new() }
    }

    /// The same with something that it did.
    #[must_use]
    pub fn with(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }

    /// A call that did not work; the text says what to fix.
    pub fn error(text: impl Into<String>) -> Self {
        Self { ok: false, text: text.into(), effects: Vec::new(), attachments: Vec::new() }
    }
}

/// Something a tool did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// A file was created or changed.
    File(FileChange),
    /// A file changed meanwhile, and it is not certain by whom.
    NotCertain(FileChange),
    /// A command ran. What it changed comes before it.
    Command(CommandRun),
    /// A command was started and goes on beside the agent.
    Background {
        /// The command text.
        command: String,
    },
    /// A test file was changed.
    TestFile(TestFileDelta),
    /// A commit was made.
    Commit(CommitMade),
    /// The to-do list is now this text; it survives compaction.
    Todo {
        /// The whole list.
        text: String,
    },
    /// Nothing: the call was not allowed.
    Denied(Denial),
    /// A note was made that outlives the session.
    Noted(NewNote),
}
