//! The client at the other end: what it can do, what it is told, and what it is asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use agent_client_protocol_schema::v1::{
    CancelRequestNotification, ClientCapabilities, Error, JsonRpcMessage, Notification,
    PROTOCOL_LEVEL_METHOD_NAMES, Request, RequestId, Response, SessionUpdate,
};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::outbox::Outbox;

/// What a client says that it can do, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientSkills {
    /// It shows sub-agents as sessions of their own.
    pub(crate) subagents: bool,
    /// It asks the person with forms.
    pub(crate) forms: bool,
    /// It reads files, also as they are in an editor and not saved.
    pub(crate) reads_files: bool,
    /// It shows notices.
    pub(crate) notices: bool,
}

impl ClientSkills {
    pub(crate) fn of(said: &ClientCapabilities) -> Self {
        Self {
            subagents: said.subagents.is_some(),
            forms: said.elicitation.as_ref().is_some_and(|said| said.form.is_some()),
            reads_files: said.fs.read_text_file,
            notices: said.session.as_ref().is_some_and(|said| said.notices.is_some()),
        }
    }
}

/// The client. It is told things through the outbox, which it may read slowly.
#[derive(Default)]
pub(crate) struct AcpClient {
    pub(crate) outbox: Outbox,
    skills: OnceLock<ClientSkills>,
    asked: Mutex<Asked>,
}

/// Requests of ours that have no answer yet.
#[derive(Default)]
struct Asked {
    last_id: i64,
    open: HashMap<i64, oneshot::Sender<Result<Value, Error>>>,
}

impl AcpClient {
    /// Takes down what it can do. Only the first word counts.
    pub(crate) fn introduce(&self, skills: ClientSkills) -> bool {
        self.skills.set(skills).is_ok()
    }

    pub(crate) fn is_known(&self) -> bool {
        self.skills.get().is_some()
    }

    pub(crate) fn skills(&self) -> ClientSkills {
        self.skills.get().copied().unwrap_or_default()
    }

    /// Answers a request.
    pub(crate) fn answer(&self, id: RequestId, outcome: Result<Value, Error>) {
        self.outbox.send(&JsonRpcMessage::wrap(Response::new(id, outcome)));
    }

    /// Tells something about a session.
    pub(crate) async fn update(&self, session: &Arc<str>, update: SessionUpdate) {
        self.outbox.update(session, update).await;
    }

    /// Asks for something.
    pub(crate) fn ask(self: &Arc<Self>, method: &str, params: impl Serialize) -> OpenRequest {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut asked = self.asked();
            asked.last_id += 1;
            let id = asked.last_id;
            asked.open.insert(id, sender);
            id
        };
        self.outbox.send(&JsonRpcMessage::wrap(Request {
            id: RequestId::Number(id),
            method: method.into(),
            params: Some(params),
        }));
        OpenRequest { id, client: Arc::clone(self), answer }
    }

    /// Takes the answer to a request. One that nobody waits for is no harm.
    pub(crate) fn take_answer(&self, id: &RequestId, outcome: Result<Value, Error>) {
        let RequestId::Number(id) = id else { return };
        let waiting = self.asked().open.remove(id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(outcome);
        }
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits for its answer. Dropping it takes it back.
pub(crate) struct OpenRequest {
    id: i64,
    client: Arc<AcpClient>,
    answer: oneshot::Receiver<Result<Value, Error>>,
}

impl OpenRequest {
    /// Waits for the answer, for as long as it takes. An error if the client cannot answer, or says so.
    pub(crate) async fn answer(mut self) -> Result<Value, Error> {
        (&mut self.answer).await.unwrap_or_else(|_| Err(Error::request_cancelled()))
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let id = self.id;
        if self.client.asked().open.remove(&id).is_some() {
            self.client.outbox.send(&JsonRpcMessage::wrap(Notification {
                method: PROTOCOL_LEVEL_METHOD_NAMES.cancel_request.into(),
                params: Some(CancelRequestNotification::new(RequestId::Number(id))),
            }));
        }
    }
}
