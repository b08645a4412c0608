//! Queries of the record. They are answered wherever the record is, whether a session runs or not.

use posse_engine::record::{AgentRow, SessionRow};
use posse_engine::{ContextUse, Engine, EngineError, SessionFilter, WaitingQuestion};
use posse_protocol::{AgentState, Event, Seq, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Verb, at_most};
use crate::failure::{CallError, CallErrorKind};
use crate::limits::{EVENTS_AT_ONCE, NAME_BYTES_MAX, PAGE_BYTES_MAX, QUERY_BYTES_MAX, ROWS, ROWS_MAX};

/// The name of the main agent.
const MAIN: &str = "main";

/// Sessions that fit, the newest first, a page at a time.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSessions {
    /// Only those of the project that this folder belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Only those in one of these states, with commas between them: `running,resting`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<String>,
    /// Only those with this text in their title or in a prompt of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where the page begins: `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Sessions, the newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionList {
    /// One for each session.
    pub sessions: Vec<SessionRow>,
    /// Where the next page begins; none if there are no more.
    pub next: Option<String>,
}

impl Call for ListSessions {
    type Of = ();
    type Answer = SessionList;
    const NAME: &'static str = "list_sessions";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/sessions";

    fn check(&self) -> Result<(), CallError> {
        let texts = [&self.folder, &self.states, &self.text, &self.cursor];
        texts.into_iter().flatten().try_for_each(|text| at_most(QUERY_BYTES_MAX, "A value", text))?;
        within_rows(self.limit.unwrap_or_default())
    }

    async fn run(self, (): (), engine: Engine) -> Result<SessionList, CallError> {
        let Self { folder, states, text, cursor, limit } = self;
        let states = states.as_deref().map(states_of).transpose()?.unwrap_or_default();
        let page = engine.session_page(SessionFilter { folder, states, text, cursor, limit }).await?;
        Ok(SessionList { sessions: page.sessions, next: page.next })
    }
}

/// States by their words on the wire.
fn states_of(words: &str) -> Result<Vec<AgentState>, CallError> {
    let one = |word: &str| {
        serde_json::from_value(word.trim().into()).map_err(|_| {
            CallError::new(CallErrorKind::BadRequest, format!("{:?} is not a state.", word.trim()))
        })
    };
    words.split(',').map(one).collect()
}

/// One session.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowSession {}

/// One session, as far as it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionFound {
    /// What is on record of it.
    pub session: SessionRow,
}

impl Call for ShowSession {
    type Of = SessionId;
    type Answer = SessionFound;
    const NAME: &'static str = "show_session";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/sessions/{session}";

    async fn run(self, session: SessionId, engine: Engine) -> Result<SessionFound, CallError> {
        let session = engine.read(move |engine| engine.find_session(&session.to_string())).await?;
        Ok(SessionFound { session })
    }
}

/// The agents of a session.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAgents {}

/// Agents, parents before their children.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionAgents {
    /// One for each agent.
    pub agents: Vec<AgentRow>,
}

impl Call for ListAgents {
    type Of = SessionId;
    type Answer = SessionAgents;
    const NAME: &'static str = "list_agents";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/sessions/{session}/agents";

    async fn run(self, session: SessionId, engine: Engine) -> Result<SessionAgents, CallError> {
        let agents = engine.read(move |engine| {
            engine.find_session(&session.to_string())?;
            engine.agents(session)
        });
        Ok(SessionAgents { agents: agents.await? })
    }
}

/// A page of a session's events.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListEvents {
    /// The last event that is known already; 0 for none.
    #[serde(default)]
    pub after: u64,
    /// How many at most.
    #[serde(default = "rows")]
    pub limit: usize,
}

/// Events in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventPage {
    /// None if there are no more; fewer than were asked for if they are large.
    pub events: Vec<Event>,
}

impl Call for ListEvents {
    type Of = SessionId;
    type Answer = EventPage;
    const NAME: &'static str = "list_events";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/sessions/{session}/record";

    fn check(&self) -> Result<(), CallError> {
        within_rows(self.limit)
    }

    async fn run(self, session: SessionId, engine: Engine) -> Result<EventPage, CallError> {
        Ok(EventPage { events: engine.read(move |engine| self.read(session, engine)).await? })
    }
}

