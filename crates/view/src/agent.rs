//! One agent, as far as it has come.

use posse_protocol::{AgentId, Budget, CallId, CallKind, ContextMode, Event, EventKind, MailId, Sender, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::cut;
use crate::{Activity, BranchView, Figures, ReportView, WorkClock, limits};
use posse_protocol::AgentState;

/// One agent, from its admission to its end and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentView {
    /// Its id.
    pub id: AgentId,
    /// Its parent; none for the main agent.
    pub parent: Option<AgentId>,
    /// What it is called; `main` for the main agent.
    pub name: String,
    /// Its role.
    pub role: String,
    /// 0 for the main agent.
    pub depth: u32,
    /// What it is asked to do, in a few words; none for the main agent.
    pub title: Option<String>,
    /// How it does.
    pub state: AgentState,
    /// What it does right now.
    pub doing: Activity,
    /// When its reply last went on; none while it does not reply. Known from progress alone.
    pub heard_at_ms: Option<u64>,
    /// Whether it has said something without calling a tool, and nothing has happened to it since.
    pub rests: bool,
    /// The model that was asked for; none where the choice was left to Posse.
    pub requested_model: Option<String>,
    /// The configured name of its model; none before it starts.
    pub model: Option<String>,
    /// The provider's name of its model; none before it starts.
    pub model_id: Option<String>,
    /// Which part of its parent's conversation it began with; none for the main agent.
    pub context: Option<ContextMode>,
    /// The settled agent whose conversation it takes up.
    pub continues: Option<AgentId>,
    /// The worker that runs it, or ran it last; none if it runs at home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// The turn it is in; 0 before the first.
    pub turn: u32,
    /// What it may spend.
    pub budget: Budget,
    /// The time it has spent.
    pub clock: WorkClock,
    /// What it has used itself.
    pub own: Figures,
    /// What all agents below it have used.
    pub below: Figures,
    /// Of how many of its model calls the cost is not known.
    pub unpriced_calls: u64,
    /// Model calls made again after an error.
    pub retries: u64,
    /// Calls that it was not allowed.
    pub denied_calls: u64,
    /// Its sub-agents that have not ended.
    pub open_children: u32,
    /// The sequence number of the last event that happened to it.
    pub last_seq: Seq,
    /// When something last happened to it: milliseconds since 1970, UTC.
    pub last_at_ms: u64,
    /// When it had to wait before it could begin; none if it had not.
    pub queued_at_ms: Option<u64>,
    /// When it began; none before it does.
    pub started_at_ms: Option<u64>,
    /// When it was interrupted; none once it goes on.
    pub interrupted_at_ms: Option<u64>,
    /// When it ended; none before it does.
    pub ended_at_ms: Option<u64>,
    /// How long it worked, as measured; none before it ends.
    pub duration_ms: Option<u64>,
    /// Whether its parent has been told what it came to.
    pub delivered: bool,
    /// What went wrong, if something did.
    pub error: Option<String>,
    /// Its calls that have no result, in the order in which they began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<OpenCall>,
    /// Its open questions, by the events that asked them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Seq>,
    /// Messages that were sent to it and not delivered yet, in the order in which they were sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mail: Vec<QueuedMail>,
    /// Its to-do list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todo: Vec<TodoItem>,
    /// Its branch, where it has a checkout of its own.
    pub branch: Option<BranchView>,
    /// What it came to; the last, where it was taken up again.
    pub report: Option<ReportView>,
}

/// A call that has no result yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenCall {
    /// Which call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// What it is about, in one short line.
    pub title: String,
    /// What kind of thing it does.
    #[serde(default)]
    pub kind: CallKind,
    /// The files and folders that it names, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// When it began: milliseconds since 1970, UTC.
    pub started_at_ms: u64,
}

/// A message that was sent to an agent and not delivered yet. It can be edited or withdrawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueuedMail {
    /// Its number.
    pub id: MailId,
    /// Who wrote it.
    pub from: Sender,
    /// The beginning of its text.
    pub text: String,
    /// Whether it is a prompt, which waits until the agent has answered the one before.
    pub is_prompt: bool,
}

/// One item of a to-do list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodoItem {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub state: TodoState,
}

/// How far an item of a to-do list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    /// Not begun.
    Pending,
    /// Under way.
    Doing,
    /// Done.
    Done,
}

