//! Finds the method of a request. What takes a while is done beside, so that the client can cancel it meanwhile.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES as METHODS, AuthenticateResponse, CancelNotification, CancelRequestNotification,
    Error, PROTOCOL_LEVEL_METHOD_NAMES, PromptRequest, RequestId,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use crate::errors::{invalid_params, invalid_request};
use crate::host::AcpHost;
use crate::methods;

/// Answers a request, now or later. `place` is given back with the answer.
pub(crate) async fn request(
    host: &Arc<AcpHost>,
    id: RequestId,
    method: &str,
    params: Value,
    place: OwnedSemaphorePermit,
) {
    let host = Arc::clone(host);
    if method != METHODS.initialize && !host.client.is_known() {
        return host.client.answer(id, Err(invalid_request("call initialize first")));
    }
    if method == METHODS.session_prompt {
        // Taken in order: a cancellation that comes next finds it.
        let begun = read::<PromptRequest>(params).and_then(|request| {
            let session = host.session(&request.session_id.0)?;
            let at_work = session.begin_prompt()?;
            Ok((session, at_work, request))
        });
        match begun {
            Ok((session, at_work, request)) => {
                session.answers(&id);
                tokio::spawn(async move {
                    let answer = methods::prompt(&host, &session, at_work, request).await;
                    host.client.answer(id, answer.and_then(json));
                    drop(place);
                });
            }
            Err(error) => host.client.answer(id, Err(error)),
        }
    } else if slow(method) {
        let method = method.to_owned();
        tokio::spawn(async move {
            let answer = slowly(&host, &method, params).await;
            host.client.answer(id, answer);
            drop(place);
        });
    } else {
        let opened = (method == METHODS.session_new).then_some(());
        let answer = quickly(&host, method, params).await;
        let session = opened.and(answer.as_ref().ok()).and_then(|answer| answer.get("sessionId"));
        let session = session.and_then(Value::as_str).map(str::to_owned);
        host.client.answer(id, answer);
        if let Some(session) = session {
            methods::tell_commands(&host, &session).await;
        }
    }
}

/// Methods that read the record or wait for a session.
fn slow(method: &str) -> bool {
    let slow = [
        METHODS.session_load,
        METHODS.session_resume,
        METHODS.session_list,
        METHODS.session_close,
        METHODS.session_delete,
    ];
    slow.contains(&method)
}

async fn slowly(host: &Arc<AcpHost>, method: &str, params: Value) -> Result<Value, Error> {
    if method == METHODS.session_load {
        let request: agent_client_protocol_schema::v1::LoadSessionRequest = read(params)?;
        let id = Arc::clone(&request.session_id.0);
        let answer = methods::load(host, request).await?;
        methods::tell_commands(host, &id).await;
        json(answer)
    } else if method == METHODS.session_resume {
        let request: agent_client_protocol_schema::v1::ResumeSessionRequest = read(params)?;
        let id = Arc::clone(&request.session_id.0);
        let answer = methods::resume(host, request).await?;
        methods::tell_commands(host, &id).await;
        json(answer)
    } else if method == METHODS.session_list {
        json(methods::list(host, read(params)?).await?)
    } else if method == METHODS.session_close {
        json(methods::close(host, read(params)?).await?)
    } else {
        json(methods::delete(host, read(params)?).await?)
    }
}

async fn quickly(host: &Arc<AcpHost>, method: &str, params: Value) -> Result<Value, Error> {
    if method == METHODS.initialize {
        json(methods::initialize(host, &read(with_our_version(params)?)?)?)
    } else if method == METHODS.authenticate {
        read::<agent_client_protocol_schema::v1::AuthenticateRequest>(params)?;
        // There is nothing to log in to.
        json(AuthenticateResponse::new())
    } else if method == METHODS.session_new {
        json(methods::new_session(host, read(params)?)?)
    } else if method == METHODS.session_set_mode {
        json(methods::set_mode(host, read(params)?).await?)
    } else if method == METHODS.session_set_config_option {
        json(methods::set_option(host, read(params)?).await?)
    } else {
        let name = posse_protocol::visible::one_line(method, 80);
        let mut error = Error::method_not_found();
        error.message = format!("there is no method {name:?}");
        Err(error)
    }
}

/// Any number is a version, and so is any text, as other clients write it: the answer names ours.
fn with_our_version(mut params: Value) -> Result<Value, Error> {
    let is_version = |version: &&mut Value| version.is_u64() || version.is_string();
    let version = params.get_mut("protocolVersion").filter(is_version);
    let version = version.ok_or_else(|| invalid_params("protocolVersion has to be a whole number"))?;
    *version = Value::from(1);
    Ok(params)
}

/// Takes note of something. What is not known is no harm.
pub(crate) fn notification(host: &AcpHost, method: &str, params: Value) {
    if method == METHODS.session_cancel {
        if let Ok(cancel) = read::<CancelNotification>(params) {
            methods::cancel(host, &cancel.session_id.0);
        }
    } else if method == PROTOCOL_LEVEL_METHOD_NAMES.cancel_request
        && let Ok(cancel) = read::<CancelRequestNotification>(params)
    {
        // Only prompts take so long that it matters.
        let meant = host.all().into_iter().find(|session| session.is_answering(&cancel.request_id));
        meant.iter().for_each(|session| session.cancel_prompt());
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|error| invalid_params(error.to_string()))
}

fn json(answer: impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(crate::errors::failed)
}
