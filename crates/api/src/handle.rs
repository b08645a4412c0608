//! The one handle that interfaces hold: it works alike for sessions in this process and in another.

use posse_engine::{Engine, Updates};
use posse_protocol::{Seq, SessionId, Update};

use crate::call::{Call, perform};
use crate::client::Client;
use crate::failure::CallError;
use crate::updates::RemoteUpdates;

/// Where calls are carried out.
#[derive(Clone)]
pub enum Handle {
    /// In this process.
    Here(Engine),
    /// In another process, over its socket.
    Elsewhere(Client),
}

impl Handle {
    /// The handle of a session: of the process that runs it, this one or another. An error of the kind `NotRunning` if no
    /// process does.
    pub async fn of(engine: &Engine, session: SessionId) -> Result<Self, CallError> {
        let found = engine.read(move |engine| {
            engine.find_session(&session.to_string())?;
            let Some(process) = engine.process_of(session) else { return Ok(None) };
            Ok(Some((engine.is_own_process(process), engine.socket_of(process))))
        });
        match found.await? {
            None => Err(CallError::not_running(session)),
            Some((true, _)) => Ok(Self::Here(engine.clone())),
            Some((false, socket)) => Ok(Self::Elsewhere(Client::new(socket))),
        }
    }

    /// Has a call carried out.
    pub async fn call<C: Call>(&self, of: C::Of, call: C) -> Result<C::Answer, CallError> {
        match self {
            Self::Here(engine) => perform(call, of, engine.clone()).await,
            Self::Elsewhere(client) => client.call(of, call).await,
        }
    }

    /// Follows a session from after an event: first what is on record, then what happens.
    pub async fn follow(&self, session: SessionId, after: Seq) -> Result<Following, CallError> {
        match self {
            Self::Here(engine) => Ok(Following::Here(engine.follow(session, after).await?)),
            Self::Elsewhere(client) => Ok(Following::Elsewhere(client.follow(session, after).await?)),
        }
    }
}

/// The updates of a session, wherever it runs.
pub enum Following {
    /// In this process.
    Here(Updates),
    /// In another one.
    Elsewhere(RemoteUpdates),
}

impl Following {
    /// The next update; none once the session is over. An error if its process can no longer be heard: what it has recorded
    /// by then can still be read.
    pub async fn next(&mut self) -> Result<Option<Update>, CallError> {
        match self {
            Self::Here(updates) => Ok(updates.next().await),
            Self::Elsewhere(updates) => updates.next().await,
        }
    }
}