impl AgentView {
    pub(crate) fn new(event: &Event, name: &str, role: &str, depth: u32) -> Self {
        let name = if event.parent.is_none() { "main" } else { name };
        Self {
            id: event.agent,
            parent: event.parent,
            name: cut(name, limits::TEXT_CHARS_MAX),
            role: cut(role, limits::TEXT_CHARS_MAX),
            depth,
            title: None,
            state: AgentState::Pending,
            doing: Activity::Starting,
            heard_at_ms: None,
            rests: false,
            requested_model: None,
            model: None,
            model_id: None,
            context: None,
            continues: None,
            on: None,
            turn: 0,
            budget: Budget::UNLIMITED,
            clock: WorkClock::default(),
            own: Figures { agents: 1, ..Figures::default() },
            below: Figures::default(),
            unpriced_calls: 0,
            retries: 0,
            denied_calls: 0,
            open_children: 0,
            last_seq: event.seq,
            last_at_ms: event.at_ms,
            queued_at_ms: None,
            started_at_ms: None,
            interrupted_at_ms: None,
            ended_at_ms: None,
            duration_ms: None,
            delivered: false,
            error: None,
            calls: Vec::new(),
            asks: Vec::new(),
            mail: Vec::new(),
            todo: Vec::new(),
            branch: None,
            report: None,
        }
    }

    /// A worker runs it from now on. What it did on one that was lost is over.
    pub(crate) fn place(&mut self, worker: &str, epoch: u64) {
        self.on = Some(cut(worker, limits::TEXT_CHARS_MAX));
        if epoch > 1 && self.state == AgentState::Running {
            self.doing = Activity::GoingOn;
        }
    }

    /// Messages come, change and are taken back. Those without a number cannot be told apart, so they are left out.
    pub(crate) fn change_mail(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Mailed { id, from, text, is_prompt, .. }
                if !id.is_unknown() && self.mail.len() < limits::QUEUED_MAIL_MAX =>
            {
                let text = cut(text, limits::MESSAGE_CHARS_MAX);
                self.mail.push(QueuedMail { id: *id, from: *from, text, is_prompt: *is_prompt });
            }
            EventKind::MailEdited { id, text } => {
                let edited = self.mail.iter_mut().filter(|mail| mail.id == *id);
                edited.for_each(|mail| mail.text = cut(text, limits::MESSAGE_CHARS_MAX));
            }
            EventKind::MailWithdrawn { id } => self.mail.retain(|mail| mail.id != *id),
            _ => {}
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.ended_at_ms.is_some()
    }

    /// What it and all below it have used.
    pub fn in_all(&self) -> Figures {
        self.own.with(self.below)
    }

    /// How long it has worked until now; none if it never began.
    pub fn worked_ms(&self, now_ms: u64) -> Option<u64> {
        self.started_at_ms.map(|_| self.clock.spent_ms(now_ms.max(self.last_at_ms)))
    }

    /// How long its reply has stood still, once that is worth telling.
    pub fn silent_ms(&self, now_ms: u64) -> Option<u64> {
        let silent = now_ms.saturating_sub(self.heard_at_ms?);
        (silent >= limits::SILENCE_TOLD_AFTER_MS).then_some(silent)
    }

    /// The model that was asked for, where it works on another.
    pub fn missing_model(&self) -> Option<&str> {
        let asked = self.requested_model.as_deref()?;
        let (model, id) = (self.model.as_deref()?, self.model_id.as_deref().unwrap_or_default());
        let found = [model, id].iter().any(|name| name.eq_ignore_ascii_case(asked));
        (!found).then_some(asked)
    }
}

/// The items of a list as agents keep it: one a line, behind `[ ]`, `[>]` or `[x]`.
pub(crate) fn todo_items(text: &str) -> Vec<TodoItem> {
    let item = |line: &str| {
        let marked = line.strip_prefix('[').and_then(|line| line.split_once("] "));
        let (state, text) = match marked {
            Some((">", text)) => (TodoState::Doing, text),
            Some(("x", text)) => (TodoState::Done, text),
            Some((" ", text)) => (TodoState::Pending, text),
            _ => (TodoState::Pending, line),
        };
        TodoItem { text: cut(text, limits::TEXT_CHARS_MAX), state }
    };
    text.lines().filter(|line| !line.trim().is_empty()).take(limits::TODO_ITEMS_MAX).map(item).collect()
}
