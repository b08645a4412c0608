//! What waits to be written, and the promises made for it. Bounded, and never blocking for those who put things in.
//! It must not know the database.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use posse_protocol::Seq;
use tokio::sync::oneshot;

use crate::project::type_word;
use crate::{NewEvent, StoreError, limits};

/// Resolves once the events are on record and published, or are known not to be.
#[must_use = "an event is on record only when its Ack says so"]
#[derive(Debug)]
pub struct Ack {
    outcome: oneshot::Receiver<Result<Seq, StoreError>>,
}

/// The writer's end of an [`Ack`]. Dropped without being kept, it resolves to [`StoreError::Closed`].
pub(crate) struct Promise {
    outcome: oneshot::Sender<Result<Seq, StoreError>>,
}

impl Ack {
    pub(crate) fn pair() -> (Promise, Self) {
        let (sender, receiver) = oneshot::channel();
        (Promise { outcome: sender }, Self { outcome: receiver })
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
        Pin::new(&mut self.outcome).poll(context).map(|outcome| outcome.unwrap_or(Err(StoreError::Closed)))
    }
}

/// An event with its JSON.
pub(crate) struct Prepared {
    pub(crate) event: NewEvent,
    pub(crate) body: String,
}

/// Events that go on record together or not at all.
pub(crate) struct Batch {
    pub(crate) events: Vec<Prepared>,
    bytes: usize,
}

impl Batch {
    /// Writes the events as JSON, so that their size is known before they wait.
    pub(crate) fn prepare(events: Vec<NewEvent>) -> Result<Self, StoreError> {
        let mut batch = Self { events: Vec::with_capacity(events.len()), bytes: 0 };
        for event in events {
            let kind = type_word(&event.kind);
            let body =
                serde_json::to_string(&event.kind).map_err(|source| StoreError::NotJson { kind, source })?;
            if body.len() > limits::EVENT_BYTES_MAX {
                return Err(StoreError::TooLarge {
                    kind,
                    bytes: body.len(),
                    bytes_max: limits::EVENT_BYTES_MAX,
                });
            }
            batch.bytes += body.len();
            batch.events.push(Prepared { event, body });
        }
        Ok(batch)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

/// A batch and the promise made for it.
pub(crate) struct Waiting {
    pub(crate) batch: Batch,
    pub(crate) promise: Promise,
}

/// The batches between those who append and the writer.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    events: usize,
    bytes: usize,
    closed: bool,
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
        if full && !state.waiting.is_empty() {
            return promise.keep(Err(StoreError::QueueFull { events: state.events }));
        }
        (state.events, state.bytes) = (events, bytes);
        state.waiting.push_back(Waiting { batch, promise });
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for batches and takes as many as one transaction should hold; none means that the queue is closed and
    /// empty.
    pub(crate) fn take(&self) -> Vec<Waiting> {
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let mut taken = Vec::new();
        let mut events = 0;
        while let Some(next) = state.waiting.front() {
            events += next.batch.events.len();
            if !taken.is_empty() && events > limits::COMMIT_EVENTS_MAX {
                break;
            }
            let Some(next) = state.waiting.pop_front() else { break };
            state.events -= next.batch.events.len();
            state.bytes -= next.batch.bytes;
            taken.push(next);
        }
        taken
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
