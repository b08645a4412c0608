//! Why a task was not admitted, in words that a model can act on.

use thiserror::Error;

use crate::limits;

/// Why a task was not admitted. Nothing has changed when it is returned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The agent would be deeper than agents may be.
    #[error("agents may be {max} deep at most, and this one would be at {depth}: do this work yourself")]
    TooDeep {
        /// Where it would be.
        depth: u32,
        /// The deepest allowed.
        max: u32,
    },
    /// As many run as may, and the session does not queue.
    #[error("{cap} agents are running, which is the cap: wait for one or cancel one, then try again")]
    RunningCap {
        /// How many may run.
        cap: usize,
    },
    /// As many wait as may.
    #[error("{max} agents are waiting to start, which is the most: wait for some to finish, then try again")]
    QueueFull {
        /// How many may wait.
        max: usize,
    },
    /// The session has had as many agents as it may have.
    #[error("this session has had {max} agents, which is the most: do the rest of the work yourself")]
    TooManyAgents {
        /// How many it may have.
        max: usize,
    },
    /// The parent has too little left to give.
    #[error("not enough {what} for another agent: it would get {share}. {advice}")]
    NoBudget {
        /// Which part of the budget: tokens, money, time or turns.
        what: &'static str,
        /// What it would have got, with its unit.
        share: String,
        /// What to do.
        advice: &'static str,
    },
    /// The parent may not delegate to this role.
    #[error("this agent may not delegate to {role}: {hint}")]
    RoleNotAllowed {
        /// The role asked for.
        role: String,
        /// Which roles it may delegate to, or what to do if there is none.
        hint: String,
    },
    /// The parent was cancelled.
    #[error("this agent is being stopped: start nothing new")]
    ParentStopping,
    /// The parent has ended.
    #[error("the agent that asks for this has ended: start it from one that has not")]
    ParentSettled,
    /// Another agent has the name.
    #[error("the name {name} is taken: choose another or leave it out")]
    NameTaken {
        /// The name, as it would be.
        name: String,
    },
    /// The name cannot be a name.
    #[error(
        "a name has 1 to {max} letters a-z, digits, - or _: choose such a name or leave it out",
        max = limits::NAME_CHARS_MAX
    )]
    BadName,
    /// The task lists more tools than make sense.
    #[error(
        "allowed_tools has more than {max} entries: use patterns such as git_*",
        max = limits::ALLOWED_TOOLS_MAX
    )]
    TooManyTools,
    /// Only an agent that has ended can be followed up.
    #[error("{name} has not ended: send it a message instead")]
    StillThere {
        /// Who.
        name: String,
    },
    /// A conversation goes on once; the agent that took it up is the one to ask.
    #[error(
        "{name} was followed up already: follow up on {successor}, or send it a message if it still works"
    )]
    FollowedUp {
        /// Who was to be followed up.
        name: String,
        /// Who has its conversation now.
        successor: String,
    },
    /// There is no such agent.
    #[error("there is no agent {id} in this session: use a name or an id from the list of agents")]
    Unknown {
        /// The id asked for.
        id: String,
    },
    /// The id is in use: a fault of the caller.
    #[error("there is an agent {id} already: make a new id")]
    IdTaken {
        /// The id.
        id: String,
    },
}
