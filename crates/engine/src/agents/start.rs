//! Everything that an agent is started with, put together before a driver runs it.

use std::sync::Arc;
use std::time::Duration;

use posse_agent::{Agent, Mail, Next, Recall};
use posse_protocol::{
    AgentId, Branch, Budget, EventKind, Grant, Isolation, Message, Question, Role, Sender, Words,
};
use posse_tools::Toolbox;

use crate::agents::conversation::Conversation;
use crate::agents::past_prompts::PastPrompts;
use crate::agents::receipt::Effects;
use crate::record::journal::Journal;
use crate::remote::WorkerRun;

/// Everything a driver needs to run an agent.
pub(crate) struct AgentStart {
    pub(crate) who: AgentIdentity,
    pub(crate) grant: Grant,
    pub(crate) budget: Budget,
    pub(crate) toolbox: Toolbox,
    /// What it begins with; the messages in it are known to the agent.
    pub(crate) conversation: Conversation,
    pub(crate) task: FirstTask,
    /// The conversation of another session that it takes up, as it goes on record.
    pub(crate) forked: Vec<EventKind>,
    /// Words that came before it has begun.
    pub(crate) mail: Vec<Mail>,
    pub(crate) isolation: Isolation,
    /// The branch it goes on with.
    pub(crate) branch: Option<Branch>,
    pub(crate) journal: Journal,
    /// The worker or the label of workers that it runs on; none if it runs here.
    pub(crate) on: Option<String>,
    /// How far it had come on workers, where it had begun in another process.
    pub(crate) placed: Option<Box<PlacedBefore>>,
    /// Whether it was admitted in another process.
    pub(crate) resumed: bool,
    /// Where it was when that process ended, if it had begun.
    pub(crate) interrupted: Option<Box<InterruptedAgent>>,
}

/// Who an agent is.
#[derive(Clone)]
pub(crate) struct AgentIdentity {
    pub(crate) id: AgentId,
    pub(crate) name: String,
    /// What it is asked to do, in a few words; empty for the main agent.
    pub(crate) title: String,
    pub(crate) depth: u32,
    pub(crate) role: Role,
}

/// What an agent is asked to do.
#[derive(Default)]
pub(crate) struct FirstTask {
    /// What it is told first; none if it was told before.
    pub(crate) told: Option<(Sender, Words)>,
    /// Files whose contents go with that.
    pub(crate) context_files: Vec<String>,
    /// Files that must be there at the end.
    pub(crate) deliverables: Vec<String>,
}

/// An agent as its record leaves it.
pub(crate) struct InterruptedAgent {
    pub(crate) agent: Agent,
    /// What it goes on with; none if it has yet to begin.
    pub(crate) next: Option<Next>,
    /// How long it had worked.
    pub(crate) worked: Duration,
    /// What it had done, since its last prompt where it rested before.
    pub(crate) effects: Effects,
    /// What its earlier prompts came to.
    pub(crate) past: PastPrompts,
}

impl InterruptedAgent {
    /// An agent that has yet to begin.
    pub(crate) fn new(agent: Agent) -> Self {
        let (effects, past) = (Effects::default(), PastPrompts::default());
        Self { agent, next: None, worked: Duration::ZERO, effects, past }
    }
}

/// How far an agent had come on workers when home ended.
pub(crate) struct PlacedBefore {
    /// The last epoch, and the worker that had it; 0 if none had it.
    pub(crate) epoch: u64,
    pub(crate) worker: Option<WorkerRun>,
    /// How many of its events are on record.
    pub(crate) recorded: u64,
    /// The agent as these leave it, and the conversation that it took up.
    pub(crate) recall: Recall,
    pub(crate) known: Vec<Arc<Message>>,
    /// The question that waits for the person.
    pub(crate) asking: Option<Question>,
}

/// An agent that was started, or waits for its turn, as its parent is told.
pub(crate) struct StartedAgent {
    pub(crate) id: AgentId,
    pub(crate) name: String,
    pub(crate) role: String,
    pub(crate) queued: bool,
    pub(crate) ahead: usize,
    pub(crate) budget: Budget,
    pub(crate) model: String,
}
