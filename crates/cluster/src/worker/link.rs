//! The way of an agent on a worker to its home: whether it may act, and what it asks.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use posse_engine::remote::{HomeLink, HomeReply, HomeRequest};
use tokio::sync::{Notify, mpsc, oneshot};

use super::{Busy, Waits, WorkerInner};
use crate::message::RawBody;
use crate::worker_lease::{WorkerLease, WorkerPhase};

pub(crate) type RunLease = WorkerLease<RawBody, RawBody>;

/// What a run and its agent share.
pub(crate) struct RunLink {
    inner: Arc<WorkerInner>,
    lease: Mutex<RunLease>,
    /// Said whenever the lease may have changed.
    changed: Notify,
    /// How many items home had when the run began.
    before: AtomicU64,
    asks: mpsc::UnboundedSender<AgentAsk>,
    busy: Arc<Busy>,
}

/// A request of the agent.
pub(crate) struct AgentAsk {
    pub(crate) request: HomeRequest,
    /// How many items come before it.
    pub(crate) after: u64,
    pub(crate) answer: oneshot::Sender<HomeReply>,
}

impl RunLink {
    pub(crate) fn new(
        inner: Arc<WorkerInner>,
        lease: RunLease,
        asks: mpsc::UnboundedSender<AgentAsk>,
        busy: Arc<Busy>,
    ) -> Arc<Self> {
        let (changed, before) = (Notify::new(), AtomicU64::new(0));
        Arc::new(Self { inner, lease: Mutex::new(lease), changed, before, asks, busy })
    }

    /// Uses the lease; whoever waits for it looks again.
    pub(crate) fn lease<T>(&self, look: impl FnOnce(&mut RunLease, u64) -> T) -> T {
        let came = look(&mut self.lock(), self.inner.now_ms());
        self.changed.notify_waiters();
        came
    }

    fn lock(&self) -> MutexGuard<'_, RunLease> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// While the guard lives, the agent takes no room.
    pub(crate) fn waits(&self) -> Waits {
        self.busy.wait()
    }

    /// The agent begins after so many items.
    pub(crate) fn begins_after(&self, recorded: u64) {
        self.before.store(recorded, Ordering::Release);
    }

    fn number(&self, noted: u64) -> u64 {
        self.before.load(Ordering::Acquire).saturating_add(noted)
    }

    /// Whether the agent may act now.
    fn acts(&self, recorded: Option<u64>) -> bool {
        let lease = self.lock();
        let on_record = recorded.is_none_or(|noted| lease.acked() >= self.number(noted));
        lease.phase() == WorkerPhase::Held
            && lease.may_act(self.inner.now_ms())
            && !lease.is_full()
            && on_record
    }
}

impl HomeLink for RunLink {
    fn may_act(&self, recorded: Option<u64>) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            loop {
                let changed = self.changed.notified();
                if self.acts(recorded) {
                    return;
                }
                // A lease that runs out says nothing; one that is renewed does.
                let _ = tokio::time::timeout(Duration::from_secs(1), changed).await;
            }
        })
    }

    fn ask(&self, request: HomeRequest, after: u64) -> Pin<Box<dyn Future<Output = HomeReply> + Send + '_>> {
        Box::pin(async move {
            // A model call keeps the agent busy; whoever waits for others makes room for them.
            let _waits = (!matches!(request, HomeRequest::CallModel)).then(|| self.busy.wait());
            let idle = matches!(request, HomeRequest::Idle);
            let (answer, answered) = oneshot::channel();
            let _ = self.asks.send(AgentAsk { request, after: self.number(after), answer });
            let reply = match answered.await {
                Ok(reply) => reply,
                // The run is over, and the agent with it.
                Err(_) => std::future::pending().await,
            };
            if idle {
                // It is noted, and stays so until something comes.
                std::future::pending::<()>().await;
            }
            reply
        })
    }
}
