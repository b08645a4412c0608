//! What a model can ask for, whichever dialect it speaks.

use posse_protocol::{HandleRead, Task, ToolCall};

/// One wish of a model. Names of agents, roles and handles are as the model wrote them.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one a call, and it is moved at once")]
pub enum AgentCommand {
    /// Start an agent.
    Start {
        /// What it shall do.
        task: Task,
        /// Whether the caller waits for it.
        join: Join,
        /// How its report is told.
        shape: Shape,
        /// The role is single: an agent of it that is there already is asked again.
        reuse: bool,
    },
    /// Wait for agents to end.
    Wait {
        /// Which ones; all of the caller's where empty.
        agents: Vec<String>,
        /// Whether one is enough.
        until: Until,
        /// How long at most; the engine's own limit where `None`.
        timeout_ms: Option<u64>,
    },
    /// Tell what agents are doing.
    Status {
        /// Which one; all of the caller's where `None`.
        agent: Option<String>,
        /// From 1.
        page: u32,
    },
    /// Tell an agent something: at its next turn, or at once; one that has settled goes on in the same conversation.
    Message {
        /// Which one.
        agent: String,
        /// The words.
        text: String,
        /// Whether what it is doing is cut short.
        interrupt: bool,
    },
    /// Look at a session, after telling it something and waiting for it where asked to.
    Eval {
        /// Which one.
        agent: String,
        /// What it is told first.
        message: Option<String>,
        /// Whether what it is doing is cut short.
        interrupt: bool,
        /// How long to wait for it to end; not at all where `None`.
        wait_ms: Option<u64>,
    },
    /// Stop an agent and everything below it.
    Cancel {
        /// Which one.
        agent: String,
    },
    /// Be done with an agent: stopped if it runs, and put out of sight.
    Close {
        /// Which one.
        agent: String,
    },
    /// Bring the work of an agent that had a checkout of its own into the caller's files.
    Merge {
        /// Which one.
        agent: String,
    },
    /// Read a piece of a stored value.
    Read {
        /// Its handle.
        handle: String,
        /// Which piece.
        read: HandleRead,
    },
    /// Tell one of the team something, or all.
    Tell {
        /// Whom; everybody where `None`.
        to: Option<String>,
        /// The words.
        text: String,
    },
    /// Something about the team's board.
    Board(BoardCommand),
    /// Run an ordinary tool of Posse with these arguments.
    Run(ToolCall),
    /// Tell what there is, or how one command is used.
    Help(Option<String>),
}

/// What a model can do with the team's board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoardCommand {
    /// Put an item on it.
    Add {
        /// What is to be done.
        title: String,
        /// Items that have to be done before.
        after: Vec<u32>,
    },
    /// Take an item.
    Claim {
        /// Which one; the next that is ready where `None`.
        id: Option<u32>,
    },
    /// An item is done.
    Done {
        /// Which one.
        id: u32,
    },
    /// Give an item back.
    Release {
        /// Which one.
        id: u32,
    },
    /// Show it.
    List,
}

/// Whether the caller waits for the agent it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// It goes on; the report comes by itself.
    Background,
    /// The report is the call's result.
    Blocking,
}

/// When a wait for several agents is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// One of them has ended.
    Any,
    /// All of them have ended.
    All,
}

/// How the start of an agent is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// With its name, at once.
    Receipt,
    /// With its report as text.
    Text,
    /// With a summary block: duration, turns, files, result.
    Summary,
    /// With its report as JSON.
    Json,
}

/// A command of the shell surface, with the name by which rights are checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Routed {
    /// What is asked for.
    pub command: AgentCommand,
    /// `task:explore`, `read`, …; `bash` for what is not routed.
    pub name: String,
}
