//! Small things that several tests need.

use std::collections::BTreeSet;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use posse_cluster::{BlobShelf, BlobShelves, HomeNews, LabelName, PostedOffer, Wants, WhenFull, WorkerNews};
use posse_protocol::AgentId;
use tokio::sync::mpsc;
use uuid::Uuid;

pub(crate) fn agent(number: u128) -> AgentId {
    AgentId::from(Uuid::from_u128(number))
}

pub(crate) fn labels(names: &[&str]) -> BTreeSet<LabelName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

/// An offer of an agent, the first after epoch 0, for workers with these labels.
pub(crate) fn offer(number: u128, names: &[&str]) -> PostedOffer {
    let wants = Wants { name: None, labels: labels(names) };
    let bytes = Bytes::from(format!("offer {number}"));
    PostedOffer { agent: agent(number), epoch: 0, attempt: 1, wants, bytes }
}

pub(crate) async fn shelf(folder: &Path, when_full: WhenFull) -> BlobShelf {
    BlobShelf::open(folder, 64 << 20, when_full).await.unwrap()
}

pub(crate) fn shelves(folder: &Path) -> BlobShelves {
    BlobShelves::new(folder.to_owned(), 64 << 20)
}

/// A file with random bytes.
pub(crate) fn file(folder: &Path, name: &str, bytes: usize, seed: u64) -> PathBuf {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut content = vec![0; bytes];
    rng.fill(&mut content);
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// Waits, but not for ever.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(300), future).await {
        Ok(value) => value,
        Err(_) => panic!("waited too long for: {what}"),
    }
}

/// Whether nothing happens for a while.
pub(crate) async fn nothing<T>(future: impl Future<Output = T>) -> bool {
    tokio::time::timeout(Duration::from_millis(400), future).await.is_err()
}

pub(crate) async fn home_message(news: &mut mpsc::Receiver<HomeNews>) -> Bytes {
    loop {
        match soon("a message for home", news.recv()).await {
            Some(HomeNews::Message { letter, .. }) => return letter,
            Some(_) => {}
            None => panic!("home hears nothing any more"),
        }
    }
}

pub(crate) async fn worker_message(news: &mut mpsc::Receiver<WorkerNews>) -> Bytes {
    loop {
        match soon("a message for the worker", news.recv()).await {
            Some(WorkerNews::Message(message)) => return message,
            Some(_) => {}
            None => panic!("the worker hears nothing any more"),
        }
    }
}

/// What this process has in memory.
pub(crate) fn memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1_024
}
