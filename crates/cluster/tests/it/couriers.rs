//! The couriers without a broker: within a process, and over pipes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::future::BoxFuture;
use posse_cluster::{
    CarryFaults, HomeCourier, HomeName, HomeNews, LocalHome, LocalHub, LocalWay, PipeHome, PipeWorker,
    WhenFull, WorkerCourier,
};
use tempfile::TempDir;

use crate::contract::{Place, keeps_the_contract};
use crate::fixture::{home_message, labels, nothing, offer, shelf, shelves, soon};

fn home_name() -> HomeName {
    "home".parse().unwrap()
}

struct LocalPlace {
    hub: LocalHub,
    home: Arc<LocalHome>,
    folder: TempDir,
}

impl LocalPlace {
    async fn new() -> Self {
        Self::with(None).await
    }

    async fn with(faults: Option<Arc<dyn CarryFaults>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hub = LocalHub::new(shelves(&folder.path().join("shelves")), faults);
        Self { home: Arc::new(hub.home(home_name())), hub, folder }
    }
}

impl Place for LocalPlace {
    fn home(&self) -> Arc<dyn HomeCourier> {
        self.home.clone()
    }

    fn home_name(&self) -> HomeName {
        home_name()
    }

    fn worker<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Arc<dyn WorkerCourier>> {
        let worker: Arc<dyn WorkerCourier> = Arc::new(self.hub.worker(name.parse().unwrap()));
        Box::pin(async { worker })
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }
}

struct PipePlace {
    home: Arc<PipeHome>,
    folder: TempDir,
}

impl PipePlace {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shelves = shelves(&folder.path().join("shelves"));
        Self { home: Arc::new(PipeHome::new(shelves)), folder }
    }

    async fn start(&self, name: &str) -> PipeWorker {
        let name = name.parse().unwrap();
        let folder: PathBuf = self.folder.path().join(format!("cache of {name}"));
        let shelf = Arc::new(shelf(&folder, WhenFull::DropOldest).await);
        let (ours, theirs) = tokio::io::duplex(16 << 10);
        let (reader, writer) = tokio::io::split(ours);
        self.home.add(&name, reader, writer).unwrap();
        let (reader, writer) = tokio::io::split(theirs);
        PipeWorker::start(&name, shelf, reader, writer)
    }
}

impl Place for PipePlace {
    fn home(&self) -> Arc<dyn HomeCourier> {
        self.home.clone()
    }

    fn home_name(&self) -> HomeName {
        home_name()
    }

    fn worker<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Arc<dyn WorkerCourier>> {
        Box::pin(async move { Arc::new(self.start(name).await) as Arc<dyn WorkerCourier> })
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }
}

#[tokio::test]
async fn a_process_keeps_the_contract() {
    assert_eq!(keeps_the_contract(LocalPlace::new).await, 8);
}

#[tokio::test]
async fn pipes_keep_the_contract() {
    assert_eq!(keeps_the_contract(PipePlace::new).await, 8);
}

#[tokio::test]
async fn a_worker_that_is_gone_leaves_its_offers() {
    let place = PipePlace::new().await;
    let mut news = place.home.follow().await.unwrap();
    let (one, two) = (place.start("one").await, place.start("two").await);
    place.home.offer(offer(1, &[])).await.unwrap();
    let claimed = soon("an offer", one.claim(&labels(&[]))).await.unwrap();
    assert!(nothing(two.claim(&labels(&[]))).await);
    drop(one);
    let again = soon("the offer again", two.claim(&labels(&[]))).await.unwrap();
    assert_eq!(again.bytes, claimed.bytes);
    assert_eq!(soon("the end", news.recv()).await, Some(HomeNews::WorkerGone("one".parse().unwrap())));
    let told = place.home.tell(&"one".parse().unwrap(), Bytes::from("x")).await;
    assert!(told.is_err());
}

/// Loses every second message and doubles the others.
struct EverySecond(AtomicU64);

impl CarryFaults for EverySecond {
    fn carry(&self, _: &LocalWay, _: &Bytes) -> Vec<u64> {
        match self.0.fetch_add(1, Ordering::Relaxed) % 2 {
            0 => vec![0, 20],
            _ => Vec::new(),
        }
    }
}

#[tokio::test]
async fn faults_can_be_asked_for() {
    let place = LocalPlace::with(Some(Arc::new(EverySecond(AtomicU64::new(0))))).await;
    let mut news = place.home.follow().await.unwrap();
    let worker = place.worker("one").await;
    for number in 0..4 {
        worker.append(&home_name(), Bytes::from(format!("{number}"))).await.unwrap();
    }
    let mut heard = Vec::new();
    for _ in 0..4 {
        heard.push(home_message(&mut news).await);
    }
    heard.sort();
    assert_eq!(heard, ["0", "0", "2", "2"]);
}
