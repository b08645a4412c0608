//! Work that a worker cannot hand over at once, or at all: it is tried again, and what home does not get stays on the worker. The same for
//! what it cannot fetch.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use posse_cluster::{
    BlobId, ClaimedOffer, CourierError, CourierFuture, DownBody, HomeName, LabelName, LocalWorker,
    WorkerCourier, WorkerNews,
};
use posse_protocol::{Ending, Grant, Network};
use posse_testkit::Turn;
use posse_workspace::bundle::Depot;
use serde_json::json;
use tokio::sync::mpsc;

use crate::fixture::soon;
use crate::orders::Speaker;
use crate::stage::{REPORT, Ran, Stage, StagedWorker, on_branch, start};

/// What becomes of the number-th blob that is put, from 1; none if it is put.
type PutFault = Arc<dyn Fn(u64) -> Option<CourierError> + Send + Sync>;

/// Whether a blob that is to be in this file is lost.
type GetFault = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// A courier that does not carry each blob.
struct RoughCourier {
    courier: LocalWorker,
    puts: AtomicU64,
    fault: PutFault,
    lost: GetFault,
}

impl WorkerCourier for RoughCourier {
    fn claim<'a>(&'a self, labels: &'a BTreeSet<LabelName>) -> CourierFuture<'a, ClaimedOffer> {
        self.courier.claim(labels)
    }

    fn hello(&self, message: Bytes) -> CourierFuture<'_, ()> {
        self.courier.hello(message)
    }

    fn append<'a>(&'a self, home: &'a HomeName, message: Bytes) -> CourierFuture<'a, ()> {
        self.courier.append(home, message)
    }

    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<WorkerNews>> {
        self.courier.follow()
    }

    fn put_blob<'a>(&'a self, from: &'a Path) -> CourierFuture<'a, BlobId> {
        let number = self.puts.fetch_add(1, Ordering::SeqCst) + 1;
        match (self.fault)(number) {
            Some(error) => Box::pin(async { Err(error) }),
            None => self.courier.put_blob(from),
        }
    }

    fn get_blob<'a>(&'a self, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()> {
        match (self.lost)(&to.file_name().unwrap().to_string_lossy()) {
            true => Box::pin(async move { Err(CourierError::NoBlob(id)) }),
            false => self.courier.get_blob(id, to),
        }
    }
}

/// An agent that does this, and the worker that it is on.
async fn stage_with(
    command: &str,
    fault: impl Fn(u64) -> Option<CourierError> + Send + Sync + 'static,
) -> (Stage, StagedWorker) {
    let main = vec![
        Turn::call("agent", start("implementer", "write it")),
        Turn::call("agent", json!({"action": "wait"})),
        Turn::text("all done"),
    ];
    let agent = vec![Turn::call("shell", json!({"command": command})), Turn::text(REPORT)];
    let stage = Stage::new([("main", main), ("implementer-1", agent)]).await;
    let worker = rough_worker(&stage, Arc::new(fault), Arc::new(|_| false));
    (stage, worker)
}

fn rough_worker(stage: &Stage, fault: PutFault, lost: GetFault) -> StagedWorker {
    let courier = stage.hub.worker("one".parse().unwrap());
    let courier = Arc::new(RoughCourier { courier, puts: AtomicU64::new(0), fault, lost });
    let ceiling = Grant { network: Network::None, ..Grant::full() };
    let made = || async { courier as Arc<dyn WorkerCourier> };
    stage.worker_over(made, "one", &[], (ceiling, 4))
}

/// Runs it, and waits until the worker has let go of the agent, too.
async fn run(stage: &Stage) -> Ran {
    let ran = stage.run("go").await;
    let mut speaker = Speaker::new(stage).await;
    soon("the worker to have let go", async {
        while speaker.hello_after(DownBody::SayHello).await.room < 4 {}
    })
    .await;
    ran
}

/// The only depot of the worker.
fn depot_folder(stage: &Stage) -> PathBuf {
    let folders = std::fs::read_dir(stage.folder("one/repositories")).unwrap().flatten();
    let mut depots = folders.map(|entry| entry.path()).filter(|path| path.join("checkouts").is_dir());
    let depot = depots.next().expect("there is a repository");
    assert!(depots.next().is_none());
    depot
}

