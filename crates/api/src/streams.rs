//! Event streams of a server: one session, or all that a browser looks at. What is sent to many is made once.

use std::collections::HashMap;
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
use posse_protocol::{Seq, SessionId};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::exchange::{Answering, failed, read_query};
use crate::failure::{CallError, CallErrorKind};
use crate::follow_request::FollowSessions;
use crate::frames::{AGAIN, END, EVENT_STREAM, GONE, RUNNING, SESSIONS, STILL_HERE, frame};
use crate::hub::Hub;
use crate::hub::overview::OverviewReader;
use crate::hub::rooms::{RoomFollower, RoomNews, RoomTold};
use crate::limits::{FRAMES_AHEAD_MAX, HEARTBEAT_MS};
use crate::shared::Shared;

/// What is said about one session.
#[derive(Clone, Serialize)]
struct Said {
    session: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl Said {
    fn of(session: SessionId) -> Self {
        Self { session, running: None, after: None, detail: None }
    }

    fn frame(&self, name: &str) -> Bytes {
        let mut bytes = Vec::new();
        frame(&mut bytes, None, name, self);
        bytes.into()
    }
}

/// Answers a request for the stream of a browser.
pub(crate) fn serve(shared: Arc<Shared>, request: Request) -> Answering {
    Box::pin(async move { begin(&shared, request).await.unwrap_or_else(failed) })
}

async fn begin(shared: &Shared, request: Request) -> Result<Response, CallError> {
    let (parts, _) = request.into_parts();
    let wanted = read_query::<FollowSessions>(&parts)?.wanted()?;
    let hub = Arc::clone(shared.hub()?);
    let (frames, response) = streaming();
    tokio::spawn(until(shared.closing.clone(), frames.clone(), all(hub, wanted, frames)));
    Ok(response)
}

/// A response whose body is the frames that are sent.
pub(crate) fn streaming() -> (mpsc::Sender<Bytes>, Response) {
    let (frames, ready) = mpsc::channel(FRAMES_AHEAD_MAX);
    let mut response = Response::new(Body::new(Frames { ready }));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    (frames, response)
}

/// Works until the server closes or the reader is gone.
async fn until(closing: CancellationToken, frames: mpsc::Sender<Bytes>, work: impl Future<Output = ()>) {
    tokio::select! {
        () = closing.cancelled() => {}
        () = frames.closed() => {}
        () = work => {}
    }
}

/// Passes on what happens in all wanted sessions, and over all of them.
async fn all(hub: Arc<Hub>, wanted: HashMap<SessionId, Seq>, frames: mpsc::Sender<Bytes>) {
    let mut work = JoinSet::new();
    work.spawn(overview(hub.overview.listen().await, frames.clone()));
    for (session, after) in wanted {
        work.spawn(one(Arc::clone(&hub), session, after, frames.clone()));
    }
    // The overview is told, with heartbeats, until the reader is gone.
    while work.join_next().await.is_some() {}
}

async fn overview(mut reader: OverviewReader, frames: mpsc::Sender<Bytes>) {
    reader.changes.mark_changed();
    loop {
        let heartbeat = Duration::from_millis(HEARTBEAT_MS);
        let bytes = match tokio::time::timeout(heartbeat, reader.changes.changed()).await {
            Err(_) => Bytes::from_static(STILL_HERE),
            Ok(Err(_)) => return,
            Ok(Ok(())) => {
                let (changed, mut bytes) = (*reader.changes.borrow_and_update(), Vec::new());
                frame(&mut bytes, None, SESSIONS, &changed);
                bytes.into()
            }
        };
        if frames.send(bytes).await.is_err() {
            return;
        }
    }
}

/// Passes on what happens in one session. It stays while nobody runs the session: somebody may take it up again.
async fn one(hub: Arc<Hub>, session: SessionId, after: Seq, frames: mpsc::Sender<Bytes>) {
    let mut follower = match hub.rooms.join(session, after).await {
        Ok(follower) => follower,
        Err(error) => {
            let said = Said { detail: Some(error.message), ..Said::of(session) };
            let name = if error.kind == CallErrorKind::NotFound { GONE } else { AGAIN };
            drop(frames.send(said.frame(name)).await);
            return;
        }
    };
    while let Some(heard) = follower.next().await {
        let (bytes, over) = match heard {
            RoomNews::RoomTold(RoomTold::StreamPiece(piece)) => (piece.bytes, false),
            RoomNews::RoomTold(RoomTold::Running(running)) => {
                (Said { running: Some(running), ..Said::of(session) }.frame(RUNNING), false)
            }
            RoomNews::RoomTold(RoomTold::Gone) => (Said::of(session).frame(GONE), true),
            RoomNews::Again(Seq(after)) => {
                (Said { after: Some(after), ..Said::of(session) }.frame(AGAIN), true)
            }
        };
        if frames.send(bytes).await.is_err() || over {
            return;
        }
    }
}

/// The stream of one session through a server: as of the process that runs it, wherever that is. It ends when nobody runs
/// the session.
pub(crate) fn follow_one(closing: CancellationToken, follower: RoomFollower) -> Response {
    let (frames, response) = streaming();
    tokio::spawn(until(closing, frames.clone(), alone(follower, frames)));
    response
}

async fn alone(mut follower: RoomFollower, frames: mpsc::Sender<Bytes>) {
    let said = Said::of(follower.session());
    loop {
        let heartbeat = Duration::from_millis(HEARTBEAT_MS);
        let (bytes, over) = match tokio::time::timeout(heartbeat, follower.next()).await {
            Err(_) => (Bytes::from_static(STILL_HERE), false),
            Ok(Some(RoomNews::RoomTold(RoomTold::StreamPiece(piece)))) => (piece.bytes, false),
            Ok(Some(RoomNews::RoomTold(RoomTold::Running(true)))) => continue,
            Ok(Some(RoomNews::Again(Seq(after)))) => {
                (Said { after: Some(after), ..said.clone() }.frame(AGAIN), true)
            }
            Ok(Some(RoomNews::RoomTold(RoomTold::Running(false) | RoomTold::Gone)) | None) => {
                (said.frame(END), true)
            }
        };
        if frames.send(bytes).await.is_err() || over {
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
