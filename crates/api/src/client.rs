//! Calls of a session that another process runs: HTTP over its socket, one connection for each call. What comes back is
//! data of a stranger: bounded in size and time, and understood or refused.

use std::path::PathBuf;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, header};
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use posse_protocol::{Seq, SessionId};
use tokio::net::UnixStream;

use crate::call::{Call, Subject as _, Verb};
use crate::failure::{CallError, CallErrorKind, ProblemDocument};
use crate::follow_request::FollowSession;
use crate::frames::EVENT_STREAM;
use crate::limits::{ANSWER_BYTES_MAX, CONNECT_MS_MAX, CONNECT_PAUSE_MS, CONNECT_TRIES_MAX};
use crate::socket;
use crate::updates::RemoteUpdates;

/// Another process, by its socket.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
}

impl Client {
    /// For the process that listens at a socket.
    pub fn new(socket: PathBuf) -> Self {
        Self { socket }
    }

    /// Has a call carried out there.
    pub async fn call<C: Call>(&self, of: C::Of, call: C) -> Result<C::Answer, CallError> {
        call.check()?;
        let request = request(of, &call)?;
        drop(call);
        let late = |_| CallError::new(CallErrorKind::TooSlow, "The other process did not answer in time.");
        let answering = tokio::time::timeout(Duration::from_millis(C::ANSWER_MS_MAX), async {
            let response = self.send(request).await?;
            let (status, bytes) = (response.status(), whole(response.into_body()).await?);
            if status.is_success() { Ok(bytes) } else { Err(refusal(status, &bytes)) }
        });
        let bytes = answering.await.map_err(late)??;
        serde_json::from_slice(&bytes).map_err(|error| not_understood(&error))
    }

    /// Follows a session that runs there.
    pub async fn follow(&self, session: SessionId, after: Seq) -> Result<RemoteUpdates, CallError> {
        let query = serde_urlencoded::to_string(FollowSession { after: after.0 }).map_err(unwritable)?;
        let request = Request::builder()
            .uri(format!("{}?{query}", session.into_path(FollowSession::PATH)))
            .header(header::HOST, "posse")
            .header(header::ACCEPT, EVENT_STREAM)
            .body(Body::empty())
            .map_err(unwritable)?;
        let response = self.send(request).await?;
        let status = response.status();
        if !status.is_success() {
            return Err(refusal(status, &whole(response.into_body()).await?));
        }
        Ok(RemoteUpdates::new(response.into_body()))
    }

    async fn send(&self, request: Request<Body>) -> Result<axum::http::Response<Incoming>, CallError> {
        let connecting = tokio::time::timeout(Duration::from_millis(CONNECT_MS_MAX), self.connect());
        let stream = connecting.await.map_err(|_| CallError::unreachable("it does not accept"))??;
        let io = TokioIo::new(stream);
        let (mut sender, connection) = http1::handshake(io).await.map_err(CallError::unreachable)?;
        // Ends with the response, or with whoever waits for it.
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(CallError::unreachable)
    }

    /// A process that has just taken a session may not listen yet.
    async fn connect(&self) -> Result<UnixStream, CallError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match socket::connect(&self.socket).await {
                Ok(stream) => return Ok(stream),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && tries < CONNECT_TRIES_MAX => {
                    tokio::time::sleep(Duration::from_millis(CONNECT_PAUSE_MS)).await;
                }
                Err(error) => return Err(CallError::unreachable(error)),
            }
        }
    }
}

fn request<C: Call>(of: C::Of, call: &C) -> Result<Request<Body>, CallError> {
    let path = of.into_path(C::PATH);
    let request = Request::builder().header(header::HOST, "posse").header(header::CONNECTION, "close");
    let request = match C::VERB {
        Verb::Get => {
            let query = serde_urlencoded::to_string(call).map_err(unwritable)?;
            request.method(Method::GET).uri(format!("{path}?{query}")).body(Body::empty())
        }
        Verb::Post => {
            let body = serde_json::to_vec(call).map_err(unwritable)?;
            if body.len() > C::BODY_BYTES_MAX {
                let message = format!("The request has more than {} bytes.", C::BODY_BYTES_MAX);
                return Err(CallError::new(CallErrorKind::TooLarge, message));
            }
            let json = request.header(header::CONTENT_TYPE, "application/json");
            json.method(Method::POST).uri(path).body(Body::from(body))
        }
    };
    request.map_err(unwritable)
}

fn unwritable(error: impl std::fmt::Display) -> CallError {
    CallError::new(CallErrorKind::BadRequest, format!("The request cannot be written: {error}."))
}

fn not_understood(error: &serde_json::Error) -> CallError {
    let message = format!("The answer of the other process is not understood: {error}.");
    CallError::new(CallErrorKind::Internal, message)
}

/// The error that another process has told.
fn refusal(status: axum::http::StatusCode, bytes: &[u8]) -> CallError {
    match serde_json::from_slice::<ProblemDocument>(bytes) {
        Ok(problem) => problem.into(),
        Err(_) => CallError::new(
            CallErrorKind::of_status(status),
            format!("The other process has refused the request ({status})."),
        ),
    }
}

/// The whole body of an answer, if it is not too large.
async fn whole(mut body: Incoming) -> Result<Bytes, CallError> {
    let mut all = BytesMut::new();
    while let Some(frame) =
        std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await
    {
        let frame = frame.map_err(CallError::unreachable)?;
        let Ok(data) = frame.into_data() else { continue };
        if all.len() + data.len() > ANSWER_BYTES_MAX {
            let message = format!("The answer of the other process has more than {ANSWER_BYTES_MAX} bytes.");
            return Err(CallError::new(CallErrorKind::TooLarge, message));
        }
        all.extend_from_slice(&data);
    }
    Ok(all.freeze())
}
