//! The governors of a process, one per endpoint, and the waiting that the state machine leaves to others.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, oneshot};

use crate::governor::{Governor, Outcome, Ticket};
use crate::http::Clients;
use crate::limits;

/// What all models of a process share: one governor per endpoint, and the connections. Clones are the same.
#[derive(Clone, Default)]
pub struct Governors {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    endpoints: Mutex<HashMap<String, GovernedEndpoint>>,
    clients: Clients,
}

impl fmt::Debug for Governors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints = lock(&self.shared.endpoints);
        f.debug_set().entries(endpoints.keys()).finish()
    }
}

impl Governors {
    /// None yet; they appear as models are made.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn endpoint(&self, key: &str) -> GovernedEndpoint {
        let mut endpoints = lock(&self.shared.endpoints);
        endpoints.entry(key.to_owned()).or_insert_with(GovernedEndpoint::new).clone()
    }

    pub(crate) fn clients(&self) -> &Clients {
        &self.shared.clients
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One endpoint's governor, with those who wait for it.
#[derive(Clone)]
pub(crate) struct GovernedEndpoint {
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    started: Instant,
    /// Whether a model here has made a call by the protocol.
    makes_calls: AtomicBool,
    /// A hold has begun: those who waited for others to leave must now also watch the clock.
    held: Notify,
}

struct State {
    governor: Governor,
    /// Who is to be told when their ticket is granted. Entries leave with the grant or with the waiter.
    waiters: HashMap<Ticket, oneshot::Sender<()>>,
}

impl GovernedEndpoint {
    fn new() -> Self {
        let state = State { governor: Governor::new(limits::CONCURRENT_MAX), waiters: HashMap::new() };
        Self {
            inner: Arc::new(Inner {
                state: Mutex::new(state),
                started: Instant::now(),
                makes_calls: AtomicBool::new(false),
                held: Notify::new(),
            }),
        }
    }

    /// Whether a model here has made a call by the protocol, ever since there were models.
    pub(crate) fn makes_calls(&self) -> bool {
        self.inner.makes_calls.load(Ordering::SeqCst)
    }

    /// A model here has made a call by the protocol.
    pub(crate) fn made_a_call(&self) {
        self.inner.makes_calls.store(true, Ordering::SeqCst);
    }

    /// Waits for a place; `queued` is called once if there is none at once. Dropping the future gives up the place.
    /// `max_concurrent` is what the model allows here: it counts from its first request on, so that a model that nobody
    /// uses holds nobody up.
    pub(crate) async fn enter(&self, max_concurrent: usize, queued: impl FnOnce()) -> RequestPermit {
        let (sender, mut granted) = oneshot::channel();
        let place = {
            let mut state = lock(&self.inner.state);
            state.governor.restrict(max_concurrent);
            let ticket = state.governor.join();
            state.waiters.insert(ticket, sender);
            Place { endpoint: self.clone(), ticket, owned: true }
        };
        self.pump();
        if granted.try_recv().is_ok() {
            return place.into_permit();
        }
        queued();
        loop {
            let hold_begins = self.inner.held.notified();
            let wake = self.pump();
            let asleep = async {
                match wake {
                    Some(delay) => tokio::time::sleep(delay).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                _ = &mut granted => break,
                () = asleep => {}
                () = hold_begins => {}
            }
        }
        place.into_permit()
    }

    /// Grants what can be granted; returns how long until it is worth asking again.
    fn pump(&self) -> Option<Duration> {
        let now_ms = self.now_ms();
        let mut state = lock(&self.inner.state);
        while let Some(ticket) = state.governor.grant(now_ms) {
            // A receiver that is gone has its place given back by its `Place`.
            if let Some(waiter) = state.waiters.remove(&ticket) {
                waiter.send(()).ok();
            }
        }
        state.governor.wake_ms(now_ms).map(|at_ms| Duration::from_millis(at_ms - now_ms))
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.inner.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn leave(&self, outcome: Outcome) {
        lock(&self.inner.state).governor.leave(outcome);
        self.pump();
        if matches!(outcome, Outcome::SlowDown { .. }) {
            self.inner.held.notify_waiters();
        }
    }
}

/// A place in the queue or, once granted, among the running. Given back when dropped.
struct Place {
    endpoint: GovernedEndpoint,
    ticket: Ticket,
    owned: bool,
}

impl Place {
    fn into_permit(mut self) -> RequestPermit {
        self.owned = false;
        RequestPermit { endpoint: self.endpoint.clone(), outcome: Outcome::Neither }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        let was_waiting = {
            let mut state = lock(&self.endpoint.inner.state);
            state.governor.forget(self.ticket);
            state.waiters.remove(&self.ticket).is_some()
        };
        if !was_waiting {
            self.endpoint.leave(Outcome::Neither);
        }
    }
}

/// The right to have one request running. Given back when dropped.
pub(crate) struct RequestPermit {
    endpoint: GovernedEndpoint,
    outcome: Outcome,
}

impl RequestPermit {
    /// The request was answered.
    pub(crate) fn succeeded(&mut self) {
        self.outcome = Outcome::Success;
    }

    /// The endpoint asked for less; all its requests are held for so long.
    pub(crate) fn slow_down(&mut self, hold_ms: u64) {
        self.outcome = Outcome::SlowDown { until_ms: self.endpoint.now_ms().saturating_add(hold_ms) };
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        self.endpoint.leave(self.outcome);
    }
}
