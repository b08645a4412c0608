//! What is on record of the agents of a session, and what comes of it when the tree is restored. Plain data: what is
//! done with it is in `restore`.

use posse_protocol::{AgentId, Budget, Ending, Grant, Receipt, Seq, Spent};
use thiserror::Error;

use crate::node::Endpoint;
use crate::slots::Freed;
use crate::tree::Tree;

/// What is on record of the main agent.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownMain {
    /// Its id.
    pub id: AgentId,
    /// What it may do from here on.
    pub grant: Grant,
    /// What it may spend, what it has spent included.
    pub budget: Budget,
    /// What it has spent itself.
    pub spent: Spent,
    /// Tokens it has spent itself, with estimates where the provider did not count.
    pub tokens: u64,
    /// How it ended, unless it had not or was taken up again since.
    pub settled: Option<KnownEnd>,
}

/// What is on record of one sub-agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Its id.
    pub id: AgentId,
    /// Who delegated to it.
    pub parent: AgentId,
    /// What it was called when it was admitted.
    pub name: String,
    /// Its role.
    pub role: String,
    /// What it is asked to do, in a few words.
    pub title: String,
    /// 1 for a child of the main agent.
    pub depth: u32,
    /// What it might do.
    pub grant: Grant,
    /// What it might spend, what it has spent included.
    pub budget: Budget,
    /// Where its model is; none if that is not there any more. Does not matter for one that ended.
    pub endpoint: Option<Endpoint>,
    /// The settled agent whose conversation it took up.
    pub continues: Option<AgentId>,
    /// What it has spent itself.
    pub spent: Spent,
    /// Tokens it has spent itself, with estimates where the provider did not count.
    pub tokens: u64,
    /// Where on record it was admitted.
    pub admitted_at: Seq,
    /// How it ended, if it did.
    pub settled: Option<KnownEnd>,
    /// Its parent was given its report.
    pub delivered: bool,
    /// It was cancelled and had not stopped yet.
    pub stopping: bool,
}

/// How an agent ended.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownEnd {
    /// Where on record.
    pub at: Seq,
    /// In which way.
    pub ending: Ending,
    /// What was measured.
    pub receipt: Receipt,
}

/// A tree, and what is to be done before it goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// The tree.
    pub tree: Tree,
    /// Who may begin now, first admitted first. They hold their slots already.
    pub freed: Freed,
    /// Agents of the tree that had not ended and must not go on, deepest first: settle them.
    pub stopping: Vec<(AgentId, StopCause)>,
    /// Agents that have no place in the tree, as they were admitted. They have no report and nobody waits for them; what
    /// they had spent is charged to main, and their names stay taken.
    pub refused: Vec<(AgentId, Misfit)>,
}

/// Why an agent that had not ended does not go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StopCause {
    /// It was cancelled before.
    #[error("it was being stopped when the session was interrupted")]
    Cancelled,
    /// Nobody is there to read its report.
    #[error("the agent that delegated to it has ended or is being stopped")]
    ParentGone,
    /// The session's limits have changed since.
    #[error("agents may be {max} deep at most now, and this one is at {depth}")]
    TooDeep {
        /// Where it is.
        depth: u32,
        /// The deepest allowed.
        max: u32,
    },
    /// There is nowhere to run it.
    #[error("the model it worked with is not configured any more")]
    NoEndpoint,
}

/// Why an agent has no place in the tree: its record does not fit the others'.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Misfit {
    /// Its parent is not on record, comes later, or was refused itself.
    #[error("the agent that delegated to it is not in the tree")]
    UnknownParent,
    /// Its id is another's.
    #[error("another agent has its id")]
    IdTwice,
    /// Its name is another's.
    #[error("another agent has its name")]
    NameTwice,
    /// Its name is none that an agent can be given.
    #[error("its name is none that an agent can have")]
    BadName,
    /// It is not where its parent's children are.
    #[error("its depth does not follow from its parent's")]
    WrongDepth,
    /// The agent it continues is not there, has not ended or was continued by another.
    #[error("the agent whose conversation it took up is not there to be followed up")]
    BadPredecessor,
    /// No session has so many.
    #[error("a session has at most {max} agents")]
    TooManyAgents {
        /// How many.
        max: usize,
    },
}
