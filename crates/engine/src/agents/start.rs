//! Everything that an agent is started with, put together before a driver runs it.

use std::sync::Arc;

use posse_model::Transcript;
use posse_protocol::{AgentId, Branch, Budget, Grant, Isolation, Message, Role, Sender, ToolSpec};
use posse_tools::Toolbox;

use crate::agents::past::Past;
use crate::models::choice::PricedModel;
use crate::record::journal::Journal;

/// Everything a driver needs to run an agent.
pub(crate) struct AgentStart {
    pub(crate) id: AgentId,
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) depth: u32,
    pub(crate) role: Role,
    pub(crate) model: PricedModel,
    pub(crate) grant: Grant,
    pub(crate) budget: Budget,
    pub(crate) system: String,
    pub(crate) toolbox: Toolbox,
    /// What its model is offered.
    pub(crate) tools: Arc<[ToolSpec]>,
    pub(crate) transcript: Transcript,
    /// The transcript without any message.
    pub(crate) empty: Transcript,
    /// Messages that are in the transcript already.
    pub(crate) known: Vec<Arc<Message>>,
    /// What it is told first.
    pub(crate) told: Option<(Sender, String)>,
    /// Words that came before it has begun.
    pub(crate) mail: Vec<(Sender, String)>,
    /// Files whose contents go with that.
    pub(crate) context_files: Vec<String>,
    pub(crate) deliverables: Vec<String>,
    pub(crate) isolation: Isolation,
    /// The branch it goes on with.
    pub(crate) branch: Option<Branch>,
    pub(crate) journal: Journal,
    /// Whether it was admitted in another process.
    pub(crate) resumed: bool,
    /// Where it was when that ended, if it had begun.
    pub(crate) past: Option<Box<Past>>,
}

/// An agent that was started, or waits for its turn.
pub(crate) struct StartedAgent {
    pub(crate) id: AgentId,
    pub(crate) name: String,
    pub(crate) role: String,
    pub(crate) queued: bool,
    pub(crate) ahead: usize,
    pub(crate) budget: Budget,
    pub(crate) model: String,
}
