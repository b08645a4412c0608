//! What one agent is asked to do. A surface makes it from a model's call, `delegate` admits it, `engine` runs it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Branch, Budget, CallId, Grant};

/// One piece of work for a sub-agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The role as the model wrote it; `None` is the default role.
    pub role: Option<String>,
    /// What it is about, in a few words.
    pub title: String,
    /// What to do.
    pub prompt: String,
    /// The agent's name; Posse chooses one if `None`.
    pub name: Option<String>,
    /// How to tell that it is done.
    pub success_criteria: Option<String>,
    /// Files that must exist and not be empty afterwards.
    pub deliverables: Vec<String>,
    /// What it knows of its parent's conversation.
    pub context: ContextMode,
    /// Files whose contents it is given.
    pub context_files: Vec<String>,
    /// Turns of the parent's conversation it is given, for `ContextMode::Selective`.
    pub context_turns: Vec<u32>,
    /// The model to use.
    pub model: Option<String>,
    /// The endpoint to use.
    pub endpoint: Option<String>,
    /// What it may spend; for `None` role and configuration decide.
    pub budget: Budget,
    /// The most tokens of a single reply.
    pub max_output_tokens: Option<u32>,
    /// The only tools it may use, by pattern.
    pub allowed_tools: Option<Vec<String>>,
    /// A system prompt that replaces the role's text. It never changes what the agent may do.
    #[serde(default)]
    pub system_prompt: Option<String>,
    /// Where it works; the role decides where `None`.
    #[serde(default)]
    pub isolation: Option<Isolation>,
    /// On which machine: a worker, a label that workers have, `anywhere` or `home`; the role decides where `None`.
    #[serde(default)]
    pub on: Option<String>,
}

impl Task {
    /// A task with only a title and a prompt.
    pub fn new(title: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self {
            role: None,
            title: title.into(),
            prompt: prompt.into(),
            name: None,
            success_criteria: None,
            deliverables: Vec::new(),
            context: ContextMode::Fresh,
            context_files: Vec::new(),
            context_turns: Vec::new(),
            model: None,
            endpoint: None,
            budget: Budget::UNLIMITED,
            max_output_tokens: None,
            allowed_tools: None,
            system_prompt: None,
            isolation: None,
            on: None,
        }
    }
}

/// Everything an admitted agent needs to start, with all choices made. It is recorded, so that the agent can start in
/// another process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    /// The call of its parent that asked for it.
    pub call: Option<CallId>,
    /// What it may do.
    pub grant: Grant,
    /// What it may spend.
    pub budget: Budget,
    /// The configured name of its model.
    pub model: String,
    /// The most tokens of one reply.
    pub max_output_tokens: Option<u32>,
    /// Its first message, without the files.
    pub words: String,
    /// The system prompt that replaces its role's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Files whose contents are added to the first message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_files: Vec<String>,
    /// Files that must exist at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliverables: Vec<String>,
    /// Where it works.
    #[serde(default)]
    pub isolation: Isolation,
    /// The branch it continues on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// The worker or the label of workers that it runs on; none if it runs at home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
}

/// Where an agent works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In the same files as its parent.
    #[default]
    Shared,
    /// In a checkout of its own, on a branch of its own.
    Worktree,
}

/// What an agent knows of its parent's conversation when it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContextMode {
    /// Nothing.
    #[default]
    Fresh,
    /// All of it, byte for byte.
    Fork,
    /// A digest of it.
    Summary,
    /// Named files and turns of it.
    Selective,
}
