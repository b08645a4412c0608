//! What is asked for to follow sessions.

use std::collections::HashMap;

use posse_protocol::{Seq, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::failure::{CallError, CallErrorKind};
use crate::limits::FOLLOWED_MAX;

/// Follows a session: what is on record after an event, then what happens.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowSession {
    /// The last event that is known already; 0 for none. The header `Last-Event-ID` counts instead if it is sent.
    #[serde(default)]
    pub after: u64,
}

impl FollowSession {
    /// Where a session is followed.
    pub(crate) const PATH: &str = "/api/sessions/{session}/events";
}

/// Follows several sessions, and hears what waits for a person. One stream serves all tabs of a browser.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowSessions {
    /// Sessions with the last event that is known of each, `SESSION:SEQ`, with commas between them; may be empty.
    #[serde(default)]
    pub follow: String,
}

impl FollowSessions {
    /// Where a browser follows all that it looks at.
    pub(crate) const PATH: &str = "/api/events";

    /// The sessions, each with the last event that is known of it.
    pub(crate) fn wanted(&self) -> Result<HashMap<SessionId, Seq>, CallError> {
        let bad =
            || CallError::new(CallErrorKind::BadRequest, "`follow` has the form SESSION:SEQ,SESSION:SEQ.");
        let one = |word: &str| {
            let (session, seq) = word.split_once(':')?;
            Some((session.parse().ok()?, Seq(seq.parse().ok()?)))
        };
        let words = self.follow.split(',').filter(|word| !word.is_empty());
        let wanted: HashMap<_, _> = words.map(|word| one(word).ok_or_else(bad)).collect::<Result<_, _>>()?;
        if wanted.len() > FOLLOWED_MAX {
            let message = format!("A stream follows at most {FOLLOWED_MAX} sessions.");
            return Err(CallError::new(CallErrorKind::TooMany, message));
        }
        Ok(wanted)
    }
}
