//! One agent's way into the record. It waits for durability only where an effect depends on it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use posse_protocol::{AgentId, Effect, EventKind, Sender, SessionId};
use posse_store::{Ack, NewEvent, Store, StoreError};

use crate::remote::travels;

/// Writes the events of one agent. Owned by its driver.
pub(crate) struct Journal {
    store: Store,
    session: SessionId,
    agent: AgentId,
    parent: Option<AgentId>,
    /// Noted but not handed to the store: what is noted together is committed together.
    noted: Vec<NewEvent>,
    /// Handed to the store and not known to be durable yet.
    unacknowledged: Unacknowledged,
    /// Whether only the agent's life is kept, not its steps.
    without_steps: bool,
    /// Counts what its home is told of, where this is a worker.
    for_home: Option<Arc<AtomicU64>>,
}

/// Batches on their way to the record, oldest first.
#[derive(Default)]
pub(crate) struct Unacknowledged(VecDeque<Ack>);

impl Unacknowledged {
    /// Waits until all are durable. What is not awaited to the end can be awaited again.
    pub(crate) async fn durable(&mut self) -> Result<(), StoreError> {
        while let Some(oldest) = self.0.front_mut() {
            let outcome = oldest.await;
            self.0.pop_front();
            outcome?;
        }
        Ok(())
    }

    /// The same, for whoever does something else meanwhile: the record need not hurry.
    pub(crate) async fn eventually(&mut self) -> Result<(), StoreError> {
        while let Some(oldest) = self.0.front_mut() {
            let outcome = oldest.eventually().await;
            self.0.pop_front();
            outcome?;
        }
        Ok(())
    }
}

impl Journal {
    pub(crate) fn new(store: Store, session: SessionId, agent: AgentId, parent: Option<AgentId>) -> Self {
        let (noted, unacknowledged) = (Vec::new(), Unacknowledged::default());
        Self { store, session, agent, parent, noted, unacknowledged, without_steps: false, for_home: None }
    }

    /// The same, counting what its home is told of.
    pub(crate) fn for_home(self, counted: Arc<AtomicU64>) -> Self {
        Self { for_home: Some(counted), ..self }
    }

    /// The same, leaving out what lies between the beginning and the end of the agent.
    pub(crate) fn without_steps(self) -> Self {
        Self { without_steps: true, ..self }
    }

    /// Another way into the record for the same agent, for when its driver is gone.
    pub(crate) fn beside(&self) -> Self {
        let for_home = self.for_home.clone();
        Self { for_home, ..Self::new(self.store.clone(), self.session, self.agent, self.parent) }
    }

    /// Notes what happened, after everything noted before. It goes on record with the next `send` or `durable`.
    pub(crate) fn note(&mut self, kind: EventKind) {
        if self.without_steps && !is_of_its_life(&kind) {
            tracing::debug!(agent = %self.agent, ?kind, "not kept");
            return;
        }
        if let Some(counted) = self.for_home.as_ref().filter(|_| travels(&kind)) {
            counted.fetch_add(1, Ordering::Release);
        }
        let (session, agent, parent, at_ms) = (self.session, self.agent, self.parent, now_ms());
        self.noted.push(NewEvent { session, agent, parent, at_ms, kind });
    }

    /// Hands over what was noted, without waiting.
    pub(crate) fn send(&mut self) {
        if !self.noted.is_empty() {
            self.unacknowledged.0.push_back(self.store.append(std::mem::take(&mut self.noted)));
        }
    }

    /// Waits until everything noted so far is durable, and so also published.
    pub(crate) async fn durable(&mut self) -> Result<(), StoreError> {
        self.send();
        self.unacknowledged.durable().await
    }

    /// Hands over what was noted, and with it the waiting for all that is not durable yet.
    pub(crate) fn send_and_take(&mut self) -> Unacknowledged {
        self.send();
        std::mem::take(&mut self.unacknowledged)
    }

    /// Takes back what somebody else did not wait for to the end.
    pub(crate) fn give_back(&mut self, mut earlier: Unacknowledged) {
        earlier.0.append(&mut self.unacknowledged.0);
        self.unacknowledged = earlier;
    }
}

/// Whether an event says that an agent is there, what it was asked, what it asks, what it changed or noted, which hooks heard
/// of it, or how it ended.
fn is_of_its_life(kind: &EventKind) -> bool {
    let notes = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::Noted(_)));
    if let EventKind::ToolFinished { effects, .. } = kind {
        return notes(effects);
    }
    matches!(
        kind,
        EventKind::AgentAdmitted { .. }
            | EventKind::AgentQueued { .. }
            | EventKind::AgentStarted { .. }
            | EventKind::CheckedOut { .. }
            | EventKind::AgentResumed { .. }
            | EventKind::Told { from: Sender::Parent, .. }
            | EventKind::PersonNeeded { .. }
            | EventKind::PersonAnswered { .. }
            | EventKind::Checkpointed { .. }
            | EventKind::Changed { .. }
            | EventKind::ChangedMeanwhile { .. }
            | EventKind::Merged { .. }
            | EventKind::HookRan { .. }
            | EventKind::AgentSettled { .. }
    )
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
