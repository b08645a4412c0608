//! Errors of others as the protocol tells them: what happened is in the message, where every client shows it.

use agent_client_protocol_schema::v1::{Error, ErrorCode};
use posse_api::CallError;
use posse_engine::EngineError;
use posse_setup::PrepareError;

/// Something could not be done, for this reason.
pub(crate) fn failed(why: impl ToString) -> Error {
    Error::new(ErrorCode::InternalError.into(), why.to_string())
}

/// The client asks for something that makes no sense.
pub(crate) fn invalid_params(why: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidParams.into(), why.into())
}

/// The client asks for something that cannot be done now.
pub(crate) fn invalid_request(why: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidRequest.into(), why.into())
}

/// There is no session of this id.
pub(crate) fn no_session(id: &str) -> Error {
    let shown = posse_protocol::visible::one_line(id, 80);
    let mut error = Error::session_not_found(shown.clone());
    error.message = format!("there is no session {shown:?}");
    error
}

pub(crate) fn of_engine(error: &EngineError) -> Error {
    match error {
        EngineError::NotFound(why) => Error::new(ErrorCode::ResourceNotFound.into(), why.clone()),
        EngineError::Busy(why) | EngineError::Refused(why) | EngineError::NothingToDo(why) => {
            invalid_request(why.clone())
        }
        error => failed(error),
    }
}

pub(crate) fn of_call(error: &CallError) -> Error {
    failed(&error.message)
}

pub(crate) fn of_preparing(error: &PrepareError) -> Error {
    failed(error)
}
