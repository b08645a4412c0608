//! A channel with one writer's order and many readers. It holds what its slowest reader has not read, so it takes no room
//! while all have read everything: a session that rests costs nothing. A reader that falls too far behind misses the oldest.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_protocol::{AgentId, Progress, ProgressKind, Seq, Update};
use tokio::sync::Notify;

use crate::limits::{TEXT_SO_FAR_BYTES_MAX, UPDATES_BEHIND_MAX};

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
    /// The text of replies that are not complete, for readers that come later; none of one that is too long.
    texts: BTreeMap<AgentId, Option<String>>,
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

    /// Keeps the text of a reply while it arrives.
    fn note(&mut self, update: &Update) {
        match update {
            Update::Progress(Progress { agent, kind: ProgressKind::Text(text) }) => {
                let so_far = self.texts.entry(*agent).or_insert_with(|| Some(String::new()));
                match so_far {
                    Some(so_far) if so_far.len() + text.len() <= TEXT_SO_FAR_BYTES_MAX => {
                        so_far.push_str(text)
                    }
                    so_far => *so_far = None,
                }
            }
            Update::Progress(_) => {}
            // Whatever happens to an agent, it does not happen in the middle of a reply.
            Update::Event(event) => {
                self.texts.remove(&event.agent);
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
            waiting.note(&update);
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

    /// For a reader that knows all events up to one: the later ones that wait, then the text of replies so far. Progress
    /// that waits is in those texts, or older than what the reader knows.
    pub(crate) fn catch_up(&mut self, known: Seq) -> VecDeque<Update> {
        let mut waiting = self.shared.lock();
        let from = usize::try_from(self.next.saturating_sub(waiting.first)).unwrap_or(usize::MAX);
        let is_new = |update: &&Update| matches!(update, Update::Event(event) if event.seq > known);
        let mut ahead: VecDeque<Update> = waiting.updates.iter().skip(from).filter(is_new).cloned().collect();
        let texts = waiting.texts.iter().filter_map(|(agent, text)| Some((*agent, text.clone()?)));
        let so_far =
            |(agent, text)| Update::Progress(Progress { agent, kind: ProgressKind::TextSoFar(text) });
        ahead.extend(texts.map(so_far));
        let end = waiting.end();
        waiting.leave(self.next);
        self.next = end;
        waiting.enter(end);
        waiting.trim();
        ahead
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
    fn who_comes_late_gets_the_text_so_far_once() {
        let agent = AgentId::from(Uuid::from_u128(1));
        let said =
            |text: &str| Update::Progress(Progress { agent, kind: ProgressKind::Text(text.to_owned()) });
        let so_far =
            |text: &str| Update::Progress(Progress { agent, kind: ProgressKind::TextSoFar(text.to_owned()) });
        let event = |seq| {
            let kind = posse_protocol::EventKind::TurnStarted { turn: 1, purpose: Default::default() };
            let session = posse_protocol::SessionId::from(Uuid::from_u128(2));
            let event = posse_protocol::Event { seq: Seq(seq), session, agent, parent: None, at_ms: 0, kind };
            Update::Event(Arc::new(event))
        };
        let (sender, first) = channel();
        sender.send(event(1));
        sender.send(said("He"));
        let mut late = sender.subscribe();
        sender.send(said("llo"));
        assert_eq!(late.catch_up(Seq(1)), [so_far("Hello")]);
        sender.send(said(" you"));
        assert_eq!(late.try_next(), Ok(said(" you")));
        sender.send(event(2));
        sender.send(said("Next"));
        assert_eq!(late.catch_up(Seq(1)), [event(2), so_far("Next")]);
        sender.send(event(3));
        assert_eq!(late.catch_up(Seq(3)), [], "the reply is complete");
        sender.send(said(&"x".repeat(TEXT_SO_FAR_BYTES_MAX + 1)));
        sender.send(said("y"));
        assert_eq!(late.catch_up(Seq(3)), [], "too long to keep");
        drop(first);
        assert_eq!(sender.len(), 0);
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