/// What the worker has of the agent, once it was started again.
async fn left_work(stage: &Stage, worker: StagedWorker, path: &str) -> String {
    worker.kill();
    let folder = depot_folder(stage);
    let depot = Depot::open(&folder, false).await.unwrap();
    let results = depot.results().await.unwrap();
    assert_eq!(results.len(), 1, "{results:?}");
    let show = format!("{}:{path}", results[0].1);
    let mut git = std::process::Command::new("git");
    let shown = git.arg("-C").arg(folder.join("repository")).args(["show", &show]).output().unwrap();
    String::from_utf8(shown.stdout).unwrap()
}

/// What the only agent ended with, and what is noted about its work.
fn failed_with(ran: &Ran) -> String {
    let report = ran.report_of("implementer-1");
    assert!(matches!(report.ending, Ending::Failed { .. }), "{report:?}");
    report.notes.join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_put_again_until_there_is_room() {
    let full = |number| {
        let refused = CourierError::Refused("the bucket is full".to_owned());
        let large = CourierError::BlobTooLarge { bytes: 2, max: 1 };
        [Some(refused), Some(large)].into_iter().nth(number as usize - 1).flatten()
    };
    let (stage, worker) = stage_with("echo done > done.txt", full).await;
    let report = run(&stage).await.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    let branch = report.receipt.branch.expect("its work is on a branch");
    assert_eq!(on_branch(&stage.files, &branch.name, "done.txt"), "done\n");
    worker.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_cannot_be_put_stays_on_the_worker() {
    let (stage, worker) = stage_with("echo done > done.txt", |_| Some(CourierError::Closed)).await;
    let notes = failed_with(&run(&stage).await);
    assert!(notes.contains("the courier is closed") && notes.contains("refs/posse/results/"), "{notes}");
    assert_eq!(left_work(&stage, worker, "done.txt").await, "done\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_cannot_be_committed_stays_in_its_folder() {
    // A result's name begins with that of another reference, so git refuses it.
    let spoil = "echo done > done.txt; d=$(git rev-parse --git-common-dir); mkdir -p $d/refs/posse; \
                 git rev-parse HEAD > $d/refs/posse/results";
    let (stage, worker) = stage_with(spoil, |_| None).await;
    let notes = failed_with(&run(&stage).await);
    assert!(notes.contains("it stays in the folder"), "{notes}");
    let folder = depot_folder(&stage);
    assert_eq!(std::fs::read_to_string(folder.join("checkouts/1/done.txt")).unwrap(), "done\n");
    std::fs::remove_file(folder.join("repository/.git/refs/posse/results")).unwrap();
    assert_eq!(left_work(&stage, worker, "done.txt").await, "done\n");
}

/// Home says the same again whenever it is asked, so the run that asks in vain ends, and another one asks anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_answer_that_is_lost_is_asked_for_by_another_run() {
    let main = vec![
        Turn::call("agent", start("implementer", "write it")),
        Turn::call("agent", json!({"action": "wait"})),
        Turn::text("all done"),
    ];
    let content = "x".repeat(1 << 20);
    let agent =
        vec![Turn::call("write_file", json!({"path": "large.txt", "content": content})), Turn::text(REPORT)];
    let stage = Stage::new([("main", main), ("implementer-1", agent)]).await;
    // All that is said to the first run is lost.
    let first: Mutex<Option<String>> = Mutex::default();
    let lost = move |name: &str| {
        let Some((run, _)) = name.split_once("-said-") else { return false };
        *first.lock().unwrap().get_or_insert_with(|| run.to_owned()) == run
    };
    let worker = rough_worker(&stage, Arc::new(|_| None), Arc::new(lost));
    let ran = soon("the end", stage.run("go")).await;
    let report = ran.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    assert_eq!(ran.workers_of("implementer-1"), ["one", "one"], "two runs");
    let branch = report.receipt.branch.expect("its work is on a branch");
    assert_eq!(on_branch(&stage.files, &branch.name, "large.txt"), content);
    worker.kill();
}
