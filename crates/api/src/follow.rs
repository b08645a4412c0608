//! Following a session over a connection, as server-sent events: the record first, then live. An event has its sequence
//! number as `id`, progress has none, and a comment comes when nothing else does.
//!
//! A follower that reads slowly is served from the record: what is ready for it is bounded, and so is what waits in
//! the engine's channel.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use posse_engine::Updates;
use posse_protocol::{Seq, SessionId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::exchange::{Answering, failed, read_query, subject};
use crate::failure::{CallError, CallErrorKind};
use crate::follow_request::FollowSession;
use crate::followers::{Follower, written};
use crate::frames::{END, STILL_HERE};
use crate::limits::HEARTBEAT_MS;
use crate::shared::Shared;
use crate::streams::{follow_one, streaming};

/// The header with which a reader goes on.
const LAST_EVENT_ID: &str = "last-event-id";

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
    if let Some(hub) = &shared.hub {
        return Ok(follow_one(shared.closing.clone(), hub.rooms.join(session, Seq(after)).await?));
    }
    let follower = shared.followers.join(session)?;
    let updates = shared.engine.follow(session, Seq(after)).await?;
    let (frames, response) = streaming();
    tokio::spawn(pump(updates, follower, frames, shared.closing.clone()));
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
            Err(_) => (Bytes::from_static(STILL_HERE), false),
            Ok(None) => (written(None, END, &()), true),
            Ok(Some(update)) => (follower.frame(&update), false),
        };
        let gone = tokio::select! {
            () = closing.cancelled() => true,
            sent = frames.send(frame) => sent.is_err(),
        };
        if gone || over {
            return;
        }
    }
}
