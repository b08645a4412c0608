//! What happened, in order. Every face shows events and nothing else.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Answer, Brief, Budget, CallId, Change, Conflict, ContextMode, Effect, Ending, Grant, ModelError,
    Question, Reply, Report, Seq, SessionId,
};

/// One thing that happened and is on record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its place in the session.
    pub seq: Seq,
    /// The session.
    pub session: SessionId,
    /// The agent it happened to.
    pub agent: AgentId,
    /// That agent's parent; none for the main agent.
    pub parent: Option<AgentId>,
    /// Milliseconds since 1970, UTC.
    pub at_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kinds of event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "events are written and read one by one, and not kept in memory"
)]
pub enum EventKind {
    /// A session began. Always the first event of a session.
    SessionStarted {
        /// The folder the work is done in.
        workspace: String,
        /// The version of Posse.
        version: String,
        /// Whether commands are confined by the kernel; false only where the person asked for it.
        #[serde(default)]
        sandboxed: bool,
        /// The project that notes of this session are about: the top of the repository, or the workspace.
        #[serde(default)]
        project: String,
        /// The dialect its models delegate in; empty where nobody delegates.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        surface: String,
        /// Whether the main agent has delegation tools only.
        #[serde(default)]
        coordinator: bool,
        /// Whether agents can write to each other and share a board.
        #[serde(default)]
        team: bool,
    },
    /// The process that ran the session is gone, or has let go of it. Its agents that had not ended can be resumed.
    SessionInterrupted {
        /// The agents that had not ended.
        agents: Vec<AgentId>,
        /// Whether a person wanted it so.
        detached: bool,
    },
    /// The session goes on: after it was interrupted, or because the person has more to say.
    SessionResumed {
        /// The version of Posse.
        version: String,
        /// Whether commands are confined by the kernel.
        sandboxed: bool,
    },
    /// A task was admitted: its agent exists and has not begun yet. The main agent has no such event.
    AgentAdmitted {
        /// What it is called, unique in its session.
        name: String,
        /// Its role.
        role: String,
        /// 1 for a child of the main agent.
        depth: u32,
        /// What it is asked to do, in a few words.
        title: String,
        /// The model that was asked for; none where the choice was left to Posse.
        requested_model: Option<String>,
        /// Which part of its parent's conversation it starts with.
        context: ContextMode,
        /// The settled agent whose conversation it takes up.
        continues: Option<AgentId>,
        /// What it needs to begin, or to begin again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        brief: Option<Box<Brief>>,
    },
    /// An agent has to wait before it can begin.
    AgentQueued {
        /// What for.
        reason: QueueReason,
        /// The machine whose turn it waits for, where that is why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<String>,
    },
    /// An agent began to work.
    AgentStarted {
        /// Its role.
        role: String,
        /// 0 for the main agent.
        depth: u32,
        /// The configured name of the model.
        model: String,
        /// The provider's name of the model.
        model_id: String,
        /// What it may spend.
        budget: Budget,
        /// What it may do.
        grant: Grant,
        /// Its system prompt.
        system: String,
        /// The folder it works in, where that is a checkout of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkout: Option<String>,
    },
    /// The agent was given a checkout of its own.
    CheckedOut {
        /// Its branch.
        branch: String,
        /// The commit it started from.
        base: String,
    },
    /// The agent goes on where it was interrupted, or where it had ended.
    AgentResumed {
        /// The configured name of the model it goes on with.
        #[serde(default)]
        model: String,
        /// The provider's name of the model.
        #[serde(default)]
        model_id: String,
        /// How long it had worked before.
        elapsed_ms: u64,
        /// What it may spend, what it has spent included.
        budget: Budget,
        /// What it may do from here on.
        grant: Grant,
    },
    /// Words are on their way to the agent: it is told at its next turn.
    Mailed {
        /// Whose words.
        from: Sender,
        /// The words.
        text: String,
    },
    /// Words were put into the agent's conversation.
    Told {
        /// Whose words.
        from: Sender,
        /// The words.
        text: String,
    },
    /// A model call is being made.
    TurnStarted {
        /// 1, 2, 3, …
        turn: u32,
        /// What for.
        #[serde(default, skip_serializing_if = "Purpose::is_work")]
        purpose: Purpose,
    },
    /// A model call is made again after an error.
    Retrying {
        /// Which retry: 1, 2, 3, …
        attempt: u32,
        /// How often it is tried in all, the first time included; 0 where that is not known.
        #[serde(default)]
        attempts_max: u32,
        /// How long it waits first.
        delay_ms: u64,
        /// What went wrong, and where, in a few words.
        reason: String,
    },
    /// The model replied.
    Replied {
        /// Of which turn.
        turn: u32,
        /// What it said.
        reply: Reply,
        /// From the first byte sent to the last received, retries included.
        duration_ms: u64,
        /// What it cost in US dollars, where the model's prices and the usage are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
    },
    /// A model call failed for good.
    ModelFailed {
        /// Of which turn.
        turn: u32,
        /// How.
        error: ModelError,
    },
    /// A model call was stopped before its end; this had arrived.
    CutShort {
        /// Of which turn.
        turn: u32,
        /// The text.
        text: String,
    },
    /// The agent has come to a limit and gets one last turn to report.
    Closing {
        /// How it will end.
        ending: Ending,
    },
    /// A tool is about to run. On record before it does anything that leaves a trace.
    ToolStarted {
        /// Which call.
        call: CallId,
        /// The tool.
        tool: String,
        /// What it is about, in one short line.
        title: String,
        /// Whether it can run again without doing anything twice.
        #[serde(default)]
        repeatable: bool,
    },
    /// A call was answered, by the tool or by a refusal.
    ToolFinished {
        /// Which call.
        call: CallId,
        /// The tool.
        tool: String,
        /// Whether it did what it was asked.
        ok: bool,
        /// What the model is told.
        text: String,
        /// What changed in the world.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        effects: Vec<Effect>,
        /// How long it took.
        duration_ms: u64,
    },
    /// The conversation was shortened. The events before stay on record.
    Compacted {
        /// What stands in place of the older messages.
        summary: String,
        /// Bytes of the conversation before.
        bytes_before: u64,
        /// Bytes of the conversation after.
        bytes_after: u64,
        /// The message that the conversation begins with from here on.
        #[serde(default)]
        opening: String,
        /// How many of the newest messages follow it unchanged.
        #[serde(default)]
        kept: u32,
    },
    /// A call waits until a person answers; the agent's clock stands still.
    PersonNeeded {
        /// What is asked.
        question: Question,
    },
    /// A question is closed.
    PersonAnswered {
        /// Of which call.
        call: CallId,
        /// With what.
        answer: Answer,
    },
    /// The workspace was looked at before a command of the agent, and all that is covered is kept.
    Checkpointed {
        /// The turn.
        turn: u32,
        /// A name of the state: the same as long as nothing changes.
        commit: String,
    },
    /// What cannot be taken back in this workspace.
    NotCovered {
        /// Each in a few words.
        what: Vec<String>,
        /// Folders that commands see read-only, because files in there have other names outside the workspace.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        read_only: Vec<String>,
    },
    /// The agent changed files in the workspace.
    Changed {
        /// In which turn.
        turn: u32,
        /// What was changed.
        changes: Vec<Change>,
    },
    /// Files changed while a command of the agent ran, and nothing shows that it was the command: a person's editor,
    /// another session, another command.
    ChangedMeanwhile {
        /// In which turn.
        turn: u32,
        /// What was changed.
        changes: Vec<Change>,
    },
    /// The work of a sub-agent with a checkout of its own was brought into the workspace, as far as it fits.
    Merged {
        /// Whose work.
        from: AgentId,
        /// Its branch; what did not fit is still there.
        branch: String,
        /// What came in.
        changes: Vec<Change>,
        /// What did not.
        conflicts: Vec<Conflict>,
    },
    /// Changes were taken back, or brought back, by a person.
    Undone {
        /// What was taken back, in words.
        what: String,
        /// The events whose changes were taken back.
        events: Vec<Seq>,
        /// The only paths that were to be taken back; all where none is named.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        /// What that changed.
        changes: Vec<Change>,
        /// Paths that have changed since in a way that does not go together with it.
        conflicts: Vec<Conflict>,
    },
    /// A command was started that runs beside the agents. It belongs to the session.
    BackgroundStarted {
        /// Its name, such as `cmd-1`.
        name: String,
        /// The command text.
        command: String,
    },
    /// A command that ran beside the agents has ended.
    BackgroundEnded {
        /// Its name.
        name: String,
        /// Its exit code; none if it was stopped.
        exit_code: Option<i32>,
        /// The end of its output.
        tail: String,
    },
    /// The agent is being told what these agents came to: with the next words it is told, or the next result. Each
    /// report is delivered once.
    ReportsDelivered {
        /// Whose reports.
        agents: Vec<AgentId>,
    },
    /// The agent ended.
    AgentSettled {
        /// What it came to.
        report: Report,
    },
}

