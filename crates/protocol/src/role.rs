//! A named posture: prompt, rights, budget, model, whom it may delegate to. Read from agent files by `roles`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Budget, Grant, Isolation};

/// One role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// What people call it, where that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// When to use it, for the model that delegates.
    pub description: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// How it works, in its own system prompt.
    pub prompt: String,
    /// The most it may do; an agent gets what its parent may do of that.
    pub grant: Grant,
    /// The model it wants; its parent's where `None`.
    pub model: Option<String>,
    /// What it may spend unless the task says otherwise.
    pub budget: Budget,
    /// The most a single reply may have.
    pub max_output_tokens: Option<u32>,
    /// Whether it needs a task that lists its tools.
    pub tools_listed_by_task: bool,
    /// Whether there is at most one such agent a session, which is asked again rather than started anew.
    pub single: bool,
    /// Whether it is given the project's notes; the configuration decides where `None`.
    pub inherit_context_file: Option<bool>,
    /// Whether it reads and makes notes that outlive the session; the configuration decides where `None`.
    #[serde(default)]
    pub inherit_memory: Option<bool>,
    /// Where it works, unless the task says otherwise; the configuration decides where `None`.
    #[serde(default)]
    pub isolation: Option<Isolation>,
    /// On which machine, unless the task says otherwise: a worker, a label, `anywhere` or `home`; the configuration decides
    /// where `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// What its last words look like.
    #[serde(default)]
    pub report: ReportForm,
    /// Where it comes from.
    pub origin: RoleOrigin,
}

/// What the last words of a role look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportForm {
    /// Five sections: for work that changes or finds things.
    #[default]
    Sections,
    /// The answer and nothing else: a title, a number, yes or no.
    Answer,
}

/// Where a role comes from. Later ones win.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoleOrigin {
    /// It is part of Posse.
    BuiltIn,
    /// The person's own file.
    User(String),
    /// A file of the project.
    Project(String),
}
