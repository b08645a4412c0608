//! What does not fit into a letter, over a courier that has lost each blob when home wants it for the first time.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use posse_cluster::{
    BlobId, CourierError, CourierFuture, HomeCourier, HomeName, HomeNews, PostedOffer, SeenWorker, WorkerName,
};
use posse_engine::Engine;
use posse_protocol::{AgentId, Ending, Event, EventKind, Update};
use posse_testkit::Turn;
use serde_json::json;
use tokio::sync::mpsc;

use crate::stage::{REPORT, Ran, Stage, start};

/// A courier that has lost each blob of a worker once.
struct Forgetful {
    inner: Arc<dyn HomeCourier>,
    lost: Mutex<HashSet<BlobId>>,
}

impl HomeCourier for Forgetful {
    fn answer_to<'a>(&'a self, home: &'a HomeName) -> CourierFuture<'a, ()> {
        self.inner.answer_to(home)
    }
    fn offer(&self, offer: PostedOffer) -> CourierFuture<'_, ()> {
        self.inner.offer(offer)
    }
    fn withdraw(&self, agent: AgentId) -> CourierFuture<'_, ()> {
        self.inner.withdraw(agent)
    }
    fn tell<'a>(&'a self, worker: &'a WorkerName, message: Bytes) -> CourierFuture<'a, ()> {
        self.inner.tell(worker, message)
    }
    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<HomeNews>> {
        self.inner.follow()
    }
    fn put_blob<'a>(&'a self, worker: &'a WorkerName, from: &'a Path) -> CourierFuture<'a, BlobId> {
        self.inner.put_blob(worker, from)
    }
    fn get_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()> {
        Box::pin(async move {
            if self.lost.lock().unwrap().insert(id) {
                self.inner.drop_blob(worker, id).await?;
                return Err(CourierError::NoBlob(id));
            }
            self.inner.get_blob(worker, id, to).await
        })
    }
    fn drop_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId) -> CourierFuture<'a, ()> {
        self.inner.drop_blob(worker, id)
    }
    fn workers(&self) -> Vec<SeenWorker> {
        self.inner.workers()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_courier_loses_is_put_again_and_long_words_arrive() {
    let gate = Arc::new(AtomicBool::new(false));
    let random = "head -c 3000000 /dev/urandom > large.bin; sha256sum large.bin | cut -c1-64 > sum.txt";
    let stage = Stage::new([
        (
            "main",
            vec![
                Turn::call("agent", start("implementer", "write it")),
                Turn::call("agent", json!({"action": "wait"})),
                Turn::text("all done"),
            ],
        ),
        (
            "implementer-1",
            vec![
                Turn::call("shell", json!({"command": random})),
                Turn::text(REPORT).after(&gate),
                Turn::text(REPORT),
            ],
        ),
    ])
    .await
    .with_worker("one", &[]);
    let courier =
        Forgetful { inner: Arc::new(stage.hub.home("home".parse().unwrap())), lost: Mutex::default() };
    let courier = Arc::new(courier);
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let fleet = stage.fleet_over(Arc::clone(&courier) as Arc<dyn HomeCourier>);
    let mut session = engine.start(stage.request("go", fleet)).unwrap();
    let long = "All of this is to be read. ".repeat(40_000);
    assert!(long.len() > posse_cluster::limits::ITEM_BYTES_MAX);
    let mut events = Vec::new();
    while let Some(update) = session.next().await {
        let Update::Event(event) = update else { continue };
        match &event.kind {
            // It waits for its model meanwhile, however long the words take.
            EventKind::WorkKept { .. } => assert!(session.tell("implementer-1", &long, true)),
            EventKind::Told { text, .. } if text.contains(long.trim()) => gate.store(true, Ordering::SeqCst),
            _ => {}
        }
        events.push(Event::clone(&event));
    }
    let ran = Ran { events, report: session.report().await.unwrap() };
    let report = ran.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    let told = ran.of("implementer-1").into_iter();
    let told = told.filter(|kind| matches!(kind, EventKind::Told { text, .. } if text.contains(long.trim())));
    assert_eq!(told.count(), 1, "the whole of it, once");
    let branch = report.receipt.branch.expect("a branch").name;
    let sum = stage.files.run_git(&["show", &format!("{branch}:sum.txt")]);
    let large = stage.files.run_git(&["cat-file", "-s", &format!("{branch}:large.bin")]);
    assert_eq!((sum.trim().len(), large.trim()), (64, "3000000"));
    assert!(courier.lost.lock().unwrap().len() >= 3, "an item with a file, the long words, the result");
    assert_eq!(ran.workers_of("implementer-1"), ["one"], "no run was lost for it");
}
