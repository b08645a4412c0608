//! What is shown of a reply while it arrives. It is held back until the events before it are committed and published, so that
//! interfaces see everything in order. What is never released is not shown: the reply's own event then holds all of it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use posse_model::Signal;
use posse_protocol::{AgentId, Progress, ProgressKind, Update};

use crate::limits::PARTIAL_BYTES_MAX;
use crate::record::channel::UpdateSender;

/// The progress of one model call. Shared between the call, which signals, and the driver, which releases it.
pub(crate) struct HeldProgress(Mutex<Inner>);

struct Inner {
    agent: AgentId,
    updates: UpdateSender,
    released: bool,
    held_back: Vec<ProgressKind>,
    partial: String,
}

impl HeldProgress {
    pub(crate) fn new(agent: AgentId, updates: UpdateSender) -> Self {
        let (released, held_back, partial) = (false, Vec::new(), String::new());
        Self(Mutex::new(Inner { agent, updates, released, held_back, partial }))
    }

    /// Shows what came, or holds it back.
    pub(crate) fn show(&self, signal: Signal) {
        let mut inner = self.lock();
        let kind = match signal {
            Signal::Text(text) => {
                if inner.partial.len() < PARTIAL_BYTES_MAX {
                    inner.partial.push_str(&text);
                }
                ProgressKind::Text(text)
            }
            Signal::Reasoning(text) => ProgressKind::Reasoning(text),
            Signal::Calling(tool) => ProgressKind::Calling(tool),
            Signal::Arriving => ProgressKind::Arriving,
            Signal::Queued => ProgressKind::Queued,
            Signal::Served => ProgressKind::Served,
            Signal::Retrying { .. } => return,
        };
        if inner.released { inner.send(kind) } else { inner.held_back.push(kind) }
    }

    /// The request is sent again: what had arrived is not part of the reply that is to come.
    pub(crate) fn retrying(&self) {
        let mut inner = self.lock();
        inner.partial.clear();
        inner.held_back.clear();
    }

    /// Shows what was held back, and from here on everything at once.
    pub(crate) fn release(&self) {
        let mut inner = self.lock();
        inner.released = true;
        for kind in std::mem::take(&mut inner.held_back) {
            inner.send(kind);
        }
    }

    /// The text that has arrived so far.
    pub(crate) fn partial(self) -> String {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).partial
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn send(&self, kind: ProgressKind) {
        // No receiver is fine: nobody is looking.
        self.updates.send(Update::Progress(Progress { agent: self.agent, kind }));
    }
}
