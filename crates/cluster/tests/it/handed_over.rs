//! Work that a worker cannot hand over at once, or at all: it is tried again, and what home does not get stays on the worker. The same for
//! what it cannot fetch.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use posse_cluster::limits::MESSAGE_BYTES_MAX;
use posse_cluster::{
    BlobId, ClaimedOffer, CourierError, CourierFuture, DownBody, HomeName, LabelName, LocalWorker,
    WorkerCourier, WorkerNews,
};
use posse_protocol::{Ending, EventKind, Grant, Network};
use posse_testkit::Turn;
use posse_workspace::bundle::Depot;
use serde_json::json;
use tokio::sync::mpsc;

use crate::fixture::soon;
use crate::orders::Speaker;
use crate::stage::{REPORT, Ran, Stage, StagedWorker, on_branch, start};

/// Where a repository on a worker has references to results.
const RESULTS: &str = "repository/.git/refs/posse/results";

/// What becomes of the number-th blob that is put, from 1; none if it is put.
type PutFault = Arc<dyn Fn(u64) -> Option<CourierError> + Send + Sync>;

/// Whether a blob that is to be in this file is lost.
type GetFault = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// What a courier does not carry.
struct Faults {
    put: PutFault,
    lost: GetFault,
    /// A longer letter.
    letter_bytes_max: usize,
}

impl Default for Faults {
    fn default() -> Self {
        Self { put: Arc::new(|_| None), lost: Arc::new(|_| false), letter_bytes_max: MESSAGE_BYTES_MAX }
    }
}

/// A courier with faults.
struct RoughCourier {
    courier: LocalWorker,
    puts: AtomicU64,
    faults: Faults,
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
        match (self.faults.put)(number) {
            Some(error) => Box::pin(async { Err(error) }),
            None => self.courier.put_blob(from),
        }
    }

    fn get_blob<'a>(&'a self, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()> {
        match (self.faults.lost)(&to.file_name().unwrap().to_string_lossy()) {
            true => Box::pin(async move { Err(CourierError::NoBlob(id)) }),
            false => self.courier.get_blob(id, to),
        }
    }

    fn message_bytes_max(&self) -> usize {
        self.faults.letter_bytes_max
    }
}

/// An agent of this role with these turns.
async fn stage_of(role: &str, turns: Vec<Turn>) -> Stage {
    let main = vec![
        Turn::call("agent", start(role, "write it")),
        Turn::call("agent", json!({"action": "wait"})),
        Turn::text("all done"),
    ];
    Stage::new([("main", main), (&format!("{role}-1"), turns)]).await
}

/// An agent that writes a file, and the worker that it is on.
async fn stage_with(
    fault: impl Fn(u64) -> Option<CourierError> + Send + Sync + 'static,
) -> (Stage, StagedWorker) {
    let write = Turn::call("shell", json!({"command": "echo done > done.txt"}));
    let stage = stage_of("implementer", vec![write, Turn::text(REPORT)]).await;
    let worker = rough_worker(&stage, Faults { put: Arc::new(fault), ..Faults::default() });
    (stage, worker)
}

fn rough_worker(stage: &Stage, faults: Faults) -> StagedWorker {
    let courier = stage.hub.worker("one".parse().unwrap());
    let courier = Arc::new(RoughCourier { courier, puts: AtomicU64::new(0), faults });
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
    let repository = folder.join("repository");
    stage.files.run_git(&["-C", repository.to_str().unwrap(), "show", &show])
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
    let (stage, worker) = stage_with(full).await;
    let report = run(&stage).await.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    let branch = report.receipt.branch.expect("its work is on a branch");
    assert_eq!(on_branch(&stage.files, &branch.name, "done.txt"), "done\n");
    worker.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_cannot_be_put_stays_on_the_worker() {
    let (stage, worker) = stage_with(|_| Some(CourierError::Closed)).await;
    let notes = failed_with(&run(&stage).await);
    assert!(notes.contains("the courier is closed") && notes.contains("refs/posse/results/"), "{notes}");
    assert_eq!(left_work(&stage, worker, "done.txt").await, "done\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_cannot_be_committed_stays_in_its_folder() {
    let gate = Arc::new(AtomicBool::new(false));
    let last = Turn::text(REPORT).after(&gate);
    let write = Turn::call("shell", json!({"command": "echo done > done.txt"}));
    let stage = stage_of("implementer", vec![write, last]).await;
    let worker = rough_worker(&stage, Faults::default());
    // A result's name begins with that of another reference, so git refuses it.
    let spoil = async {
        let placed = || {
            let found = std::fs::read_dir(stage.folder("one/repositories")).into_iter().flatten().flatten();
            found.map(|entry| entry.path()).find(|path| path.join("checkouts/1/done.txt").exists())
        };
        let depot = loop {
            match placed() {
                Some(depot) => break depot,
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        let checkout = depot.join("checkouts/1");
        let head = stage.files.run_git(&["-C", checkout.to_str().unwrap(), "rev-parse", "HEAD"]);
        std::fs::write(depot.join(RESULTS), head).unwrap();
        gate.store(true, Ordering::SeqCst);
    };
    let (ran, ()) = tokio::join!(run(&stage), soon("the agent's work", spoil));
    let notes = failed_with(&ran);
    assert!(notes.contains("it stays in the folder"), "{notes}");
    let folder = depot_folder(&stage);
    assert_eq!(std::fs::read_to_string(folder.join("checkouts/1/done.txt")).unwrap(), "done\n");
    std::fs::remove_file(folder.join(RESULTS)).unwrap();
    assert_eq!(left_work(&stage, worker, "done.txt").await, "done\n");
}

/// Home says the same again whenever it is asked, so the run that asks in vain ends, and another one asks anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_answer_that_is_lost_is_asked_for_by_another_run() {
    let content = "x".repeat(1 << 20);
    let agent =
        vec![Turn::call("write_file", json!({"path": "large.txt", "content": content})), Turn::text(REPORT)];
    let stage = stage_of("implementer", agent).await;
    // All that is said to the first run is lost.
    let first: Mutex<Option<String>> = Mutex::default();
    let lost = move |name: &str| {
        let Some((run, _)) = name.split_once("-said-") else { return false };
        *first.lock().unwrap().get_or_insert_with(|| run.to_owned()) == run
    };
    let worker = rough_worker(&stage, Faults { lost: Arc::new(lost), ..Faults::default() });
    let ran = soon("the end", stage.run("go")).await;
    let report = ran.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    assert_eq!(ran.workers_of("implementer-1"), ["one", "one"], "two runs");
    let branch = report.receipt.branch.expect("its work is on a branch");
    assert_eq!(on_branch(&stage.files, &branch.name, "large.txt"), content);
    worker.kill();
}

/// A broker may take shorter letters than we do. What an agent asks and does not fit is refused, and the agent goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_is_too_long_is_answered() {
    let ask = Turn::call("agent", start("explore", &"x".repeat(50_000)));
    let stage = stage_of("general", vec![ask, Turn::text(REPORT)]).await;
    let worker = rough_worker(&stage, Faults { letter_bytes_max: 40_000, ..Faults::default() });
    let ran = soon("the end", stage.run("go")).await;
    assert_eq!(ran.report_of("general-1").ending, Ending::Completed);
    let told = ran.of("general-1").into_iter().find_map(|kind| match kind {
        EventKind::ToolFinished { ok, text, .. } => Some((*ok, text.clone())),
        _ => None,
    });
    assert!(matches!(&told, Some((false, text)) if text.contains("does not fit")), "{told:?}");
    worker.kill();
}
