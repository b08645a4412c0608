//! Queries of the record. They are answered wherever the record is, whether a session runs or not.

use posse_engine::Engine;
use posse_engine::record::{AgentRow, SessionRow};
use posse_protocol::{Event, Seq, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Verb};
use crate::failure::{CallError, CallErrorKind};
use crate::limits::{ROWS, ROWS_MAX};

/// The newest sessions on record.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSessions {
    /// How many at most.
    #[serde(default = "rows")]
    pub limit: usize,
}

/// Sessions, the newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionList {
    /// One for each session.
    #[schemars(with = "Vec<serde_json::Value>")]
    pub sessions: Vec<SessionRow>,
}

impl Call for ListSessions {
    type Of = ();
    type Answer = SessionList;
    const NAME: &'static str = "list_sessions";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/sessions";

    fn check(&self) -> Result<(), CallError> {
        within_rows(self.limit)
    }

    async fn run(self, (): (), engine: Engine) -> Result<SessionList, CallError> {
        let sessions = engine.read(move |engine| engine.sessions(self.limit)).await?;
        Ok(SessionList { sessions })
    }
}

/// One session.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowSession {}

/// One session, as far as it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionFound {
    /// What is on record of it.
    #[schemars(with = "serde_json::Value")]
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
    #[schemars(with = "Vec<serde_json::Value>")]
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
    /// None if there are no more.
    #[schemars(with = "Vec<serde_json::Value>")]
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
        let events = engine.read(move |engine| {
            let last = engine.find_session(&session.to_string())?.last_seq;
            engine.events_after(session, Seq(self.after).min(last), self.limit)
        });
        Ok(EventPage { events: events.await? })
    }
}

fn rows() -> usize {
    ROWS
}

fn within_rows(limit: usize) -> Result<(), CallError> {
    if limit <= ROWS_MAX {
        return Ok(());
    }
    let message = format!("At most {ROWS_MAX} are given at once.");
    Err(CallError::new(CallErrorKind::BadRequest, message))
}
