//! What the tools take. The comments are what the client's model reads.

use schemars::JsonSchema;
use serde::Deserialize;

/// What `run_task` takes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunTask {
    /// What to do, whole: the task knows nothing of your conversation.
    pub(crate) prompt: String,
    /// The role to work in, such as "explorer" or "reviewer"; it only takes rights away. Leave it out for general work.
    #[serde(default)]
    pub(crate) role: Option<String>,
    /// The folder to work in: an absolute path inside this server's folders, or one relative to the first of them. Leave it
    /// out for the folder that the server was started in.
    #[serde(default)]
    pub(crate) workspace: Option<String>,
    /// A model by the name that Posse's configuration has for it. Leave it out for the usual one.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// What the task may spend at most; it only lowers what Posse allows anyway.
    #[serde(default)]
    pub(crate) budget: Option<TaskBudget>,
}

/// What a task may spend at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskBudget {
    /// Model calls of the main agent.
    #[serde(default)]
    pub(crate) max_turns: Option<u32>,
    /// Tokens of all requests and replies together.
    #[serde(default)]
    pub(crate) max_tokens: Option<u64>,
    /// Seconds of wall time.
    #[serde(default)]
    pub(crate) max_time: Option<u64>,
    /// US dollars; needs a model whose prices are known.
    #[serde(default)]
    pub(crate) max_cost: Option<f64>,
}

/// What `status`, `report` and `cancel` take.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedTask {
    /// The task's id, as run_task returned it.
    pub(crate) task: String,
}

/// What `message` takes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessageTask {
    /// The task's id, as run_task returned it.
    pub(crate) task: String,
    /// What to say.
    pub(crate) text: String,
    /// The name of one of its agents, as status shows it; the main agent if left out.
    #[serde(default)]
    pub(crate) agent: Option<String>,
}

/// What `answer` takes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerTask {
    /// The task's id, as run_task returned it.
    pub(crate) task: String,
    /// The key of the question, as status shows it.
    pub(crate) question: String,
    /// For a permission "yes" or "no", with a reason behind "no"; for any other question the answer in words.
    pub(crate) answer: String,
}
