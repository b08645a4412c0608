//! A channel with one writer's order and many readers. It holds what its slowest reader has not read, so it takes no room
//! while all have read everything: a session that rests costs nothing. A reader that falls too far behind misses the oldest.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_protocol::Update;
use tokio::sync::Notify;

use crate::limits::UPDATES_BEHIND_MAX;

/// Room that is kept when the channel is empty.
const ROOM_KEPT: usize = 16;

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    came: Notify,
}

#[derive(Default)]
struct Waiting {
    /// The number of the first update that is held.
    first: u64,
    updates: VecDeque<Update>,
    /// How many readers read which number next.
    readers: BTreeMap<u64, usize>,
    senders: usize,
}

/// Writes updates. Clones write to the same channel.
pub(crate) struct UpdateSender(Arc<Shared>);

/// Reads updates, each on its own.
pub(crate) struct UpdateReader {
    shared: Arc<Shared>,
    /// The number of the update that comes next.
    next: u64,
}

/// Why there is no update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoUpdate {
    /// None has come.
    Empty,
    /// Some were missed; what comes next is the oldest that is held.
    Missed,
    /// Nobody writes any more.
    Closed,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn end(&self) -> u64 {
        self.first + self.updates.len() as u64
    }

    fn enter(&mut self, next: u64) {
        *self.readers.entry(next).or_default() += 1;
    }

    fn leave(&mut self, next: u64) {
        if let Some(count) = self.readers.get_mut(&next) {
            *count -= 1;
            if *count == 0 {
                self.readers.remove(&next);
            }
        }
    }

    /// Lets go of what all readers have read.
    fn trim(&mut self) {
        let needed = self.readers.first_key_value().map_or(self.end(), |(next, _)| *next);
        while self.first < needed && self.updates.pop_front().is_some() {
            self.first += 1;
        }
        if self.updates.is_empty() && self.updates.capacity() > ROOM_KEPT {
            self.updates = VecDeque::new();
        }
    }
}

/// A channel, with its first reader.
pub(crate) fn channel() -> (UpdateSender, UpdateReader) {
    let sender = UpdateSender(Arc::default());
    sender.0.lock().senders = 1;
    let reader = sender.subscribe();
    (sender, reader)
}

impl UpdateSender {
    /// Writes an update, if anybody reads.
    pub(crate) fn send(&self, update: Update) {
        {
            let mut waiting = self.0.lock();
            if waiting.readers.is_empty() {
                waiting.first += 1;
                return;
            }
            waiting.updates.push_back(update);
            if waiting.updates.len() > UPDATES_BEHIND_MAX {
                waiting.updates.pop_front();
                waiting.first += 1;
            }
        }
        self.0.came.notify_waiters();
    }

    /// One more reader, of what comes from now on.
    pub(crate) fn subscribe(&self) -> UpdateReader {
        let mut waiting = self.0.lock();
        let next = waiting.end();
        waiting.enter(next);
        UpdateReader { shared: Arc::clone(&self.0), next }
    }

    /// Whether anybody reads.
    pub(crate) fn has_readers(&self) -> bool {
        !self.0.lock().readers.is_empty()
    }

    /// How many updates wait for the slowest reader.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().updates.len()
    }
}

impl Clone for UpdateSender {
    fn clone(&self) -> Self {
        self.0.lock().senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl Drop for UpdateSender {
    fn drop(&mut self) {
        let left = {
            let mut waiting = self.0.lock();
            waiting.senders -= 1;
            waiting.senders
        };
        if left == 0 {
            self.0.came.notify_waiters();
        }
    }
}

impl UpdateReader {
    /// What comes next, if it is there.
    pub(crate) fn try_next(&mut self) -> Result<Update, NoUpdate> {
        let mut waiting = self.shared.lock();
        if self.next < waiting.first {
            waiting.leave(self.next);
            self.next = waiting.first;
            waiting.enter(self.next);
            return Err(NoUpdate::Missed);
        }
        let at = usize::try_from(self.next - waiting.first).unwrap_or(usize::MAX);
        let Some(update) = waiting.updates.get(at).cloned() else {
            return Err(if waiting.senders == 0 { NoUpdate::Closed } else { NoUpdate::Empty });
        };
        waiting.leave(self.next);
        self.next += 1;
        waiting.enter(self.next);
        waiting.trim();
        Ok(update)
    }

    /// What comes next. What is not awaited to the end can be awaited again.
    pub(crate) async fn next(&mut self) -> Result<Update, NoUpdate> {
        loop {
            let shared = Arc::clone(&self.shared);
            let mut came = std::pin::pin!(shared.came.notified());
            // Hears of what comes after the look.
            came.as_mut().enable();
            match self.try_next() {
                Err(NoUpdate::Empty) => came.await,
                other => return other,
            }
        }
    }
}

impl Drop for UpdateReader {
    fn drop(&mut self) {
        let mut waiting = self.shared.lock();
        waiting.leave(self.next);
        waiting.trim();
    }
}

#[cfg(test)]
mod tests {
    use posse_protocol::{AgentId, Progress, ProgressKind};
    use uuid::Uuid;

    use super::*;

    fn update(n: usize) -> Update {
        let kind = ProgressKind::Text(n.to_string());
        Update::Progress(Progress { agent: AgentId::from(Uuid::from_u128(1)), kind })
    }

    #[tokio::test]
    async fn all_readers_read_everything_in_order_and_nothing_stays() {
        let (sender, mut first) = channel();
        sender.send(update(0));
        let mut second = sender.subscribe();
        for n in 1..100 {
            sender.send(update(n));
        }
        for n in 0..100 {
            assert_eq!(first.next().await, Ok(update(n)));
        }
        assert_eq!((first.try_next(), sender.len()), (Err(NoUpdate::Empty), 99));
        for n in 1..100 {
            assert_eq!(second.next().await, Ok(update(n)));
        }
        assert_eq!((sender.len(), sender.0.lock().updates.capacity()), (0, 0));
        let waits = tokio::spawn(async move { first.next().await });
        tokio::task::yield_now().await;
        sender.send(update(100));
        assert_eq!(waits.await.unwrap(), Ok(update(100)));
        drop(sender);
        assert_eq!(second.next().await, Ok(update(100)));
        assert_eq!(second.next().await, Err(NoUpdate::Closed));
    }

    #[test]
    fn a_slow_reader_misses_the_oldest_and_one_that_leaves_holds_nothing() {
        let (sender, mut slow) = channel();
        for n in 0..UPDATES_BEHIND_MAX + 3 {
            sender.send(update(n));
        }
        assert_eq!(sender.len(), UPDATES_BEHIND_MAX);
        assert_eq!(slow.try_next(), Err(NoUpdate::Missed));
        assert_eq!(slow.try_next(), Ok(update(3)));
        drop(slow);
        assert_eq!((sender.len(), sender.has_readers()), (0, false));
        sender.send(update(0));
        assert_eq!(sender.len(), 0, "nobody reads");
        let mut late = sender.subscribe();
        sender.send(update(7));
        assert_eq!(late.try_next(), Ok(update(7)));
    }
}
