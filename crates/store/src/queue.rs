//! What waits to be written, and the promises made for it. Bounded, and never blocking for those who put things in.
//! It must not know the database.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use posse_protocol::{Event, Seq};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::blobs::Body;
use crate::event_types::type_word;
use crate::{NewEvent, StoreError, limits};

/// Resolves once the events are on record and published, or are known not to be. Waiting for it makes the writer hurry:
/// it gathers what comes within a moment into one transaction, unless somebody waits and few write.
#[must_use = "an event is on record only when its Ack says so"]
pub struct Ack {
    outcome: oneshot::Receiver<Result<Seq, StoreError>>,
    /// Where the events wait, until the writer was made to hurry.
    queue: Option<Arc<Queue>>,
}

/// The writer's end of an [`Ack`]. Dropped without being kept, it resolves to [`StoreError::Closed`].
pub(crate) struct Promise {
    outcome: oneshot::Sender<Result<Seq, StoreError>>,
}

impl Ack {
    pub(crate) fn pair(queue: Option<Arc<Queue>>) -> (Promise, Self) {
        let (sender, receiver) = oneshot::channel();
        (Promise { outcome: sender }, Self { outcome: receiver, queue })
    }

    /// Waits without making the writer hurry. What is not awaited to the end can be awaited again.
    pub async fn eventually(&mut self) -> Result<Seq, StoreError> {
        (&mut self.outcome).await.unwrap_or(Err(StoreError::Closed))
    }

    /// The outcome of a promise that must have been kept by now.
    #[cfg(test)]
    pub(crate) fn now(mut self) -> Result<Seq, StoreError> {
        self.outcome.try_recv().unwrap_or(Err(StoreError::Closed))
    }
}

impl Promise {
    pub(crate) fn keep(self, outcome: Result<Seq, StoreError>) {
        // Nobody has to wait for it.
        let _ = self.outcome.send(outcome);
    }
}

impl Future for Ack {
    type Output = Result<Seq, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = Pin::new(&mut self.outcome).poll(context);
        if outcome.is_pending()
            && let Some(queue) = self.queue.take()
        {
            queue.hurry();
        }
        outcome.map(|outcome| outcome.unwrap_or(Err(StoreError::Closed)))
    }
}

/// An event with its JSON.
pub(crate) struct PreparedEvent {
    pub(crate) event: NewEvent,
    pub(crate) body: Body,
}

/// Events that go on record together or not at all.
pub(crate) struct Batch {
    pub(crate) events: Vec<PreparedEvent>,
    bytes: usize,
}

impl Batch {
    /// Writes the events as JSON and takes large texts out of them, so that their size is known before they wait.
    pub(crate) fn prepare(events: Vec<NewEvent>) -> Result<Self, StoreError> {
        let mut batch = Self { events: Vec::with_capacity(events.len()), bytes: 0 };
        for event in events {
            let kind = type_word(&event.kind);
            let json =
                serde_json::to_string(&event.kind).map_err(|source| StoreError::NotJson { kind, source })?;
            if json.len() > limits::EVENT_BYTES_MAX {
                return Err(StoreError::TooLarge {
                    kind,
                    bytes: json.len(),
                    bytes_max: limits::EVENT_BYTES_MAX,
                });
            }
            let body = Body::new(&event.kind, json);
            batch.bytes += body.bytes();
            batch.events.push(PreparedEvent { event, body });
        }
        Ok(batch)
    }

    /// Events that are not to be written.
    pub(crate) fn unwritten(events: Vec<NewEvent>) -> Self {
        let events = events.into_iter().map(|event| PreparedEvent { event, body: Body::default() }).collect();
        Self { events, bytes: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Tells of the events, which have these places.
    pub(crate) fn publish(self, seqs: &[Seq], on_commit: impl Fn(Event)) {
        for (PreparedEvent { event, .. }, seq) in self.events.into_iter().zip(seqs) {
            let NewEvent { session, agent, parent, at_ms, kind } = event;
            on_commit(Event { seq: *seq, session, agent, parent, at_ms, kind });
        }
    }
}

/// A batch and the promise made for it.
pub(crate) struct Waiting {
    pub(crate) batch: Batch,
    pub(crate) promise: Promise,
}

/// Something else that the writer does, on its connection. It tells by itself what came of it.
pub(crate) type WriterJob = Box<dyn FnOnce(&mut Connection) + Send>;

/// One thing that waits for the writer.
enum Entry {
    Events(Waiting),
    Job(WriterJob),
}

/// What the writer does next.
pub(crate) enum WriterStep {
    /// These go into one transaction.
    Commit(Vec<Waiting>),
    /// Everything queued before it is done.
    Work(WriterJob),
    /// The queue is closed and empty.
    End,
}

/// What is between those who ask for something and the writer.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Entry>,
    events: usize,
    bytes: usize,
    closed: bool,
    /// Whether somebody waits for what is in here.
    hurried: bool,
    /// Whether the last transaction held what many had asked for. Then the next one gathers although somebody waits:
    /// where many work at once, fewer transactions bring all of them further than short waits bring one.
    crowded: bool,
}

impl State {
    /// Whether what is in here can wait for more to come.
    fn can_wait(&self) -> bool {
        let first = matches!(self.waiting.front(), Some(Entry::Events(_)));
        let hurried = self.hurried && !self.crowded;
        first && !self.closed && !hurried && self.events < limits::COMMIT_EVENTS_MAX
    }
}

impl Queue {
    /// Adds a batch, or breaks its promise at once if too much waits already.
    pub(crate) fn push(&self, batch: Batch, promise: Promise) {
        let mut state = self.lock();
        if state.closed {
            return promise.keep(Err(StoreError::Closed));
        }
        let events = state.events + batch.events.len();
        let bytes = state.bytes.saturating_add(batch.bytes);
        let full = events > limits::QUEUE_EVENTS_MAX || bytes > limits::QUEUE_BYTES_MAX;
        if full && state.events > 0 {
            return promise.keep(Err(StoreError::QueueFull { events: state.events }));
        }
        (state.events, state.bytes) = (events, bytes);
        let first = state.waiting.is_empty();
        state.waiting.push_back(Entry::Events(Waiting { batch, promise }));
        let wakes = first || !state.can_wait();
        drop(state);
        if wakes {
            self.changed.notify_one();
        }
    }

