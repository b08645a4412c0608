//! Who follows which session over a connection, and what they are sent. An event that many followers get at the same
//! time is written as JSON once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use posse_protocol::{Seq, SessionId, Update};
use serde::Serialize;

use crate::failure::{CallError, CallErrorKind};
use crate::frames::{EVENT, PROGRESS, frame};
use crate::limits::{FOLLOWERS_MAX, FRAME_KEPT_BYTES_MAX, FRAMES_KEPT_MAX};

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
    pub(crate) fn frame(&self, update: &Update) -> Bytes {
        let event = match update {
            Update::Event(event) => event,
            Update::Progress(progress) => return written(None, PROGRESS, progress),
        };
        if let Some(audience) = self.followers.lock().get(&self.session) {
            let known = audience.frames.iter().rev().find(|(seq, _)| *seq == event.seq);
            if let Some((_, frame)) = known {
                return frame.clone();
            }
        }
        // Contents of attachments are megabytes, and nobody shows them.
        let frame = written(Some(event.seq), EVENT, &*event.without_data());
        if frame.len() <= FRAME_KEPT_BYTES_MAX
            && let Some(audience) = self.followers.lock().get_mut(&self.session)
        {
            if audience.frames.len() >= FRAMES_KEPT_MAX {
                audience.frames.pop_front();
            }
            audience.frames.push_back((event.seq, frame.clone()));
        }
        frame
    }
}

pub(crate) fn written(id: Option<Seq>, name: &str, data: &impl Serialize) -> Bytes {
    let mut bytes = Vec::with_capacity(256);
    frame(&mut bytes, id, name, data);
    bytes.into()
}
