//! A cassette from the record: every model call of a session with the conversation it was made with.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use posse_agent::{Recall, Settings};
use posse_model::{Exported, export_cassette};
use posse_protocol::{AgentId, Budget, ContextMode, Event, EventKind, Message, SessionId};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::record::reading::read_events;

impl Engine {
    /// Writes a cassette that replays a session, and gives back how many model calls it holds. `placeholders` are texts
    /// of this machine and what stands for them. Sub-agents of which only the result is kept are not in it.
    pub fn export_cassette(
        &self,
        session: SessionId,
        path: &Path,
        placeholders: Vec<(String, String)>,
    ) -> Result<usize, EngineError> {
        let events = read_events(&self.parts.store, session)?;
        let mut tape = SpokenRecord::default();
        let calls = events.into_iter().filter_map(|event| tape.event(event));
        Ok(export_cassette(path, calls, placeholders)?)
    }
}

/// The conversations of a session while its events go by.
#[derive(Default)]
pub(crate) struct SpokenRecord {
    agents: HashMap<AgentId, Voice>,
    /// What agents that have not begun will begin with.
    known: HashMap<AgentId, Vec<Arc<Message>>>,
}

struct Voice {
    system: Arc<str>,
    model: String,
    recall: Recall,
}

impl SpokenRecord {
    /// The system prompt of an agent that has started.
    pub(crate) fn system(&self, agent: AgentId) -> Option<Arc<str>> {
        self.agents.get(&agent).map(|voice| Arc::clone(&voice.system))
    }

    /// The conversation of an agent as far as it has come.
    pub(crate) fn messages(&self, agent: AgentId) -> Option<&[Arc<Message>]> {
        self.agents.get(&agent).map(|voice| voice.recall.agent().conversation().messages())
    }

    /// Its last reply, if that is no part of the conversation yet.
    pub(crate) fn unanswered(&self, agent: AgentId) -> Option<Message> {
        self.agents.get(&agent)?.recall.last_reply()
    }

    /// Takes in one event; a reply is an exchange.
    pub(crate) fn event(&mut self, event: Event) -> Option<Exported> {
        let Event { agent, parent, kind, .. } = event;
        match &kind {
            EventKind::AgentAdmitted { context, continues, .. } => {
                let fork = parent.filter(|_| *context == ContextMode::Fork && continues.is_none());
                if let Some(from) = continues.or(fork).and_then(|from| self.agents.get(&from)) {
                    let all = from.recall.agent().conversation().messages();
                    let known = if continues.is_some() { all } else { from.recall.last_request() };
                    self.known.insert(agent, known.to_vec());
                }
            }
            EventKind::AgentStarted { system, model, .. } => {
                let known = self.known.remove(&agent).unwrap_or_default();
                let recall = Recall::new(settings(), &known);
                self.agents
                    .insert(agent, Voice { system: system.as_str().into(), model: model.clone(), recall });
            }
            _ => {}
        }
        let voice = self.agents.get_mut(&agent)?;
        let exported = match &kind {
            EventKind::Replied { reply, .. } => Some(Exported {
                model: voice.model.clone(),
                system: Arc::clone(&voice.system),
                messages: voice.recall.agent().conversation().messages().to_vec(),
                reply: reply.clone(),
            }),
            _ => None,
        };
        voice.recall.event(&kind);
        exported
    }
}

/// What was decided is on record, so nothing here decides anything.
fn settings() -> Settings {
    let budget = Budget::UNLIMITED;
    Settings { budget, prices: None, context_window: None, fixed_bytes: 0, sum_up_over: None, stays: false }
}