    /// Somebody waits for what is in here.
    fn hurry(&self) {
        let mut state = self.lock();
        if !state.waiting.is_empty() && !state.hurried {
            state.hurried = true;
            let wakes = !state.can_wait();
            drop(state);
            if wakes {
                self.changed.notify_one();
            }
        }
    }

    /// Adds a job. One that cannot be done any more is dropped, and its owner notices. There is no limit: whoever
    /// adds one waits for it.
    pub(crate) fn push_job(&self, job: WriterJob) {
        let mut state = self.lock();
        if !state.closed {
            state.waiting.push_back(Entry::Job(job));
            (state.hurried, state.crowded) = (true, false);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for something to do. Batches that stand side by side are taken together, as many as one transaction
    /// should hold.
    pub(crate) fn take(&self) -> WriterStep {
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let deadline = Instant::now() + Duration::from_millis(limits::COMMIT_GATHERS_MS);
        while state.can_wait() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let mut taken = Vec::new();
        let mut events = 0;
        while let Some(entry) = state.waiting.pop_front() {
            match entry {
                Entry::Job(job) if taken.is_empty() => return WriterStep::Work(job),
                Entry::Events(next)
                    if taken.is_empty() || events + next.batch.events.len() <= limits::COMMIT_EVENTS_MAX =>
                {
                    events += next.batch.events.len();
                    state.events -= next.batch.events.len();
                    state.bytes -= next.batch.bytes;
                    taken.push(next);
                }
                later => {
                    state.waiting.push_front(later);
                    break;
                }
            }
        }
        state.hurried &= !state.waiting.is_empty();
        state.crowded = taken.len() >= limits::CROWD_BATCHES;
        if taken.is_empty() { WriterStep::End } else { WriterStep::Commit(taken) }
    }

    /// Nothing more comes in; what is in is still taken.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Closes, and breaks every promise still waiting: nobody is left to keep them.
    pub(crate) fn abandon(&self) {
        *self.lock() = State { closed: true, ..State::default() };
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use posse_protocol::{EventKind, Sender};

    /// Queues what so many ask for at once, and one of them waits for it.
    fn ask(queue: &Arc<Queue>, batches: usize) {
        for _ in 0..batches {
            let id = "00000000-0000-7000-8000-000000000001";
            let kind = EventKind::told(Sender::Person, "go");
            let event = NewEvent {
                session: id.parse().unwrap(),
                agent: id.parse().unwrap(),
                parent: None,
                at_ms: 0,
                kind,
            };
            let (promise, _ack) = Ack::pair(None);
            queue.push(Batch::prepare(vec![event]).unwrap(), promise);
        }
        queue.hurry();
    }

    fn taken(queue: &Queue) -> usize {
        match queue.take() {
            WriterStep::Commit(waiting) => waiting.len(),
            WriterStep::Work(_) | WriterStep::End => 0,
        }
    }

    #[test]
    fn who_waits_makes_the_writer_hurry_unless_many_write() {
        let queue = Arc::new(Queue::default());
        ask(&queue, limits::CROWD_BATCHES);
        assert!(!queue.lock().can_wait(), "few wrote before");
        assert_eq!(taken(&queue), limits::CROWD_BATCHES);

        ask(&queue, 1);
        assert!(queue.lock().can_wait(), "many wrote before");
        assert_eq!(taken(&queue), 1);
        ask(&queue, 1);
        assert!(!queue.lock().can_wait(), "few wrote before");
        assert_eq!(taken(&queue), 1);
    }

    #[test]
    fn a_job_never_waits_for_more_to_come() {
        let queue = Arc::new(Queue::default());
        ask(&queue, limits::CROWD_BATCHES);
        assert_eq!(taken(&queue), limits::CROWD_BATCHES);
        ask(&queue, 1);
        queue.push_job(Box::new(|_| ()));
        assert!(!queue.lock().can_wait());
        assert_eq!(taken(&queue), 1);
        assert!(matches!(queue.take(), WriterStep::Work(_)));
    }
}
