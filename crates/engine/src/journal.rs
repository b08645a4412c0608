//! One agent's way into the record. It waits for durability only where an effect depends on it.

use std::time::{SystemTime, UNIX_EPOCH};

use posse_protocol::{AgentId, EventKind, SessionId};
use posse_store::{Ack, NewEvent, Store, StoreError};

/// Writes the events of one agent. Owned by its driver.
pub(crate) struct Journal {
    store: Store,
    session: SessionId,
    agent: AgentId,
    parent: Option<AgentId>,
    /// Noted but not handed to the store: what is noted together is committed together.
    noted: Vec<NewEvent>,
    /// Handed to the store and not known to be durable yet.
    unacknowledged: Vec<Ack>,
}

impl Journal {
    pub(crate) fn new(store: Store, session: SessionId, agent: AgentId, parent: Option<AgentId>) -> Self {
        Self { store, session, agent, parent, noted: Vec::new(), unacknowledged: Vec::new() }
    }

    /// Notes what happened, after everything noted before. It goes on record with the next `send` or `durable`.
    pub(crate) fn note(&mut self, kind: EventKind) {
        let (session, agent, parent, at_ms) = (self.session, self.agent, self.parent, now_ms());
        self.noted.push(NewEvent { session, agent, parent, at_ms, kind });
    }

    /// Hands over what was noted, without waiting.
    pub(crate) fn send(&mut self) {
        if !self.noted.is_empty() {
            self.unacknowledged.push(self.store.append(std::mem::take(&mut self.noted)));
        }
    }

    /// Waits until everything noted so far is durable, and so also published.
    pub(crate) fn durable(&mut self) -> impl Future<Output = Result<(), StoreError>> + use<> {
        self.send();
        let acks = std::mem::take(&mut self.unacknowledged);
        async {
            for ack in acks {
                ack.await?;
            }
            Ok(())
        }
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
