//! One session as a client has it open: what it is set to, and whether it runs.
//!
//! ```text
//!   session/new ──▶ New ─────────┐ first prompt        end, close
//!                                ├──────────────▶ Live ──────────▶ Recorded ──▶ (next prompt) Live …
//!   session/load ─▶ Recorded ────┘
//! ```

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{Error, RequestId};
use posse_api::Handle;
use posse_mcp::ServerEntry;
use posse_protocol::{SessionId, TraceParent};
use tokio_util::sync::CancellationToken;

use crate::errors::invalid_request;
use crate::options::SessionSettings;
use crate::translate::Translator;
use crate::turns::Turns;

/// A session that a client has open.
pub(crate) struct AcpSession {
    /// Its id on record, also before anything of it is there.
    pub(crate) id: SessionId,
    /// The same, as the client calls it.
    pub(crate) wire: Arc<str>,
    /// Where it works, links resolved.
    pub(crate) folder: PathBuf,
    /// The servers that the client passed with it.
    pub(crate) servers: Vec<ServerEntry>,
    pub(crate) turns: Turns,
    state: Mutex<SessionState>,
}

struct SessionState {
    settings: SessionSettings,
    life: Life,
    /// Cancelled when the client wants the prompt stopped that is at work; none if none is.
    prompting: Option<CancellationToken>,
    /// The request that the prompt at work answers.
    answering: Option<RequestId>,
    /// Sub-agents by the ids of their sessions: what they are stopped by.
    children: HashMap<String, String>,
    /// The span that the client's last request belongs to.
    traceparent: Option<TraceParent>,
}

enum Life {
    /// Nothing of it is on record.
    New,
    /// It is on record, and does not run as far as this process knows.
    Recorded(Box<Translator>),
    /// It is about to run.
    Beginning,
    /// It runs.
    Live(LiveSession),
}

/// A session that runs, here or in another process.
#[derive(Clone)]
pub(crate) struct LiveSession {
    /// The way to it.
    pub(crate) handle: Handle,
    /// Cancelled to let go of it.
    pub(crate) leave: CancellationToken,
    /// Cancelled when nobody follows it any more.
    pub(crate) over: CancellationToken,
}

/// The prompt that is at work. Dropping it makes room for the next.
pub(crate) struct PromptAtWork {
    session: Arc<AcpSession>,
    pub(crate) stop: CancellationToken,
}

impl Drop for PromptAtWork {
    fn drop(&mut self) {
        let mut state = self.session.lock();
        (state.prompting, state.answering) = (None, None);
    }
}

impl AcpSession {
    pub(crate) fn new(
        id: SessionId,
        folder: PathBuf,
        servers: Vec<ServerEntry>,
        settings: SessionSettings,
        recorded: Option<Translator>,
    ) -> Self {
        let life = recorded.map_or(Life::New, |recorded| Life::Recorded(Box::new(recorded)));
        let (prompting, answering, children, traceparent) = (None, None, HashMap::new(), None);
        let state = SessionState { settings, life, prompting, answering, children, traceparent };
        let (wire, turns) = (id.to_string().into(), Turns::default());
        Self { id, wire, folder, servers, turns, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the place of the prompt at work. One prompt at a time.
    pub(crate) fn begin_prompt(self: &Arc<Self>) -> Result<PromptAtWork, Error> {
        let mut state = self.lock();
        if state.prompting.is_some() {
            return Err(invalid_request(
                "a prompt is at work in this session; wait for its end, or cancel it with session/cancel",
            ));
        }
        let stop = CancellationToken::new();
        state.prompting = Some(stop.clone());
        Ok(PromptAtWork { session: Arc::clone(self), stop })
    }

    /// Notes which request the prompt at work answers.
    pub(crate) fn answers(&self, request: &RequestId) {
        self.lock().answering = Some(request.clone());
    }

    /// Whether the prompt at work answers this request.
    pub(crate) fn is_answering(&self, request: &RequestId) -> bool {
        self.lock().answering.as_ref() == Some(request)
    }

    /// Wants the prompt at work stopped. The prompt itself does it.
    pub(crate) fn cancel_prompt(&self) {
        if let Some(prompting) = &self.lock().prompting {
            prompting.cancel();
        }
    }

    /// Whether a prompt is at work.
    pub(crate) fn is_prompting(&self) -> bool {
        self.lock().prompting.is_some()
    }

    /// Whether the prompt at work is being stopped.
    pub(crate) fn is_stopping(&self) -> bool {
        self.lock().prompting.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    pub(crate) fn settings(&self) -> SessionSettings {
        self.lock().settings.clone()
    }

    /// Changes what it is set to. Gives back what it is set to then, and whether that is something else.
    pub(crate) fn set(&self, change: impl FnOnce(&mut SessionSettings)) -> (SessionSettings, bool) {
        let settings = &mut self.lock().settings;
        let before = settings.clone();
        change(settings);
        (settings.clone(), *settings != before)
    }

    /// Notes the span that a request belongs to.
    pub(crate) fn trace(&self, traceparent: Option<TraceParent>) {
        let mut state = self.lock();
        state.traceparent = traceparent.or(state.traceparent);
    }

    /// The span that the session belongs to when it begins.
    pub(crate) fn traceparent(&self) -> Option<TraceParent> {
        self.lock().traceparent
    }

    pub(crate) fn add_child(&self, session: String, name: String) {
        self.lock().children.insert(session, name);
    }

    pub(crate) fn child(&self, session: &str) -> Option<String> {
        self.lock().children.get(session).cloned()
    }

    pub(crate) fn live(&self) -> Option<LiveSession> {
        match &self.lock().life {
            Life::Live(live) => Some(live.clone()),
            _ => None,
        }
    }

    /// Whether anything of it is on record.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.lock().life, Life::New)
    }

    /// What the client was told of a session that does not run, to go on from there. None if it runs.
    pub(crate) fn take_idle(&self) -> Option<Option<Box<Translator>>> {
        let life = &mut self.lock().life;
        match std::mem::replace(life, Life::Beginning) {
            Life::New => Some(None),
            Life::Recorded(translator) => Some(Some(translator)),
            runs => {
                *life = runs;
                None
            }
        }
    }

    /// It did not begin after all, or does not run any more.
    pub(crate) fn set_idle(&self, translator: Option<Box<Translator>>) {
        self.lock().life = translator.map_or(Life::New, Life::Recorded);
    }

    pub(crate) fn set_live(&self, live: LiveSession) {
        self.lock().life = Life::Live(live);
    }
}
