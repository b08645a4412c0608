//! One agent on its way to a worker, and what comes back at its end.

use std::sync::Arc;

use posse_model::{ModelConfig, Profile, Protocol, ToolCallMode};
use posse_policy::Rules;
use posse_protocol::{
    AgentId, Budget, Ending, EventKind, Grant, KeptFile, Message, Prices, Role, SessionId, ToolSpec, Words,
};
use serde::{Deserialize, Serialize};

/// Everything that a worker needs to run an agent. It holds no key and no address of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostedTask {
    /// Home's session.
    pub session: SessionId,
    /// The agent; it has the same id on the worker.
    pub agent: AgentId,
    /// Its name.
    pub name: String,
    /// What it is asked to do, in a few words.
    pub title: String,
    /// How deep in home's tree it is.
    pub depth: u32,
    /// Its role.
    pub role: Role,
    /// What it may do. The worker's own ceiling narrows it further.
    pub grant: Grant,
    /// What it may spend in all.
    pub budget: Budget,
    /// Its model.
    pub model: HostedModel,
    /// The most tokens of one reply.
    pub max_output_tokens: Option<u32>,
    /// Its system prompt.
    pub system: String,
    /// The tools that its model is offered.
    pub tools: Vec<ToolSpec>,
    /// The conversation that it takes up, or is a fork of.
    pub known: Vec<Arc<Message>>,
    /// What it is told first.
    pub words: Words,
    /// Files whose contents go with that.
    pub context_files: Vec<String>,
    /// Files that must be there at the end.
    pub deliverables: Vec<String>,
    /// What is allowed, asked and denied, whatever the mode says.
    pub rules: Rules,
    /// Whether there is a person to ask.
    pub person: bool,
    /// The tools that it delegates with.
    pub surface: String,
    /// Whether agents can write to each other and share a board.
    pub team: bool,
    /// The longest report that is told as it is, in bytes, if longer ones are summed up.
    pub sum_up_over: Option<usize>,
    /// The files it begins with.
    pub work: HostedWork,
    /// What is on home's record of it, where another worker had it before.
    pub so_far: Vec<EventKind>,
    /// How long it had worked by then.
    pub worked_ms: u64,
}

/// The files that an agent begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostedWork {
    /// The commit that its branch started from.
    pub base: String,
    /// The commit that is checked out: another one than the base where it continues earlier work.
    pub start: String,
    /// The folder it works in, within the repository; empty at its top.
    pub inside: String,
    /// Whether the repository's objects are named by SHA-256.
    pub sha256: bool,
    /// Names the repository among those that a worker keeps.
    pub repository: String,
    /// Files that it had changed on another worker, the newest state of each.
    pub kept: Vec<KeptFile>,
}

/// A model as a worker knows it: by its name among the worker's own, or as one that home calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostedModel {
    /// The name it is configured under.
    pub name: String,
    /// The provider's id of it.
    pub id: String,
    /// Whether home makes the calls.
    pub at_home: bool,
    /// How it is spoken to, for the size of requests.
    pub protocol: Protocol,
    /// Tokens it can see at once.
    pub context_window: Option<u64>,
    /// How much it is told and offered.
    pub profile: Option<Profile>,
    /// Whether it takes images.
    pub images: bool,
    /// Whether it takes PDF documents.
    pub documents: Option<bool>,
    /// How it makes tool calls.
    pub tool_calls: ToolCallMode,
    /// What it costs.
    pub prices: Option<Prices>,
}

impl HostedModel {
    /// What a worker is told of a model. Keys, headers and addresses stay at home.
    pub(crate) fn of(config: &ModelConfig, prices: Option<Prices>, at_home: bool) -> Self {
        Self {
            name: config.name.clone(),
            id: config.model.clone(),
            at_home,
            protocol: config.protocol,
            context_window: config.context_window,
            profile: config.profile,
            images: config.images,
            documents: config.documents,
            tool_calls: config.tool_calls,
            prices,
        }
    }

    /// The same as a configuration without an address.
    pub fn config(&self) -> ModelConfig {
        let mut config = ModelConfig::new(&*self.name, &*self.id, self.protocol, "");
        config.context_window = self.context_window;
        config.profile = self.profile;
        (config.images, config.documents) = (self.images, self.documents);
        config.tool_calls = self.tool_calls;
        config
    }
}

/// How an agent ended on a worker. Its words are on record by then, and what it did is measured at home.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostedEnd {
    /// How it ended.
    pub ending: Ending,
    /// A summary of its last text, where it is long.
    pub short: Option<String>,
    /// Remarks of the worker.
    pub notes: Vec<String>,
    /// The commit that holds its work; none if nothing was changed.
    pub tip: Option<String>,
}
