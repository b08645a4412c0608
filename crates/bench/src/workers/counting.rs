//! Home's courier, counted: letters and bytes in both directions, and when each agent was offered, claimed, granted and asked for its
//! first model call. It knows no transport.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use posse_cluster::{
    BlobId, CourierFuture, Down, DownBody, HomeCourier, HomeName, HomeNews, PostedOffer, RunDown, RunUp,
    Seal, SeenWorker, UpBody, WorkerName,
};
use posse_protocol::AgentId;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// What went through a courier.
#[derive(Default)]
pub(super) struct Counts {
    letters_up: AtomicU64,
    letters_down: AtomicU64,
    /// Offers, letters and blobs that home sent.
    bytes_down: AtomicU64,
    bytes_up: AtomicU64,
    blobs: AtomicU64,
    /// Which agent came to what, when, and what home had sent by then.
    steps: Mutex<Vec<(AgentId, &'static str, u64, u64)>>,
}

impl Counts {
    pub(super) fn json(&self) -> Value {
        let of = |one: &AtomicU64| one.load(Ordering::Relaxed);
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let steps: Vec<Value> =
            steps.iter().map(|(agent, step, us, sent)| json!([agent.to_string(), step, us, sent])).collect();
        json!({
            "letters_up": of(&self.letters_up),
            "letters_down": of(&self.letters_down),
            "bytes_up": of(&self.bytes_up),
            "bytes_down": of(&self.bytes_down),
            "blobs": of(&self.blobs),
            "steps": steps,
        })
    }

    fn note(&self, agent: AgentId, step: &'static str) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if !steps.iter().any(|(known, noted, _, _)| *known == agent && *noted == step) {
            steps.push((agent, step, now_us(), self.bytes_down.load(Ordering::Relaxed)));
        }
    }
}

/// Processes of one machine share this clock.
pub(super) fn now_us() -> u64 {
    let past = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(past.as_micros()).unwrap_or(u64::MAX)
}

/// A courier that is counted.
pub(super) struct Counting {
    pub(super) inner: Arc<dyn HomeCourier>,
    pub(super) counts: Arc<Counts>,
    /// Where each agent's steps are noted: letters are opened a second time for that, so not where processors are measured.
    pub(super) steps: Option<Arc<Seal>>,
}

impl HomeCourier for Counting {
    fn answer_to<'a>(&'a self, home: &'a HomeName) -> CourierFuture<'a, ()> {
        self.inner.answer_to(home)
    }

    fn offer(&self, offer: PostedOffer) -> CourierFuture<'_, ()> {
        if self.steps.is_some() {
            self.counts.note(offer.agent, "offered");
        }
        self.counts.letters_down.fetch_add(1, Ordering::Relaxed);
        self.counts.bytes_down.fetch_add(offer.bytes.len() as u64, Ordering::Relaxed);
        self.inner.offer(offer)
    }

    fn withdraw(&self, agent: AgentId) -> CourierFuture<'_, ()> {
        self.inner.withdraw(agent)
    }

    fn tell<'a>(&'a self, worker: &'a WorkerName, message: Bytes) -> CourierFuture<'a, ()> {
        self.counts.letters_down.fetch_add(1, Ordering::Relaxed);
        self.counts.bytes_down.fetch_add(message.len() as u64, Ordering::Relaxed);
        if let Some(seal) = &self.steps
            && let Ok(Down { body: DownBody::Run { about, said }, .. }) = seal.open_down(&message, worker)
            && matches!(said, RunDown::Granted { .. })
        {
            self.counts.note(about.agent, "granted");
        }
        self.inner.tell(worker, message)
    }

    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<HomeNews>> {
        Box::pin(async move {
            let mut heard = self.inner.follow().await?;
            let (sender, receiver) = mpsc::channel(256);
            let (counts, seal) = (Arc::clone(&self.counts), self.steps.clone());
            tokio::spawn(async move {
                while let Some(news) = heard.recv().await {
                    if let HomeNews::Message { from, letter } = &news {
                        counts.letters_up.fetch_add(1, Ordering::Relaxed);
                        counts.bytes_up.fetch_add(letter.len() as u64, Ordering::Relaxed);
                        if let Some(Ok(up)) = seal.as_ref().map(|seal| seal.open_up(letter, from))
                            && let UpBody::Run { about, said } = up.body
                        {
                            match said {
                                RunUp::Claim { .. } => counts.note(about.agent, "claimed"),
                                RunUp::Request { .. } => counts.note(about.agent, "asked"),
                                RunUp::Final { .. } => counts.note(about.agent, "ended"),
                                _ => {}
                            }
                        }
                    }
                    if sender.send(news).await.is_err() {
                        return;
                    }
                }
            });
            Ok(receiver)
        })
    }

    fn put_blob<'a>(&'a self, worker: &'a WorkerName, from: &'a Path) -> CourierFuture<'a, BlobId> {
        self.counts.blobs.fetch_add(1, Ordering::Relaxed);
        let bytes = std::fs::metadata(from).map_or(0, |found| found.len());
        self.counts.bytes_down.fetch_add(bytes, Ordering::Relaxed);
        self.inner.put_blob(worker, from)
    }

    fn get_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()> {
        Box::pin(async move {
            self.inner.get_blob(worker, id, to).await?;
            self.counts.blobs.fetch_add(1, Ordering::Relaxed);
            let bytes = std::fs::metadata(to).map_or(0, |found| found.len());
            self.counts.bytes_up.fetch_add(bytes, Ordering::Relaxed);
            Ok(())
        })
    }

    fn drop_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId) -> CourierFuture<'a, ()> {
        self.inner.drop_blob(worker, id)
    }

    fn workers(&self) -> Vec<SeenWorker> {
        self.inner.workers()
    }

    fn message_bytes_max(&self) -> usize {
        self.inner.message_bytes_max()
    }
}