/// Whose words were put into a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// The person or program that runs the session.
    Person,
    /// Posse itself: a reminder, a limit, a request to go on.
    Posse,
    /// The agent that delegated the work.
    Parent,
    /// Sub-agents that have ended: their reports.
    Reports,
    /// Another agent of the team.
    Peer,
}

/// Why a model call is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To get on with the task.
    #[default]
    Work,
    /// To get notes that replace the conversation.
    Summary,
    /// To get a last report.
    LastWord,
    /// To get a report in short that is too long for its reader.
    SumUp,
}

impl Purpose {
    /// Whether it is to get on with the task, as nearly always.
    pub fn is_work(&self) -> bool {
        *self == Self::Work
    }
}

/// Why an agent waits before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueReason {
    /// As many agents run as may run at the same time.
    RunningCap,
    /// Its endpoint takes one agent after the other.
    Endpoint,
    /// As many agents of all sessions run in this process as may run at the same time.
    ProcessCap,
}

/// What a face receives while it follows a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Update {
    /// On record already.
    Event(Arc<Event>),
    /// Passing: the event that follows will hold all of it.
    Progress(Progress),
}

/// Something worth showing before it is complete. Never on record, may be lost, is never the truth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Whose.
    pub agent: AgentId,
    /// What.
    pub kind: ProgressKind,
}

/// The kinds of progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgressKind {
    /// More of the reply's text.
    Text(String),
    /// More of the model's reasoning.
    Reasoning(String),
    /// The model has begun to write a call of this tool.
    Calling(String),
    /// Something of the reply has come that is not shown, such as more of a call's arguments.
    Arriving,
    /// The request waits for its turn at the endpoint.
    Queued,
    /// Its turn has come: the request is on its way.
    Served,
    /// So many files of the workspace were looked at and kept, before the first command.
    Keeping(u64),
}