impl ListEvents {
    /// Reads a few events at a time: they can be large, and a page is bounded in bytes, too.
    fn read(self, session: SessionId, engine: &Engine) -> Result<Vec<Event>, EngineError> {
        let last = engine.find_session(&session.to_string())?.last_seq;
        let (mut after, mut bytes, mut events) = (Seq(self.after).min(last), 0, Vec::new());
        while events.len() < self.limit && bytes < PAGE_BYTES_MAX {
            let some = engine.events_after(session, after, EVENTS_AT_ONCE.min(self.limit - events.len()))?;
            let Some(newest) = some.last() else { break };
            after = newest.seq;
            for event in some {
                // Contents of attachments are megabytes, and nobody shows them.
                let event = event.without_data().into_owned();
                bytes += serde_json::to_vec(&event).map_or(0, |text| text.len());
                events.push(event);
                if bytes >= PAGE_BYTES_MAX {
                    break;
                }
            }
        }
        Ok(events)
    }
}

/// What one event changed, as a diff.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowEventDiff {
    /// The number of the event.
    pub seq: u64,
    /// How long the diff may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_max: Option<usize>,
}

/// What one event changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventDiffFound {
    /// The number of the event.
    pub seq: u64,
    /// The paths that it changed, each once.
    pub paths: Vec<String>,
    /// A unified diff, cut to the wanted length.
    pub diff: String,
}

impl Call for ShowEventDiff {
    type Of = SessionId;
    type Answer = EventDiffFound;
    const NAME: &'static str = "show_event_diff";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/sessions/{session}/event-diff";

    async fn run(self, session: SessionId, engine: Engine) -> Result<EventDiffFound, CallError> {
        let found = engine.event_diff(session, Seq(self.seq), self.bytes_max).await?;
        Ok(EventDiffFound { seq: found.seq.0, paths: found.paths, diff: found.diff })
    }
}

/// What fills the context window of an agent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowContext {
    /// Its name.
    #[serde(default = "main_agent")]
    pub agent: String,
}

/// What fills a context window. How large the window is, the person's configuration says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextFound {
    /// What is in it, by kind.
    pub context: ContextUse,
}

impl Call for ShowContext {
    type Of = SessionId;
    type Answer = ContextFound;
    const NAME: &'static str = "show_context";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/sessions/{session}/context";

    fn check(&self) -> Result<(), CallError> {
        at_most(NAME_BYTES_MAX, "The agent's name", &self.agent)
    }

    async fn run(self, session: SessionId, engine: Engine) -> Result<ContextFound, CallError> {
        engine.read(move |engine| engine.find_session(&session.to_string())).await?;
        Ok(ContextFound { context: engine.context_use(session, &self.agent, |_| None).await? })
    }
}

/// The questions of a session that wait for a person.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionQuestions {}

/// The questions of all sessions that run, in any process, that wait for a person.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListQuestions {}

/// Questions that wait for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionList {
    /// One for each question.
    pub questions: Vec<WaitingQuestion>,
}

impl Call for SessionQuestions {
    type Of = SessionId;
    type Answer = QuestionList;
    const NAME: &'static str = "session_questions";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/sessions/{session}/questions";

    async fn run(self, session: SessionId, engine: Engine) -> Result<QuestionList, CallError> {
        engine.read(move |engine| engine.find_session(&session.to_string())).await?;
        Ok(QuestionList { questions: engine.pending_questions(Some(session)).await? })
    }
}

impl Call for ListQuestions {
    type Of = ();
    type Answer = QuestionList;
    const NAME: &'static str = "list_questions";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/questions";

    async fn run(self, (): (), engine: Engine) -> Result<QuestionList, CallError> {
        Ok(QuestionList { questions: engine.pending_questions(None).await? })
    }
}

fn main_agent() -> String {
    MAIN.to_owned()
}

pub(crate) fn rows() -> usize {
    ROWS
}

pub(crate) fn within_rows(limit: usize) -> Result<(), CallError> {
    if limit <= ROWS_MAX {
        return Ok(());
    }
    let message = format!("At most {ROWS_MAX} are given at once.");
    Err(CallError::new(CallErrorKind::BadRequest, message))
}
