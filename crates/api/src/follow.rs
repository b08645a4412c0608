//! Following a session over a connection, as server-sent events: the record first, then live. An event has its sequence
//! number as `id`, progress has none, and a comment comes when nothing else does.
//!
//! A follower that reads slowly is served from the record: what is ready for it is bounded, and so is what waits in
//! the engine's channel.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use posse_engine::Updates;
use posse_protocol::{Seq, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::exchange::{Answering, failed, read_query, subject};
use crate::failure::{CallError, CallErrorKind};
use crate::followers::{END, Follower, written};
use crate::limits::{FRAMES_AHEAD_MAX, HEARTBEAT_MS};
use crate::shared::Shared;

/// Where a session is followed.
pub(crate) const PATH: &str = "/api/sessions/{session}/events";
/// The media type of an event stream, and the header with which a reader goes on.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";
const LAST_EVENT_ID: &str = "last-event-id";

/// Follows a session: what is on record after an event, then what happens.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowSession {
    /// The last event that is known already; 0 for none. The header `Last-Event-ID` counts instead if it is sent.
    #[serde(default)]
    pub after: u64,
}

/// Answers a request to follow.
pub(crate) fn serve(shared: Arc<Shared>, request: Request) -> Answering {
    Box::pin(async move { begin(&shared, request).await.unwrap_or_else(failed) })
}

async fn begin(shared: &Shared, request: Request) -> Result<Response, CallError> {
    let (mut parts, _) = request.into_parts();
    let session: SessionId = subject(&mut parts).await?;
    let asked: FollowSession = read_query(&parts)?;
    let after = match parts.headers.get(LAST_EVENT_ID) {
        None => asked.after,
        Some(last) => last.to_str().ok().and_then(|last| last.trim().parse().ok()).ok_or_else(|| {
            CallError::new(CallErrorKind::BadRequest, "Last-Event-ID is not the number of an event.")
        })?,
    };
    let follower = shared.followers.join(session)?;
    let updates = shared.engine.follow(session, Seq(after)).await?;
    let (frames, ready) = mpsc::channel(FRAMES_AHEAD_MAX);
    tokio::spawn(pump(updates, follower, frames, shared.closing.clone()));
    let mut response = Response::new(Body::new(Frames { ready }));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Moves updates to one follower, until either side ends.
async fn pump(
    mut updates: Updates,
    follower: Follower,
    frames: mpsc::Sender<Bytes>,
    closing: CancellationToken,
) {
    let heartbeat = Duration::from_millis(HEARTBEAT_MS);
    loop {
        let next = tokio::select! {
            biased;
            () = closing.cancelled() => return,
            () = frames.closed() => return,
            next = tokio::time::timeout(heartbeat, updates.next()) => next,
        };
        let (frame, over) = match next {
            Err(_) => (Some(Bytes::from_static(b": still here\n\n")), false),
            Ok(None) => (written(None, END, &()), true),
            Ok(Some(update)) => (follower.frame(&update), false),
        };
        if let Some(frame) = frame
            && tokio::select! {
                () = closing.cancelled() => true,
                sent = frames.send(frame) => sent.is_err(),
            }
        {
            return;
        }
        if over {
            return;
        }
    }
}

/// The body of an event stream.
struct Frames {
    ready: mpsc::Receiver<Bytes>,
}

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        self.ready.poll_recv(context).map(|frame| frame.map(|frame| Ok(http_body::Frame::data(frame))))
    }
}
