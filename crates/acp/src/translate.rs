//! Turns what happens in a session into what its client is told. Pure: it must not know the client's connection, the engine or
//! a clock; what needs those is given out as news.
//!
//! ```text
//!   Event ────▶ SessionView ──▶ status: title, plan, usage, state of sub-agents ──▶ ClientNews
//!     └───────▶ messages, calls ─────────────────────────────────────────────────▶
//!   Progress ─▶ pieces of messages, output of commands ──────────────────────────▶
//! ```
//!
//! The main agent is shown in the session of the client. Where the client knows sub-agents, each of them is a session of its own
//! under its agent id. Where it does not, each is one call in the main session, with a line that says what it does.

mod calls;
mod children;
mod messages;
pub(crate) mod status;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol_schema::v1::{SessionUpdate, ToolCallId};
use posse_protocol::{
    AgentId, Attachment, CallId, Change, Event, EventKind, MailId, Purpose, Report, Update,
};
use posse_view::{OpenQuestion, SessionView, TodoItem};

use crate::client::ClientSkills;
use crate::streamed::StreamedMessage;

pub(crate) use calls::fenced;

use calls::CallTold;
use children::ChildTold;

/// What follows from something that happened.
#[derive(Debug)]
pub(crate) enum ClientNews {
    /// The client is told this.
    Update { session: Arc<str>, update: Box<SessionUpdate> },
    /// The person said this to the main agent, here or elsewhere.
    Said { mail: MailId, text: String, attachments: Vec<Attachment> },
    /// The main agent begins a turn.
    Turn,
    /// The main agent has answered.
    Rested(Box<Report>),
    /// A person is asked, in a session of the client and about a call in it.
    Ask { session: Arc<str>, call: ToolCallId, open: Box<OpenQuestion> },
    /// A question is closed.
    Answered { agent: AgentId, call: CallId },
    /// Files were changed by a call that the client was told of.
    Changed { agent: AgentId, changes: Vec<Change> },
    /// The approval mode or the model is another one.
    Settings,
}

/// What the client was told of a session so far.
pub(crate) struct Translator {
    /// The session as the client calls it.
    session: Arc<str>,
    skills: ClientSkills,
    /// How many tokens fit into the main agent's model.
    pub(crate) window: Option<u64>,
    pub(crate) view: SessionView,
    agents: HashMap<AgentId, AgentTold>,
    title: Option<String>,
    settings: (Option<posse_protocol::Approval>, Option<String>),
    used: u64,
}

/// What the client was told of one agent.
struct AgentTold {
    /// The session that shows what it does; none if it is shown by a call of its own only.
    session: Option<Arc<str>>,
    /// Where it works.
    folder: PathBuf,
    text: StreamedMessage,
    thought: StreamedMessage,
    turn: u32,
    purpose: Purpose,
    /// The arguments of calls that have not begun.
    arguments: HashMap<CallId, String>,
    /// Calls that have no result.
    calls: HashMap<CallId, CallTold>,
    /// The last call that has one.
    last_call: Option<CallTold>,
    plan: Vec<TodoItem>,
    /// Whose reports come with the next message.
    reports_of: Vec<AgentId>,
    child: ChildTold,
}

impl Translator {
    pub(crate) fn new(session: Arc<str>, skills: ClientSkills) -> Self {
        Self {
            session,
            skills,
            window: None,
            view: SessionView::default(),
            agents: HashMap::new(),
            title: None,
            settings: (None, None),
            used: 0,
        }
    }

    /// Takes in what happened.
    pub(crate) fn handle(&mut self, update: &Update) -> Vec<ClientNews> {
        match update {
            Update::Event(event) => self.event(event),
            Update::Progress(progress) => {
                self.view.note(progress, self.view.last_at_ms);
                let mut news = self.progress(progress);
                news.extend(self.card(progress.agent));
                news
            }
        }
    }

    fn event(&mut self, event: &Event) -> Vec<ClientNews> {
        if event.seq <= self.view.seq && self.view.session.is_some() {
            return Vec::new();
        }
        self.view.pass_over(event.seq);
        // An event of another session, or one that cannot follow, changes nothing.
        let Ok(_) = self.view.fold(event) else { return Vec::new() };
        let mut news = self.agent_news(event);
        news.extend(self.message_news(event));
        news.extend(self.call_news(event));
        if let EventKind::PersonAnswered { call, .. } = &event.kind {
            news.push(ClientNews::Answered { agent: event.agent, call: call.clone() });
        }
        news.extend(self.state_of(event.agent));
        news.extend(self.card(event.agent));
        news.extend(self.status(event));
        news
    }

    /// The session that shows an agent, if one does.
    fn session_of(&self, agent: AgentId) -> Option<&Arc<str>> {
        self.agents.get(&agent).and_then(|told| told.session.as_ref())
    }

    fn told(&mut self, agent: AgentId) -> &mut AgentTold {
        let (session, folder) = (self.session.clone(), PathBuf::from(&self.view.workspace));
        self.agents.entry(agent).or_insert_with(|| AgentTold::new(Some(session), folder))
    }

    /// What an agent is called.
    pub(crate) fn name(&self, agent: AgentId) -> String {
        let name = self.view.agents.get(agent).map_or("main", |agent| agent.name.as_str());
        posse_protocol::visible::one_line(name, crate::limits::TITLE_COLUMNS_MAX)
    }

    /// The sub-agents, by the names under which they are stopped. An id of the client's is one of these.
    pub(crate) fn child_named(&self, session: &str) -> Option<String> {
        let id = session.parse::<AgentId>().ok()?;
        let agent = self.view.agents.get(id).filter(|agent| agent.parent.is_some())?;
        self.skills.subagents.then(|| agent.name.clone())
    }

    /// Questions that were open before anybody followed.
    pub(crate) fn open_questions(&mut self) -> Vec<ClientNews> {
        let open = self.view.questions.iter().cloned().collect::<Vec<_>>();
        open.into_iter().flat_map(|open| self.ask(open)).collect()
    }
}

impl AgentTold {
    fn new(session: Option<Arc<str>>, folder: PathBuf) -> Self {
        Self {
            session,
            folder,
            text: StreamedMessage::default(),
            thought: StreamedMessage::default(),
            turn: 0,
            purpose: Purpose::Work,
            arguments: HashMap::new(),
            calls: HashMap::new(),
            last_call: None,
            plan: Vec::new(),
            reports_of: Vec::new(),
            child: ChildTold::default(),
        }
    }

    /// A path of its own as the client opens it.
    fn absolute(&self, path: &str) -> PathBuf {
        self.folder.join(Path::new(path))
    }
}

/// ClientNews for one session of the client.
fn tell(session: &Arc<str>, update: SessionUpdate) -> ClientNews {
    ClientNews::Update { session: Arc::clone(session), update: Box::new(update) }
}
