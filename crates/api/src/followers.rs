//! Who follows which session over a connection, and what they are sent. An event that many followers get at the same
//! time is written as JSON once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use posse_protocol::{Seq, SessionId, Update};
use serde::Serialize;

use crate::failure::{CallError, CallErrorKind};
use crate::limits::{FOLLOWERS_MAX, FRAME_KEPT_BYTES_MAX, FRAMES_KEPT_MAX};

/// The names of frames.
pub(crate) const EVENT: &str = "event";
pub(crate) const PROGRESS: &str = "progress";
pub(crate) const END: &str = "end";

/// Who follows which session, and frames that were made for one of them.
#[derive(Default)]
pub(crate) struct Followers {
    sessions: Mutex<HashMap<SessionId, Audience>>,
}

#[derive(Default)]
struct Audience {
    readers: usize,
    frames: VecDeque<(Seq, Bytes)>,
}

impl Followers {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Audience>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more follower of a session, if there may be one more.
    pub(crate) fn join(self: &Arc<Self>, session: SessionId) -> Result<Follower, CallError> {
        let mut sessions = self.lock();
        let audience = sessions.entry(session).or_default();
        if audience.readers >= FOLLOWERS_MAX {
            let message = format!("{FOLLOWERS_MAX} others follow this session already.");
            return Err(CallError::new(CallErrorKind::TooMany, message));
        }
        audience.readers += 1;
        Ok(Follower { followers: Arc::clone(self), session })
    }
}

/// One follower; it leaves when it is dropped.
pub(crate) struct Follower {
    followers: Arc<Followers>,
    session: SessionId,
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut sessions = self.followers.lock();
        if let Some(audience) = sessions.get_mut(&self.session) {
            audience.readers -= 1;
            if audience.readers == 0 {
                sessions.remove(&self.session);
            }
        }
    }
}

impl Follower {
    /// An update as a frame. What another follower got a moment ago is not made again.
    pub(crate) fn frame(&self, update: &Update) -> Option<Bytes> {
        let event = match update {
            Update::Event(event) => event,
            Update::Progress(progress) => return written(None, PROGRESS, progress),
        };
        if let Some(audience) = self.followers.lock().get(&self.session) {
            let known = audience.frames.iter().rev().find(|(seq, _)| *seq == event.seq);
            if let Some((_, frame)) = known {
                return Some(frame.clone());
            }
        }
        // Contents of attachments are megabytes, and nobody shows them.
        let frame = written(Some(event.seq), EVENT, &*event.without_data())?;
        if frame.len() <= FRAME_KEPT_BYTES_MAX
            && let Some(audience) = self.followers.lock().get_mut(&self.session)
        {
            if audience.frames.len() >= FRAMES_KEPT_MAX {
                audience.frames.pop_front();
            }
            audience.frames.push_back((event.seq, frame.clone()));
        }
        Some(frame)
    }
}

/// One frame. JSON has no line breaks outside of strings, and none inside.
pub(crate) fn written(id: Option<Seq>, name: &str, data: &impl Serialize) -> Option<Bytes> {
    let mut frame = Vec::with_capacity(256);
    if let Some(Seq(seq)) = id {
        frame.extend_from_slice(format!("id: {seq}\n").as_bytes());
    }
    frame.extend_from_slice(format!("event: {name}\ndata: ").as_bytes());
    if let Err(error) = serde_json::to_writer(&mut frame, data) {
        tracing::error!(%error, "an update cannot be written as JSON");
        return None;
    }
    frame.extend_from_slice(b"\n\n");
    Some(frame.into())
}
