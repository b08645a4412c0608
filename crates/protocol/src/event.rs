//! What happened, in order. Interfaces show events and nothing else.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Answer, Approval, Attachment, Brief, Budget, CallId, CallKind, Change, Conflict, ContextMode,
    Effect, Ending, Grant, HookDecision, KeptFile, MailId, Message, ModelError, Question, Reply, Report, Seq,
    SessionId, TraceParent, Words,
};

/// One recorded thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its sequence number in the session. The store assigns it.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
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
        /// The tools that its models delegate with; empty if delegation is off.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        surface: String,
        /// Whether the main agent has delegation tools only.
        #[serde(default)]
        coordinator: bool,
        /// Whether agents can write to each other and share a board.
        #[serde(default)]
        team: bool,
        /// The span of whoever asked for it, where they trace what they do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceparent: Option<TraceParent>,
    },
    /// The process that ran the session is gone, or has detached from it. Agents that had not ended can be resumed.
    SessionInterrupted {
        /// The agents that had not ended.
        agents: Vec<AgentId>,
        /// Whether a person detached it on purpose.
        detached: bool,
    },
    /// The session takes up the first turns of another's conversation. Several of these follow each other if that is long.
    SessionForked {
        /// The other session.
        from: SessionId,
        /// How many turns of its main agent.
        turn: u32,
        /// The messages, or the next part of them.
        messages: Vec<Message>,
    },
    /// The session was resumed: after an interruption, or because the person gave it another prompt.
    SessionResumed {
        /// The version of Posse.
        version: String,
        /// Whether commands are confined by the kernel.
        sandboxed: bool,
        /// The span of whoever asked for it, where they trace what they do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceparent: Option<TraceParent>,
    },
    /// The session was given a title. Without one, its title is made of the first prompt.
    SessionNamed {
        /// The title in one line; empty: from now on the one that is made of the first prompt.
        title: String,
        /// Who gave it.
        by: Sender,
    },
    /// A task was admitted: its agent exists and has not started yet. The main agent has no such event.
    AgentAdmitted {
        /// What it is called, unique in its session.
        name: String,
        /// Its role.
        role: String,
        /// 1 for a child of the main agent.
        depth: u32,
        /// What it is asked to do, in a few words.
        title: String,
        /// The model that was requested; none if Posse chose.
        requested_model: Option<String>,
        /// Which part of its parent's conversation it starts with.
        context: ContextMode,
        /// The settled agent whose conversation it continues.
        continues: Option<AgentId>,
        /// Everything it needs to start, in this process or after a resume.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        brief: Option<Box<Brief>>,
    },
    /// An agent was queued before its start.
    AgentQueued {
        /// What it waits for.
        reason: QueueReason,
        /// The endpoint that it waits for, if that is the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<String>,
    },
    /// An agent started to work.
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
        /// Its checkout, if it has one of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkout: Option<String>,
    },
    /// A worker on another machine runs the agent from now on. Each time it is given to one, the epoch is one higher; what a
    /// worker with a lower one says is refused.
    AgentPlaced {
        /// The worker.
        worker: String,
        /// 1 for the first.
        epoch: u64,
        /// Names this run of the agent by the worker.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        run: String,
        /// How long the worker may be silent before another one can get the agent, whatever is configured later.
        lease_ms: u64,
    },
    /// The agent changed files on a worker. Home keeps their contents until it has the work, so that another worker can
    /// continue if this one is lost.
    WorkKept {
        /// What was changed.
        files: Vec<KeptFile>,
    },
    /// The agent got a checkout of its own.
    CheckedOut {
        /// Its branch.
        branch: String,
        /// The commit it started from.
        base: String,
    },
    /// The agent was resumed after an interruption, or after its end.
    AgentResumed {
        /// The configured name of the model it continues with.
        #[serde(default)]
        model: String,
        /// The provider's name of the model.
        #[serde(default)]
        model_id: String,
        /// How long it had worked before.
        elapsed_ms: u64,
        /// What it may spend in total, including what it has spent.
        budget: Budget,
        /// What it may do from now on.
        grant: Grant,
    },
    /// The agent has answered and rests: its session stays open for the next prompt. Only main agents rest.
    AgentRested {
        /// Its answer, and what was measured since the prompt; none if it only rests as it did before, after the session was
        /// resumed or its conversation was shortened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<Report>,
    },
    /// An agent that rested continues with another prompt.
    AgentWoken {
        /// How long it has worked before.
        elapsed_ms: u64,
        /// What it may spend in total, including what it has spent.
        budget: Budget,
    },
    /// The person changed how the main agent works, from its next turn on.
    SettingsChanged {
        /// The configured name of the model it continues with.
        model: String,
        /// The provider's name of the model.
        model_id: String,
        /// The reasoning effort, where it was changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
        /// What runs without asking.
        approval: Approval,
    },
    /// The person lets the agent spend more.
    BudgetRaised {
        /// What it may spend in total, including what it has spent.
        budget: Budget,
    },
    /// A message was sent to the agent, which gets it at its next turn.
    Mailed {
        /// The number of the message; 0 in records of before.
        #[serde(default, skip_serializing_if = "MailId::is_unknown")]
        id: MailId,
        /// Who wrote it.
        from: Sender,
        /// The text.
        text: String,
        /// Whether it is the next prompt, which waits until the agent has answered the one before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_prompt: bool,
        /// What is shown with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    /// A message that was not delivered yet has another text from now on.
    MailEdited {
        /// Which message.
        id: MailId,
        /// The new text.
        text: String,
    },
    /// A message that was not delivered yet was taken back and will not be delivered.
    MailWithdrawn {
        /// Which message.
        id: MailId,
    },
    /// A message was added to the agent's conversation.
    Told {
        /// The message that was mailed; 0 if it was not, and in records of before.
        #[serde(default, skip_serializing_if = "MailId::is_unknown")]
        mail: MailId,
        /// Who wrote it.
        from: Sender,
        /// The text.
        text: String,
        /// What is shown with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    /// A model call was started.
    TurnStarted {
        /// 1, 2, 3, …
        turn: u32,
        /// What for.
        #[serde(default, skip_serializing_if = "Purpose::is_work")]
        purpose: Purpose,
    },
    /// A model call is retried after an error.
    Retrying {
        /// Which retry: 1, 2, 3, …
        attempt: u32,
        /// How many attempts there are in total, including the first; 0 if not known.
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
    /// A model call was stopped before its end; this text had arrived.
    CutShort {
        /// Of which turn.
        turn: u32,
        /// The text.
        text: String,
    },
    /// The agent reached a limit and gets one last turn to report.
    Closing {
        /// How it will end.
        ending: Ending,
    },
    /// A tool is about to run. Recorded before the tool changes anything.
    ToolStarted {
        /// Which call.
        call: CallId,
        /// The tool.
        tool: String,
        /// What it is about, in one short line.
        title: String,
        /// Whether it is safe to run it again after a crash.
        #[serde(default)]
        repeatable: bool,
        /// What kind of thing it does.
        #[serde(default, skip_serializing_if = "CallKind::is_other")]
        kind: CallKind,
        /// The files and folders that it names, relative to the workspace.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
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
        /// What the model is shown with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
        /// What changed in the world.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        effects: Vec<Effect>,
        /// How long it took.
        duration_ms: u64,
    },
    /// The conversation was shortened. The events before stay on record.
    Compacted {
        /// The text that replaces the older messages.
        summary: String,
        /// Bytes of the conversation before.
        bytes_before: u64,
        /// Bytes of the conversation after.
        bytes_after: u64,
        /// The first message of the conversation from now on.
        #[serde(default)]
        opening: String,
        /// How many of the newest messages follow it unchanged.
        #[serde(default)]
        kept: u32,
    },
    /// A call waits until a person answers; the agent's clock is stopped.
    PersonNeeded {
        /// What is asked.
        question: Question,
    },
    /// A question is closed.
    PersonAnswered {
        /// The call that it was about.
        call: CallId,
        /// The answer.
        answer: Answer,
    },
    /// Posse looked at the workspace before a command of the agent, and stored everything that undo covers.
    Checkpointed {
        /// The turn.
        turn: u32,
        /// An id of the state; it stays the same as long as nothing changes.
        commit: String,
    },
    /// What undo does not cover in this workspace.
    NotCovered {
        /// Each in a few words.
        what: Vec<String>,
        /// Folders that commands see read-only, because files in them have hard links outside the workspace.
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
    /// Files changed while a command of the agent ran, and nothing shows that the command did it. It may have been a
    /// person's editor, another session or another command.
    ChangedMeanwhile {
        /// In which turn.
        turn: u32,
        /// What was changed.
        changes: Vec<Change>,
    },
    /// The work of a sub-agent with its own checkout was merged, except for conflicts.
    Merged {
        /// Whose work.
        from: AgentId,
        /// Its branch, which still has the conflicting parts.
        branch: String,
        /// What was merged.
        changes: Vec<Change>,
        /// What was not.
        conflicts: Vec<Conflict>,
    },
    /// A person undid changes, or redid them.
    Undone {
        /// What was undone, in words.
        what: String,
        /// The events whose changes were undone.
        events: Vec<Seq>,
        /// The paths it was limited to; empty: all.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        /// What that changed.
        changes: Vec<Change>,
        /// Paths that have changed since in a way that conflicts with it.
        conflicts: Vec<Conflict>,
        /// What is still in effect of those events in files of which only some hunks were undone.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<Change>,
    },
    /// A person has reviewed parts of what was changed, or takes that back.
    Reviewed {
        /// The hunks, by what they change: an id is the same as long as path and lines are.
        hunks: Vec<String>,
        /// Whether they count as reviewed from now on.
        reviewed: bool,
    },
    /// A background command was started. It belongs to the session.
    BackgroundStarted {
        /// Its name, such as `cmd-1`.
        name: String,
        /// The command text.
        command: String,
    },
    /// A background command has ended.
    BackgroundEnded {
        /// Its name.
        name: String,
        /// Its exit code; none if it was stopped.
        exit_code: Option<i32>,
        /// The end of its output.
        tail: String,
    },
    /// A hook of a settings file was run.
    HookRan {
        /// The hook: its command or address, in one line.
        hook: String,
        /// The moment that it heard of, such as `PreToolUse`.
        hook_event: String,
        /// The call that it was about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// Whether it ran in the sandbox.
        confined: bool,
        /// How long it took.
        duration_ms: u64,
        /// Its exit code, or the status of the response; none if it did not end by itself.
        exit_code: Option<i32>,
        /// What it decided.
        decision: HookDecision,
        /// Why, what it tells the person, or what went wrong, in one line.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// The agent gets the reports of these agents, in the next message or result. Each report is delivered once.
    ReportsDelivered {
        /// Whose reports.
        agents: Vec<AgentId>,
    },
    /// The agent ended.
    AgentSettled {
        /// Its report.
        report: Report,
    },
}

impl EventKind {
    /// A message that was added to a conversation and not mailed before.
    pub fn told(from: Sender, words: impl Into<Words>) -> Self {
        let Words { text, attachments } = words.into();
        Self::Told { mail: MailId::default(), from, text, attachments }
    }

    /// A message without a number, as in records of before.
    pub fn mailed(from: Sender, words: impl Into<Words>) -> Self {
        let Words { text, attachments } = words.into();
        Self::Mailed { id: MailId::default(), from, text, is_prompt: false, attachments }
    }

    /// What is shown in it.
    pub fn attachments(&self) -> &[Attachment] {
        match self {
            Self::Mailed { attachments, .. }
            | Self::Told { attachments, .. }
            | Self::ToolFinished { attachments, .. } => attachments,
            _ => &[],
        }
    }

    fn attachments_mut(&mut self) -> Option<&mut Vec<Attachment>> {
        match self {
            Self::Mailed { attachments, .. }
            | Self::Told { attachments, .. }
            | Self::ToolFinished { attachments, .. } => Some(attachments),
            _ => None,
        }
    }
}

impl Event {
    /// The event with the names and sizes of its attachments, and without their contents: what is shown and printed.
    pub fn without_data(&self) -> Cow<'_, Self> {
        if self.kind.attachments().is_empty() {
            return Cow::Borrowed(self);
        }
        let mut event = self.clone();
        for attachment in event.kind.attachments_mut().into_iter().flatten() {
            *attachment = attachment.without_data();
        }
        Cow::Owned(event)
    }
}

/// Who wrote a message of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// The person or program that runs the session.
    Person,
    /// Posse itself: a reminder, a limit, a request to continue.
    Posse,
    /// The agent that delegated the work.
    Parent,
    /// Sub-agents that have ended: their reports.
    Reports,
    /// Another agent of the team.
    Peer,
}

impl Sender {
    /// Whether what it writes is always mailed: nobody else adds to a conversation in its name.
    pub fn writes_mail(self) -> bool {
        match self {
            Self::Person | Self::Peer => true,
            Self::Posse | Self::Parent | Self::Reports => false,
        }
    }
}

/// Why a model call is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To work on the task.
    #[default]
    Work,
    /// To get notes that replace the conversation.
    Summary,
    /// To get a last report.
    LastWord,
    /// To get a summary of a report that is too long for its reader.
    SumUp,
}

impl Purpose {
    /// Whether it is work on the task, as nearly always.
    pub fn is_work(&self) -> bool {
        *self == Self::Work
    }
}

/// Why an agent is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueReason {
    /// The maximum number of agents is running.
    RunningCap,
    /// Its endpoint is busy with other agents.
    Endpoint,
    /// As many agents of all sessions run in this process as may run at the same time.
    ProcessCap,
}

