//! How updates reach faces: one ordered channel a session, with the record behind it for whoever falls behind.
//!
//! Events come onto the bus from the store's writer, after they are committed; progress comes from the drivers.
//! A face that is slower than the channel is long misses progress, never events.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use posse_protocol::{Event, Seq, SessionId, Update};
use posse_store::{Store, StoreError};
use tokio::sync::broadcast;

use crate::limits::{EVENTS_PER_PAGE, UPDATES_BEHIND_MAX};

/// The channels of all sessions that run in this process. A session's channel lives as long as its handle.
#[derive(Clone, Default)]
pub(crate) struct Bus {
    channels: Arc<Mutex<HashMap<SessionId, broadcast::Sender<Update>>>>,
}

impl Bus {
    pub(crate) fn open(&self, session: SessionId) -> broadcast::Sender<Update> {
        let (sender, _) = broadcast::channel(UPDATES_BEHIND_MAX);
        self.lock().insert(session, sender.clone());
        sender
    }

    /// Closes the session's channel when it is dropped, even by a panic: whoever follows must not wait for ever.
    pub(crate) fn closing(&self, session: SessionId) -> CloseOnDrop {
        CloseOnDrop { bus: self.clone(), session }
    }

    pub(crate) fn publish(&self, event: Event) {
        let sender = self.lock().get(&event.session).cloned();
        if let Some(sender) = sender {
            // No receiver is fine: the event is on record.
            let _ = sender.send(Update::Event(Arc::new(event)));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, broadcast::Sender<Update>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Bus::closing`].
pub(crate) struct CloseOnDrop {
    bus: Bus,
    session: SessionId,
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.bus.lock().remove(&self.session);
    }
}

/// The updates of one session, in order and without gaps in its events.
pub struct Updates {
    session: SessionId,
    store: Store,
    live: Option<broadcast::Receiver<Update>>,
    /// The last event given out.
    cursor: Seq,
    /// Events read from the record that are still to be given out.
    backlog: VecDeque<Event>,
    /// Whether there may be more on record than was read.
    behind: bool,
}

impl Updates {
    /// Everything after `cursor`: first from the record, then live if the session runs in this process.
    pub(crate) fn new(
        session: SessionId,
        store: Store,
        live: Option<broadcast::Receiver<Update>>,
        cursor: Seq,
        behind: bool,
    ) -> Self {
        Self { session, store, live, cursor, backlog: VecDeque::new(), behind }
    }

    /// The next update; `None` when the session has no more.
    pub async fn next(&mut self) -> Option<Update> {
        loop {
            if let Some(event) = self.backlog.pop_front() {
                self.cursor = event.seq;
                return Some(Update::Event(Arc::new(event)));
            }
            if self.behind {
                self.read_page();
                continue;
            }
            match self.live.as_mut()?.recv().await {
                Ok(Update::Event(event)) if event.seq <= self.cursor => {}
                Ok(Update::Event(event)) => {
                    self.cursor = event.seq;
                    return Some(Update::Event(event));
                }
                Ok(progress) => return Some(progress),
                Err(broadcast::error::RecvError::Lagged(_)) => self.behind = true,
                Err(broadcast::error::RecvError::Closed) => self.live = None,
            }
        }
    }

    fn read_page(&mut self) {
        match self.store.events_after(self.session, self.cursor, EVENTS_PER_PAGE) {
            Ok(events) => {
                self.behind = !events.is_empty();
                self.backlog.extend(events);
            }
            // One damaged event is passed over; what comes after it is still good.
            Err(StoreError::DamagedEvent { seq, .. }) => self.cursor = seq,
            Err(error) => {
                tracing::error!(%error, "the record cannot be read");
                self.behind = false;
            }
        }
    }
}
