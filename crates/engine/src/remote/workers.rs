//! Workers as home sees them: where an agent can be, and the seat that one has there.

use std::path::PathBuf;

use posse_protocol::{AgentId, ProgressKind, SessionId};
use tokio::sync::mpsc;

use crate::remote::{HomeReply, HomeRequest, HostCommand, HostedEnd, HostedItem, HostedTask};

/// The workers that a session can use.
pub trait Workers: Send + Sync {
    /// The names and labels that a task may give.
    fn places(&self) -> Vec<String>;

    /// Whether an agent runs on a worker, by what was asked for; `false` if it runs at home. The error is for the model that
    /// asked.
    fn place(&self, wanted: &WantedPlace<'_>) -> Result<bool, String>;

    /// Whether the models of agents there are called by home.
    fn models_at_home(&self, on: &str) -> bool;

    /// Finds a worker for an agent. It goes on until the agent is settled or nobody holds the seat any more.
    fn seat(&self, start: SeatStart) -> Seat;
}

/// Where somebody wants an agent to run.
#[derive(Clone, Copy, Debug)]
pub struct WantedPlace<'a> {
    /// A worker, a label, `anywhere` or `home`.
    pub on: &'a str,
    /// The configured name of its model.
    pub model: &'a str,
}

/// An agent that needs a worker.
#[derive(Clone, Debug)]
pub struct SeatStart {
    /// Its session.
    pub session: SessionId,
    /// The agent.
    pub agent: AgentId,
    /// A worker, or a label.
    pub on: String,
    /// The configured name of its model, if the worker has to have it.
    pub model: Option<String>,
    /// Names the repository of its files on workers.
    pub repository: String,
    /// The last epoch on record, and the worker that had it; 0 if none had it.
    pub epoch: u64,
    /// That worker.
    pub worker: Option<WorkerRun>,
    /// How many of its events are on record.
    pub recorded: u64,
}

/// A worker, and its run of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRun {
    /// Its name.
    pub worker: String,
    /// Names the run. Nobody but the worker and home knows it.
    pub run: String,
    /// How long the lease is that it was granted.
    pub lease_ms: u64,
}

/// What home has of an agent on a worker. Dropping it lets go of the agent, which can be taken up again later.
pub struct Seat {
    /// What comes from there, in order.
    pub events: mpsc::Receiver<SeatEvent>,
    /// What is said to it.
    pub commands: mpsc::UnboundedSender<SeatCommand>,
}

/// What comes from the seat of an agent.
#[derive(Debug)]
pub enum SeatEvent {
    /// A worker wants the agent. Answered with [`SeatCommand::Place`] once that is on record.
    Claimed {
        /// Which worker.
        worker: WorkerRun,
        /// One more than before.
        epoch: u64,
        /// Commits of the repository that it has.
        has: Vec<String>,
    },
    /// More of what happened. Answered with [`SeatCommand::Recorded`].
    Items {
        /// In order, each once.
        items: Vec<HostedItem>,
        /// Contents of files that these name, by the SHA-256 that stands in them.
        contents: Vec<(String, Vec<u8>)>,
    },
    /// Something to show; never recorded.
    Progress(ProgressKind),
    /// The agent asks something. Answered with [`SeatCommand::Reply`].
    Request {
        /// Which request.
        id: u64,
        /// How many of its events come before it.
        after: u64,
        /// What it asks.
        request: HomeRequest,
    },
    /// Nobody waits for the answer any more.
    CalledOff {
        /// Which request.
        id: u64,
    },
    /// The agent has ended. Answered with [`SeatCommand::Settled`].
    Ended {
        /// How.
        end: Box<HostedEnd>,
        /// Its work, as a bundle that nobody has looked at.
        bundle: Option<PathBuf>,
    },
    /// A worker that had lost the agent to another has sent what it had done. Answered with [`SeatCommand::AsideDone`].
    Aside {
        /// The epoch in which it did that.
        epoch: u64,
        /// The commit that holds it.
        tip: String,
        /// As a bundle that nobody has looked at.
        bundle: PathBuf,
    },
    /// No worker will run it.
    NoWorker {
        /// Why.
        reason: String,
    },
}

/// What home says to the seat of an agent.
#[derive(Debug)]
pub enum SeatCommand {
    /// The worker may have it: that is on record.
    Place(Box<PlacedTask>),
    /// So many of its events are on record, the first one counted as 1.
    Recorded(u64),
    /// The answer to a request.
    Reply {
        /// Which request.
        id: u64,
        /// The answer.
        reply: HomeReply,
    },
    /// Something for the agent.
    Say(HostCommand),
    /// What a worker had left that had lost the agent is on a branch, or cannot be taken: then the worker keeps it.
    AsideDone {
        /// The epoch in which it did that.
        epoch: u64,
        /// Whether it is on a branch.
        is_kept: bool,
    },
    /// Its end is on record.
    Settled {
        /// Whether home has all that its worker left. If not, the worker keeps it.
        is_kept: bool,
    },
}

/// An agent as it is given to a worker.
#[derive(Debug)]
pub struct PlacedTask {
    /// The epoch that is on record.
    pub epoch: u64,
    /// The task.
    pub task: HostedTask,
    /// The files, as a bundle; none if the worker has all of them.
    pub bundle: Option<PathBuf>,
    /// Contents of the files in `task.work.kept`, by SHA-256.
    pub contents: Vec<(String, Vec<u8>)>,
}
