//! Home as a worker sees it: what it can be asked, and what it has to say to an agent.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_agent::{Kin, Mail};
use posse_model::{CallElsewhere, Called};
use posse_protocol::{
    AgentId, Answer, Approval, Budget, CallId, MailId, ModelError, ModelErrorKind, Reply, Sender, ToolCall,
    ToolOutcome, Words,
};
use serde::{Deserialize, Serialize};

/// Something that is waited for.
type Coming<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The way from an agent on a worker to its home. Each call waits for as long as home cannot be reached.
pub trait HomeLink: Send + Sync {
    /// Waits until the agent may do something that has effects: no other worker can have it. With `recorded` also until so many
    /// of the events that were noted here are on home's record.
    fn may_act(&self, recorded: Option<u64>) -> Coming<'_, ()>;

    /// Asks home for something, which comes after so many of the events that were noted here. What nobody waits for any more is
    /// called off.
    fn ask(&self, request: HomeRequest, after: u64) -> Coming<'_, HomeReply>;
}

/// What an agent on a worker asks of its home. Home looks at it once everything that was noted before is on record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum HomeRequest {
    /// Carry out a call of a delegation tool.
    Delegate {
        /// The call, as the model wrote it.
        call: ToolCall,
    },
    /// Call the model with the conversation as it is on record.
    CallModel,
    /// It has nothing to do until its sub-agents or somebody else have something to say.
    Idle,
}

/// What home says to that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "came", rename_all = "snake_case")]
pub enum HomeReply {
    /// What came of a call.
    Delegated {
        /// The result.
        outcome: ToolOutcome,
        /// Whose reports it holds.
        delivered: Vec<AgentId>,
        /// How its sub-agents are now.
        kin: Kin,
    },
    /// What the model said.
    Replied {
        /// The reply.
        reply: Box<Reply>,
    },
    /// The model failed.
    ModelFailed {
        /// How.
        error: ModelError,
    },
    /// It is noted.
    Noted,
    /// It will not be done.
    Refused {
        /// Why.
        reason: String,
    },
}

/// What home has to say to an agent on a worker. Each comes once, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum HostCommand {
    /// Words for its next turn.
    Mail {
        /// The number of the message at home.
        id: MailId,
        /// Who wrote it.
        from: Sender,
        /// The words.
        words: Words,
        /// Whether what it does is stopped for it.
        interrupt: bool,
    },
    /// Reports of its sub-agents, to be told at its next turn.
    Reports {
        /// In words.
        text: String,
        /// Whose.
        agents: Vec<AgentId>,
        /// How its sub-agents are now.
        kin: Kin,
    },
    /// How its sub-agents are now.
    Kin {
        /// How many, and what they take.
        kin: Kin,
        /// The same in words, for a conversation that is shortened.
        roster: Option<String>,
    },
    /// The answer to a question.
    Answer {
        /// The call that it is about.
        call: CallId,
        /// The answer.
        answer: Answer,
    },
    /// It may spend so much in all.
    Budget {
        /// How much. What it may spend already is never less.
        budget: Budget,
    },
    /// It does no more than this mode allows without asking.
    Mode {
        /// The mode.
        approval: Approval,
    },
    /// The command of a call, which runs in the foreground, is to run in the background.
    ToBackground {
        /// The call.
        call: CallId,
    },
    /// It is to stop and report.
    Cancel,
}

impl HostCommand {
    /// A message.
    pub(crate) fn mail(mail: &Mail, interrupt: bool) -> Self {
        Self::Mail { id: mail.id, from: mail.from, words: mail.words.clone(), interrupt }
    }
}

/// What a worker knows of the home of its agent, and what home has said that the agent has not taken in.
pub(crate) struct Home {
    link: Arc<dyn HomeLink>,
    /// How many events for home were noted.
    pub(crate) noted: Arc<AtomicU64>,
    /// The longest report that is told as it is, in bytes, if longer ones are summed up.
    pub(crate) sum_up_over: Option<usize>,
    said: Mutex<Said>,
}

#[derive(Default)]
struct Said {
    kin: Kin,
    roster: Option<String>,
    reports: Vec<(String, Vec<AgentId>)>,
    /// Messages and reports that home has said: one that was started again says them a second time.
    mail: BTreeSet<MailId>,
    reported: BTreeSet<AgentId>,
}

impl Home {
    pub(crate) fn new(link: Arc<dyn HomeLink>, sum_up_over: Option<usize>) -> Self {
        Self { link, sum_up_over, noted: Arc::default(), said: Mutex::default() }
    }

    /// Waits until the agent may do something that has effects; with `on_record` also until all that was noted is on record.
    pub(crate) async fn may_act(&self, on_record: bool) {
        let noted = on_record.then(|| self.noted.load(Ordering::Acquire));
        self.link.may_act(noted).await;
    }

    /// Asks home for something.
    pub(crate) async fn ask(&self, request: HomeRequest) -> HomeReply {
        self.link.ask(request, self.noted.load(Ordering::Acquire)).await
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn kin(&self) -> Kin {
        self.lock().kin
    }

    /// The agent's sub-agents in words, if it has some.
    pub(crate) fn roster(&self) -> Option<String> {
        self.lock().roster.clone()
    }

    /// Takes what home has said since.
    pub(crate) fn take_news(&self) -> (Kin, Vec<(String, Vec<AgentId>)>) {
        let mut said = self.lock();
        (said.kin, std::mem::take(&mut said.reports))
    }

    pub(crate) fn set_kin(&self, kin: Kin) {
        self.lock().kin = kin;
    }

    pub(crate) fn set_roster(&self, roster: Option<String>) {
        self.lock().roster = roster;
    }

    /// Adds reports, unless all of them were said before.
    pub(crate) fn add_reports(&self, text: String, agents: Vec<AgentId>) {
        let mut said = self.lock();
        let known = said.reported.len();
        said.reported.extend(&agents);
        if said.reported.len() > known {
            said.reports.push((text, agents));
        }
    }

    /// Whether home has not said this message before.
    pub(crate) fn is_new_mail(&self, id: MailId) -> bool {
        id.is_unknown() || self.lock().mail.insert(id)
    }
}

/// The model of an agent on a worker that home calls: the conversation is on home's record, so none of it has to travel.
pub(crate) struct HomeModel(pub(crate) Arc<Home>);

impl CallElsewhere for HomeModel {
    fn call(&self) -> Called<'_> {
        Box::pin(async move {
            let refused = |reason| Err(ModelError::new(ModelErrorKind::BadRequest, reason));
            match self.0.ask(HomeRequest::CallModel).await {
                HomeReply::Replied { reply } => Ok(*reply),
                HomeReply::ModelFailed { error } => Err(error),
                HomeReply::Refused { reason } => refused(reason),
                HomeReply::Delegated { .. } | HomeReply::Noted => {
                    refused("home did not say what the model replied".to_string())
                }
            }
        })
    }
}
