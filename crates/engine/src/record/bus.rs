//! How updates reach faces: one ordered channel a session, with the record behind it for whoever falls behind.
//!
//! Events come onto the bus from the store's writer, after they are committed; progress comes from the drivers.
//! A face that is slower than the channel is long misses progress, never events.
//!
//! Waking a face costs more than what it is woken for, so one that was woken takes a short pause before it can be woken
//! again, and then takes all that has come. The end of the session cuts the pause short.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use posse_protocol::{Event, Seq, SessionId, Update};
use posse_store::{Store, StoreError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::limits::{EVENTS_PER_PAGE, FACE_PAUSE_MS};
use crate::record::channel::{NoUpdate, UpdateReader, UpdateSender, channel};

/// The channels of all sessions that run in this process. A session's channel lives as long as its handle.
#[derive(Clone, Default)]
pub(crate) struct Bus {
    channels: Arc<Mutex<HashMap<SessionId, Channel>>>,
}

struct Channel {
    updates: UpdateSender,
    /// Cancelled when no event comes any more.
    over: CancellationToken,
}

impl Bus {
    /// Opens a session's channel, with its first reader.
    pub(crate) fn open(&self, session: SessionId) -> (UpdateSender, LiveReader) {
        let (updates, reader) = channel();
        let over = CancellationToken::new();
        let live = LiveReader { updates: reader, over: over.clone(), woken: None };
        self.lock().insert(session, Channel { updates: updates.clone(), over });
        (updates, live)
    }

    /// One more reader of a session that runs in this process.
    pub(crate) fn reader(&self, session: SessionId) -> Option<LiveReader> {
        let channels = self.lock();
        let channel = channels.get(&session)?;
        let (updates, over) = (channel.updates.subscribe(), channel.over.clone());
        Some(LiveReader { updates, over, woken: None })
    }

    /// Closes the session's channel when it is dropped, even by a panic: whoever follows must not wait for ever.
    pub(crate) fn closing(&self, session: SessionId) -> CloseOnDrop {
        CloseOnDrop { bus: self.clone(), session }
    }

    pub(crate) fn publish(&self, event: Event) {
        let sender = self.lock().get(&event.session).map(|channel| channel.updates.clone());
        if let Some(sender) = sender {
            // No receiver is fine: the event is on record.
            sender.send(Update::Event(Arc::new(event)));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Channel>> {
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
        let closed = self.bus.lock().remove(&self.session);
        if let Some(channel) = closed {
            channel.over.cancel();
        }
    }
}

/// One reader of a session's channel.
pub(crate) struct LiveReader {
    updates: UpdateReader,
    over: CancellationToken,
    /// When it was woken last.
    woken: Option<Instant>,
}

impl LiveReader {
    /// What comes next. What is not awaited to the end can be awaited again.
    ///
    /// A session that is over has published all its events. Others may hold the channel for longer, such as a first look at a
    /// large folder that nobody needs any more; nobody waits for them.
    async fn next(&mut self) -> Result<Update, NoUpdate> {
        loop {
            // Asked before the channel is: what was sent before the end is found there.
            let over = self.over.is_cancelled();
            match self.updates.try_next() {
                Err(NoUpdate::Empty) if over => return Err(NoUpdate::Closed),
                Err(NoUpdate::Empty) => {}
                other => return other,
            }
            if let Some(woken) = self.woken.filter(|woken| woken.elapsed() < PAUSE) {
                let _ = tokio::time::timeout_at(woken + PAUSE, self.over.cancelled()).await;
            }
            tokio::select! {
                update = self.updates.next() => {
                    self.woken = Some(Instant::now());
                    return update;
                }
                () = self.over.cancelled() => {}
            }
        }
    }
}

const PAUSE: Duration = Duration::from_millis(FACE_PAUSE_MS);

/// The updates of one session, in order and without gaps in its events.
pub struct Updates {
    session: SessionId,
    store: Store,
    live: Option<LiveReader>,
    /// The last event given out.
    cursor: Seq,
    /// Events read from the record that are still to be given out.
    backlog: VecDeque<Event>,
    /// Whether there may be more on record than was read.
    behind: bool,
    /// Live updates to be given out before others.
    ahead: VecDeque<Update>,
}

impl Updates {
    /// Everything after `cursor`: first from the record, then live if the session runs in this process.
    pub(crate) fn new(
        session: SessionId,
        store: Store,
        live: Option<LiveReader>,
        cursor: Seq,
        behind: bool,
    ) -> Self {
        Self { session, store, live, cursor, backlog: VecDeque::new(), behind, ahead: VecDeque::new() }
    }

    /// The next update; `None` when the session has no more.
    pub async fn next(&mut self) -> Option<Update> {
        loop {
            if let Some(event) = self.backlog.pop_front() {
                self.cursor = event.seq;
                return Some(Update::Event(Arc::new(event)));
            }
            if self.behind {
                self.read_page().await;
                if let Some(live) = self.live.as_mut().filter(|_| !self.behind) {
                    self.ahead = live.updates.catch_up(self.cursor);
                }
                continue;
            }
            let next = match self.ahead.pop_front() {
                Some(update) => Ok(update),
                None => self.live.as_mut()?.next().await,
            };
            match next {
                Ok(Update::Event(event)) if event.seq <= self.cursor => {}
                // Another process has put something on record before it.
                Ok(Update::Event(event)) if event.seq.0 > self.cursor.0.saturating_add(1) => {
                    self.behind = true;
                }
                Ok(Update::Event(event)) => {
                    self.cursor = event.seq;
                    return Some(Update::Event(event));
                }
                Ok(progress) => return Some(progress),
                Err(NoUpdate::Missed) => self.behind = true,
                Err(NoUpdate::Closed | NoUpdate::Empty) => self.live = None,
            }
        }
    }

    async fn read_page(&mut self) {
        let (store, session, cursor) = (self.store.clone(), self.session, self.cursor);
        let page = tokio::task::spawn_blocking(move || store.events_after(session, cursor, EVENTS_PER_PAGE));
        match page.await.unwrap_or(Err(StoreError::Closed)) {
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

#[cfg(test)]
mod tests {
    use posse_protocol::{AgentId, Progress, ProgressKind};
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn a_session_that_is_over_ends_its_updates_whoever_holds_the_channel() {
        let (bus, session) = (Bus::default(), SessionId::from(Uuid::from_u128(1)));
        let (held, mut live) = bus.open(session);
        let progress = Update::Progress(Progress {
            agent: AgentId::from(Uuid::from_u128(2)),
            kind: ProgressKind::Text("a".to_owned()),
        });
        for _ in 0..2 {
            held.send(progress.clone());
        }
        assert_eq!(live.next().await, Ok(progress.clone()));
        drop(bus.closing(session));
        assert_eq!(live.next().await, Ok(progress), "what was sent before the end is still given out");
        assert_eq!(live.next().await, Err(NoUpdate::Closed));
        drop(held);
    }
}