/// What an interface receives while it follows a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Update {
    /// Already recorded.
    Event(Arc<Event>),
    /// Not recorded: the event that follows contains all of it.
    Progress(Progress),
}

/// Something worth showing before it is complete. It is never recorded and may be lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// Whose.
    pub agent: AgentId,
    /// What.
    pub kind: ProgressKind,
}

/// The kinds of progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgressKind {
    /// More of the reply's text.
    Text(String),
    /// All of the reply's text so far: for somebody who begins to follow, or missed some of it.
    TextSoFar(String),
    /// More of the model's reasoning.
    Reasoning(String),
    /// The model has started to write a call of this tool.
    Calling(String),
    /// More of the reply has arrived that is not shown, such as a call's arguments.
    Arriving,
    /// The request waits for its turn at the endpoint.
    Queued,
    /// Its turn has come: the request is on its way.
    Served,
    /// More of what a running command has written. What comes too fast is left out; the result of the call has its start and
    /// its end.
    Output {
        /// The call that runs it.
        call: CallId,
        /// What it has written since, as text without control characters.
        text: String,
    },
    /// How many files of the workspace were looked at and stored so far, before the first command.
    Keeping(u64),
}

impl ProgressKind {
    /// Cuts off what is longer than it may be.
    pub fn shorten(&mut self, bytes_max: usize) {
        match self {
            Self::Text(text) | Self::TextSoFar(text) | Self::Reasoning(text) | Self::Calling(text) => {
                text.truncate(text.floor_char_boundary(bytes_max));
            }
            Self::Output { call, text } => {
                text.truncate(text.floor_char_boundary(bytes_max));
                call.0.truncate(call.0.floor_char_boundary(bytes_max));
            }
            Self::Arriving | Self::Queued | Self::Served | Self::Keeping(_) => {}
        }
    }
}
