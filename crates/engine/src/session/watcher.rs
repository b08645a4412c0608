//! Somebody who is told of all that happens in sessions, such as an exporter of traces.

use std::fmt;

use posse_protocol::{Seq, SessionId};

use crate::record::bus::Updates;

/// Who is told of sessions. The engine does not wait for it.
pub trait SessionWatcher: fmt::Debug + Send + Sync {
    /// A session is about to begin or to continue in this process; `updates` begins with its first event. What was put on
    /// record before, up to `after`, somebody may have told already.
    fn watch(&self, session: SessionId, after: Seq, updates: Updates);
}
