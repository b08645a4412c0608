//! Forks a session: a new one that takes up the first turns of another's conversation. The files stay as they are. The
//! messages go on the new session's own record, so that it can be resumed when the other is gone.

use posse_agent::{Recall, Settings};
use posse_protocol::{Budget, Event, EventKind, Message, Seq, SessionId};

use crate::error::EngineError;
use crate::limits::FORK_PART_BYTES_MAX;
use crate::record::reading::read_events;
use crate::record::{new_agent_id, new_session_id};
use crate::session::Session;
use crate::session::main_agent::main_agent;
use crate::session::opening::Opening;
use crate::session::process_parts::ProcessParts;
use crate::session::request::SessionRequest;

/// See [`crate::Engine::fork`].
pub(crate) fn fork(
    process: &ProcessParts,
    from: SessionId,
    turn: Option<u32>,
    request: SessionRequest,
) -> Result<Session, EngineError> {
    if request.prompt.trim().is_empty() {
        return Err(EngineError::NothingToDo("Say what the fork is to do.".to_string()));
    }
    process.store.find_session(&from.to_string())?;
    let Past { system, turn, messages } = Past::read(&read_events(&process.store, from)?, turn)?;
    let opening = Opening {
        id: new_session_id(),
        agent: new_agent_id(),
        after: Seq(0),
        began_within: request.traceparent,
        home: None,
    };
    let (grant, budget, prompt) = (request.grant.clone(), request.budget, request.words());
    let lock = Opening::lock(process, opening.id)?;
    let (crew, updates) = opening.open(process, request, &grant, lock)?;
    let mut start = main_agent(&crew, grant, budget, prompt);
    start.conversation = start.conversation.taken_up(system, &messages);
    start.forked = parts(from, turn, messages);
    Ok(Session::drive(process, crew, start, updates))
}

/// The first turns of a main agent.
struct Past {
    system: String,
    /// How many there are.
    turn: u32,
    messages: Vec<Message>,
}

impl Past {
    fn read(events: &[Event], turn: Option<u32>) -> Result<Self, EngineError> {
        let main = events.iter().find(|event| event.parent.is_none()).map(|event| event.agent);
        let own = || events.iter().filter(|event| Some(event.agent) == main).map(|event| &event.kind);
        let started = own().find_map(|kind| match kind {
            EventKind::AgentStarted { system, .. } => Some(system.clone()),
            _ => None,
        });
        let system = started.ok_or_else(|| {
            EngineError::Refused("The main agent of this session had not begun.".to_string())
        })?;
        let replied = own().filter_map(|kind| match kind {
            EventKind::Replied { turn, .. } => Some(*turn),
            _ => None,
        });
        let last = replied.max().unwrap_or(0);
        let turn = turn.unwrap_or(last);
        if turn == 0 || turn > last {
            return Err(EngineError::Refused(format!(
                "The session has no turn {turn}: its main agent has replied {last} times."
            )));
        }
        let mut recall = Recall::new(no_limits(), &[]);
        for kind in own() {
            if matches!(kind, EventKind::TurnStarted { turn: next, .. } if *next > turn) {
                break;
            }
            recall.event(kind);
        }
        let messages = recall.past_turns().into_iter().map(|message| (*message).clone()).collect();
        Ok(Self { system, turn, messages })
    }
}

/// Nothing is spent by reading.
fn no_limits() -> Settings {
    Settings {
        budget: Budget::UNLIMITED,
        prices: None,
        context_window: None,
        fixed_bytes: 0,
        sum_up_over: None,
        stays: false,
    }
}

/// The events that hold the messages, none of them too large.
fn parts(from: SessionId, turn: u32, messages: Vec<Message>) -> Vec<EventKind> {
    let (mut parts, mut bytes) = (vec![Vec::new()], 0);
    for message in messages {
        // As it goes on record: images take more than they count for.
        let size = serde_json::to_string(&message).map_or(0, |json| json.len());
        if bytes + size > FORK_PART_BYTES_MAX && bytes > 0 {
            parts.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        parts.last_mut().into_iter().for_each(|part| part.push(message.clone()));
    }
    parts.into_iter().map(|messages| EventKind::SessionForked { from, turn, messages }).collect()
}
