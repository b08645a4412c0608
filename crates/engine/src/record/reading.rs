//! Reads the events of a session back.

use posse_protocol::{AgentId, Event, Seq, SessionId};
use posse_store::{Store, StoreError};

use crate::limits::EVENTS_PER_PAGE;

/// All events of a session. One that is damaged is passed over: the others still tell most of it.
pub(crate) fn read_events(store: &Store, session: SessionId) -> Result<Vec<Event>, StoreError> {
    read_those(store, session, |_| true)
}

/// The events of one agent.
pub(crate) fn read_events_of(
    store: &Store,
    session: SessionId,
    agent: AgentId,
) -> Result<Vec<Event>, StoreError> {
    read_those(store, session, |event| event.agent == agent)
}

fn read_those(
    store: &Store,
    session: SessionId,
    is_wanted: impl Fn(&Event) -> bool,
) -> Result<Vec<Event>, StoreError> {
    let (mut events, mut after) = (Vec::new(), Seq(0));
    loop {
        match store.events_after(session, after, EVENTS_PER_PAGE) {
            Ok(page) if page.is_empty() => return Ok(events),
            Ok(page) => {
                after = page.last().map_or(after, |event| event.seq);
                events.extend(page.into_iter().filter(&is_wanted));
            }
            Err(StoreError::DamagedEvent { seq, detail, .. }) => {
                tracing::warn!(%session, seq = seq.0, detail, "a damaged event is left out");
                after = seq;
            }
            Err(error) => return Err(error),
        }
    }
}
