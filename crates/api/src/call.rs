//! What one command or query is: a typed request, what it is about, how it is carried out, and where it is on the wire.
//! The server's route, the client's request and the call in this process all follow from it, so they cannot differ.

use std::future::Future;

use axum::http::Method;
use posse_engine::Engine;
use posse_protocol::SessionId;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::{CallError, CallErrorKind};
use crate::limits::{ANSWER_MS_MAX, REQUEST_BYTES_MAX};

/// A command or a query. Its fields are the query string of a GET, or the JSON body of a POST. `On` is what carries it out:
/// an engine, or the hub that `posse serve` offers.
pub trait Call<On = Engine>: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    /// What it is about: a session, or `()` for the record as a whole.
    type Of: Subject;
    /// What it gives back.
    type Answer: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    /// Its name in the table.
    const NAME: &'static str;
    /// `Get` if it changes nothing.
    const VERB: Verb;
    /// Where it is; `{session}` stands for the session that it is about.
    const PATH: &'static str;
    /// Whether it changes something, so that a server that only shows refuses it.
    const STEERS: bool = matches!(Self::VERB, Verb::Post);
    /// Whether only the process that runs the session can do it.
    const IN_ITS_PROCESS: bool = false;
    /// The largest body.
    const BODY_BYTES_MAX: usize = REQUEST_BYTES_MAX;
    /// How long it may take.
    const ANSWER_MS_MAX: u64 = ANSWER_MS_MAX;

    /// Whether its values are within limits.
    fn check(&self) -> Result<(), CallError> {
        Ok(())
    }

    /// Carries it out.
    fn run(self, of: Self::Of, on: On) -> impl Future<Output = Result<Self::Answer, CallError>> + Send;
}

/// Whether a call changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// It does not.
    Get,
    /// It does.
    Post,
}

impl Verb {
    /// The method of HTTP.
    pub fn method(self) -> Method {
        match self {
            Self::Get => Method::GET,
            Self::Post => Method::POST,
        }
    }
}

/// What calls are about.
pub trait Subject: Copy + Send + 'static {
    /// Reads it from its place in a path.
    fn from_path(text: Option<&str>) -> Result<Self, CallError>;
    /// Puts it into its place in a path.
    fn into_path(self, path: &str) -> String;
    /// The session, if it is one.
    fn session(self) -> Option<SessionId>;
}

/// The record as a whole.
impl Subject for () {
    fn from_path(_: Option<&str>) -> Result<Self, CallError> {
        Ok(())
    }

    fn into_path(self, path: &str) -> String {
        path.to_owned()
    }

    fn session(self) -> Option<SessionId> {
        None
    }
}

impl Subject for SessionId {
    fn from_path(text: Option<&str>) -> Result<Self, CallError> {
        let bad = || CallError::new(CallErrorKind::BadRequest, "The path holds no session id.");
        text.and_then(|text| text.parse().ok()).ok_or_else(bad)
    }

    fn into_path(self, path: &str) -> String {
        path.replace("{session}", &self.to_string())
    }

    fn session(self) -> Option<SessionId> {
        Some(self)
    }
}

/// Carries a call out in this process.
pub(crate) async fn perform<On, C: Call<On>>(call: C, of: C::Of, on: On) -> Result<C::Answer, CallError> {
    call.check()?;
    call.run(of, on).await
}

/// Refuses a text that is too long.
pub(crate) fn at_most(bytes_max: usize, what: &str, text: &str) -> Result<(), CallError> {
    if text.len() <= bytes_max {
        return Ok(());
    }
    let message = format!("{what} has {} bytes; at most {bytes_max} are accepted.", text.len());
    Err(CallError::new(CallErrorKind::TooLarge, message))
}
