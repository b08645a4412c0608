//! Why a call failed: one type for calls in this process and in another. On the wire it is a problem document (RFC 9457)
//! with an HTTP status that fits.

use axum::http::StatusCode;
use posse_engine::EngineError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a call failed. The message is for a person, the kind for programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[error("{message}")]
pub struct CallError {
    /// Which of them.
    pub kind: CallErrorKind,
    /// What happened, and what can be done about it.
    pub message: String,
}

/// The kinds of error. Their names stay as they are; kinds may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallErrorKind {
    /// There is no such session, agent or other thing.
    NotFound,
    /// No process runs the session.
    NotRunning,
    /// The session is at work, so this cannot be done now.
    Busy,
    /// There is nothing to undo, to merge or to continue.
    NothingToDo,
    /// It cannot be done as it was asked.
    Refused,
    /// The request is not understood: its form, a field or a value.
    BadRequest,
    /// There is no such route.
    NoSuchRoute,
    /// The route is there, with another method.
    WrongMethod,
    /// The request, or a text in it, is too large.
    TooLarge,
    /// Too many connections, calls or followers at once.
    TooMany,
    /// The request did not arrive, or the answer did not come, in time.
    TooSlow,
    /// The process that runs the session cannot be reached.
    Unreachable,
    /// The request has no token, or a wrong one.
    Unauthorized,
    /// The request comes from a page, or for a host, that this server does not serve.
    Forbidden,
    /// The server shows and steers nothing.
    ReadOnly,
    /// A fault on the side of Posse or its machine.
    Internal,
    /// A kind that a newer Posse has.
    #[serde(other)]
    Unknown,
}

use CallErrorKind as Kind;

impl CallErrorKind {
    /// All that have a place on the wire.
    pub const ALL: [Self; 16] = [
        Kind::NotFound,
        Kind::NotRunning,
        Kind::Busy,
        Kind::NothingToDo,
        Kind::Refused,
        Kind::BadRequest,
        Kind::NoSuchRoute,
        Kind::WrongMethod,
        Kind::TooLarge,
        Kind::TooMany,
        Kind::TooSlow,
        Kind::Unreachable,
        Kind::Unauthorized,
        Kind::Forbidden,
        Kind::ReadOnly,
        Kind::Internal,
    ];

    /// Its HTTP status.
    pub fn status(self) -> StatusCode {
        match self {
            Kind::NotFound | Kind::NoSuchRoute => StatusCode::NOT_FOUND,
            Kind::NotRunning | Kind::Busy | Kind::NothingToDo => StatusCode::CONFLICT,
            Kind::Refused => StatusCode::UNPROCESSABLE_ENTITY,
            Kind::BadRequest => StatusCode::BAD_REQUEST,
            Kind::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Kind::TooMany => StatusCode::SERVICE_UNAVAILABLE,
            Kind::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Kind::Unreachable => StatusCode::BAD_GATEWAY,
            Kind::Unauthorized => StatusCode::UNAUTHORIZED,
            Kind::Forbidden | Kind::ReadOnly => StatusCode::FORBIDDEN,
            Kind::Internal | Kind::Unknown => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// What it is, in a few words.
    fn title(self) -> &'static str {
        match self {
            Kind::NotFound => "Not found",
            Kind::NotRunning => "No process runs the session",
            Kind::Busy => "The session is at work",
            Kind::NothingToDo => "There is nothing to do",
            Kind::Refused => "Refused",
            Kind::BadRequest => "The request is not understood",
            Kind::NoSuchRoute => "No such route",
            Kind::WrongMethod => "The route has another method",
            Kind::TooLarge => "Too large",
            Kind::TooMany => "Too many at once",
            Kind::TooSlow => "Too slow",
            Kind::Unreachable => "The session's process cannot be reached",
            Kind::Unauthorized => "A token is needed",
            Kind::Forbidden => "Not from here",
            Kind::ReadOnly => "This server only shows",
            Kind::Internal | Kind::Unknown => "A fault of Posse or its machine",
        }
    }

    /// What an answer without a body means: the HTTP library refuses some requests before we see them.
    pub(crate) fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::BAD_REQUEST => Kind::BadRequest,
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE | StatusCode::URI_TOO_LONG => Kind::TooLarge,
            StatusCode::REQUEST_TIMEOUT => Kind::TooSlow,
            _ => Kind::Internal,
        }
    }
}

impl CallError {
    /// An error of a kind, in words.
    pub fn new(kind: CallErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn not_running(session: posse_protocol::SessionId) -> Self {
        let message =
            format!("No process runs the session {session}. `posse resume {session}` continues it.");
        Self::new(Kind::NotRunning, message)
    }

    pub(crate) fn internal(why: impl std::fmt::Display) -> Self {
        Self::new(Kind::Internal, format!("A fault in Posse ended this call before it was done: {why}."))
    }

    pub(crate) fn refused(why: impl std::fmt::Display) -> Self {
        Self::new(Kind::Refused, why.to_string())
    }

    pub(crate) fn unreachable(why: impl std::fmt::Display) -> Self {
        Self::new(Kind::Unreachable, format!("The process that runs the session cannot be reached: {why}."))
    }
}

impl From<EngineError> for CallError {
    fn from(error: EngineError) -> Self {
        let kind = match &error {
            EngineError::NotRunning(session) => return Self::not_running(*session),
            EngineError::NotFound(_) => Kind::NotFound,
            EngineError::Busy(_) => Kind::Busy,
            EngineError::NothingToDo(_) => Kind::NothingToDo,
            EngineError::Refused(_) | EngineError::Workspace(_) => Kind::Refused,
            EngineError::Record(_) | EngineError::DataDir(_) | EngineError::Cassette(_) => Kind::Internal,
        };
        Self::new(kind, error.to_string())
    }
}

/// An error as it is on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemDocument {
    /// Always `about:blank`: `kind` says more than the status.
    #[serde(rename = "type")]
    pub about: String,
    /// What it is, in a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened, and what can be done about it.
    pub detail: String,
    /// Which of the kinds of error.
    pub kind: CallErrorKind,
}

impl From<CallError> for ProblemDocument {
    fn from(error: CallError) -> Self {
        let CallError { kind, message } = error;
        Self {
            about: "about:blank".to_owned(),
            title: kind.title().to_owned(),
            status: kind.status().as_u16(),
            detail: message,
            kind,
        }
    }
}

impl From<ProblemDocument> for CallError {
    fn from(problem: ProblemDocument) -> Self {
        Self::new(problem.kind, problem.detail)
    }
}
