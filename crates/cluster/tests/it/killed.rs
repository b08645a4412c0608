//! Workers that are lost at any moment, and couriers that carry badly: what a session comes to is the same. Here they are in this
//! process, so that moments are within steps of its own; `cli/tests/it/workers/killed.rs` kills real processes (C2).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use posse_cluster::{CarryFaults, LeaseTimes, LocalWay};
use posse_engine::Engine;
use posse_protocol::{Ending, Event, EventKind, Update};
use posse_testkit::{Captured, Turn, asker};
use serde_json::json;

use crate::stage::{REPORT, Ran, Stage, finish, on_branch, start};

/// How many moments are tried; more for soaking.
fn seeds() -> u64 {
    std::env::var("POSSE_SOAK").map_or(20, |_| 500)
}

/// The script of everybody here, by what the conversation holds.
fn script(request: &Captured) -> Turn {
    let request = request.json();
    let turn =
        request["messages"].as_array().unwrap().iter().filter(|one| one["role"] == "assistant").count();
    let turns = match asker(&request).as_str() {
        "main" => vec![
            Turn::call("agent", start("implementer", "write it")),
            Turn::call("agent", json!({"action": "wait"})),
            Turn::text("all done"),
        ],
        _ => vec![
            Turn::call("write_file", json!({"path": "one.txt", "content": "1\n"})),
            Turn::call("shell", json!({"command": "echo 2 >> one.txt; echo x > sub/x.txt"})),
            Turn::call("agent", start("explore", "look")),
            Turn::call("shell", json!({"command": "echo 3 >> one.txt; rm a.txt"})),
            Turn::text(REPORT),
            Turn::text(REPORT),
        ],
    };
    if asker(&request).starts_with("explore") {
        return Turn::text(REPORT);
    }
    turns.get(turn).cloned().unwrap_or_else(|| Turn::text(REPORT))
}

/// What a session came to, without what only says where and when.
fn outcome(stage: &Stage, ran: &Ran) -> (String, Vec<String>, Vec<String>) {
    let report = ran.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    let branch = report.receipt.branch.as_ref().expect("a branch");
    let tree = stage.files.run_git(&["ls-tree", "-r", &branch.name]);
    let steps = ran.of("implementer-1").into_iter().filter_map(|kind| match kind {
        EventKind::Replied { turn, reply, .. } => Some(format!("{turn} {:?} {:?}", reply.text, reply.calls)),
        EventKind::ToolFinished { tool, ok, text, .. } if tool != "agent" => {
            Some(format!("{tool} {ok} {text}"))
        }
        _ => None,
    });
    let admitted = ran.events.iter().filter_map(|event| match &event.kind {
        EventKind::AgentAdmitted { name, .. } => Some(name.clone()),
        _ => None,
    });
    (tree, steps.collect(), admitted.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_lost_at_any_moment_change_nothing() {
    let stage = Stage::by_rule(script, None).await;
    let worker = stage.worker("one", &[]);
    let began = std::time::Instant::now();
    let wanted = outcome(&stage, &stage.run("go").await);
    let usual_ms = u64::try_from(began.elapsed().as_millis()).unwrap();
    worker.kill();
    let (seeds, lost) = (seeds(), Arc::new(AtomicUsize::new(0)));
    let next = Arc::new(AtomicUsize::new(0));
    let lanes = (0..3).map(|_| {
        let (next, wanted, lost) = (Arc::clone(&next), wanted.clone(), Arc::clone(&lost));
        tokio::spawn(async move {
            let mut ran = 0;
            loop {
                let seed = next.fetch_add(1, Ordering::SeqCst) as u64;
                if seed >= seeds {
                    return ran;
                }
                let moment_ms = fastrand::Rng::with_seed(seed).u64(0..usual_ms.max(1));
                lost.fetch_add(lose_at(seed, moment_ms, &wanted).await, Ordering::SeqCst);
                ran += 1;
            }
        })
    });
    let mut ran = 0;
    for lane in lanes.collect::<Vec<_>>() {
        ran += lane.await.unwrap();
    }
    assert_eq!(ran, seeds);
    assert!(
        lost.load(Ordering::SeqCst) as u64 >= seeds / 5,
        "too few workers were lost while they had an agent"
    );
}

/// Loses a worker at a moment and compares what the session comes to. Says how many moves there were.
async fn lose_at(seed: u64, moment_ms: u64, wanted: &(String, Vec<String>, Vec<String>)) -> usize {
    let mut stage = Stage::by_rule(script, None).await;
    stage.times = LeaseTimes::for_lease(1_000);
    stage.models_at_home = seed.is_multiple_of(2);
    let first = stage.worker("one", &[]);
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
    let running = tokio::spawn(finish(session));
    tokio::time::sleep(Duration::from_millis(moment_ms)).await;
    first.kill();
    let second = stage.worker("two", &[]);
    let ran = running.await.unwrap();
    let came = outcome(&stage, &ran);
    assert_eq!(came, *wanted, "seed {seed}, lost after {moment_ms} ms");
    second.kill();
    ran.workers_of("implementer-1").len() - 1
}

/// Loses a share of the letters, repeats some and delays others; or cuts one worker off.
struct BadCourier {
    cut: AtomicBool,
    lose: bool,
}

impl CarryFaults for BadCourier {
    fn carry(&self, way: &LocalWay, _message: &Bytes) -> Vec<u64> {
        let of_one = match way {
            LocalWay::Up(worker, _) | LocalWay::Down(worker) => worker.as_str() == "one",
        };
        if self.cut.load(Ordering::SeqCst) && of_one {
            return Vec::new();
        }
        match fastrand::u8(0..10) {
            0 if self.lose => Vec::new(),
            1 if self.lose => vec![0, fastrand::u64(0..200)],
            2 if self.lose => vec![fastrand::u64(0..200)],
            _ => vec![0],
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_courier_that_loses_repeats_and_reorders_changes_nothing() {
    let plain = Stage::by_rule(script, None).await.with_worker("one", &[]);
    let wanted = outcome(&plain, &plain.run("go").await);
    let faults = BadCourier { cut: AtomicBool::new(false), lose: true };
    let stage =
        Stage::by_rule(script, Some(Arc::new(faults))).await.with_worker("one", &[]).with_worker("two", &[]);
    assert_eq!(outcome(&stage, &stage.run("go").await), wanted);
}

/// Heard again while another worker has its agent, and when the agent has ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_was_cut_off_is_refused_and_its_work_is_kept_aside() {
    for late in [false, true] {
        cut_off(late).await;
    }
}

async fn cut_off(late: bool) {
    let gate = Arc::new(AtomicBool::new(false));
    let held = Arc::clone(&gate);
    let faults = Arc::new(BadCourier { cut: AtomicBool::new(false), lose: false });
    let rule = move |request: &Captured| {
        let json = request.json();
        let turn =
            json["messages"].as_array().unwrap().iter().filter(|one| one["role"] == "assistant").count();
        match (asker(&json).as_str(), turn) {
            ("main", 2) if late => Turn::text("all done").after(&held),
            ("main", _) | (_, 0 | 1) => script(request),
            _ if late => Turn::text(REPORT),
            _ => Turn::text(REPORT).after(&held),
        }
    };
    let mut stage = Stage::by_rule(rule, Some(Arc::clone(&faults) as Arc<dyn CarryFaults>)).await;
    stage.models_at_home = false;
    let first = stage.worker("one", &[]);
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let mut session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
    let (mut events, mut second) = (Vec::new(), None);
    while let Some(update) = session.next().await {
        let Update::Event(event) = update else { continue };
        events.push(Event::clone(&event));
        match &event.kind {
            EventKind::WorkKept { .. } if second.is_none() => {
                faults.cut.store(true, Ordering::SeqCst);
                second = Some(stage.worker("two", &[]));
            }
            kind => {
                let moved = matches!(kind, EventKind::AgentPlaced { epoch: 2, .. });
                let ended = matches!(kind, EventKind::AgentSettled { .. }) && event.parent.is_some();
                if if late { ended } else { moved } {
                    faults.cut.store(false, Ordering::SeqCst);
                    let (gate, branch) = (Arc::clone(&gate), aside(&stage));
                    tokio::spawn(async move {
                        branch.await;
                        gate.store(true, Ordering::SeqCst);
                    });
                }
            }
        }
    }
    let ran = Ran { events, report: session.report().await.unwrap() };
    assert_eq!(ran.workers_of("implementer-1"), ["one", "two"]);
    let report = ran.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    let branch = report.receipt.branch.expect("a branch").name;
    assert_eq!(on_branch(&stage.files, &branch, "one.txt").lines().next(), Some("1"));
    assert!(on_branch(&stage.files, &format!("{branch}.epoch1"), "one.txt").starts_with('1'));
    assert_eq!(report.notes.iter().any(|note| note.contains(".epoch1")), !late, "{:?}", report.notes);
    first.kill();
    second.unwrap().kill();
}

/// Waits for the branch with what was put aside.
fn aside(stage: &Stage) -> impl Future<Output = ()> + Send + 'static {
    let heads = stage.files.path().join(".git/refs/heads/posse");
    async move {
        let is_there = || {
            let sessions = std::fs::read_dir(&heads).into_iter().flatten().flatten();
            let mut names =
                sessions.flat_map(|one| std::fs::read_dir(one.path()).into_iter().flatten().flatten());
            names.any(|name| name.file_name().to_string_lossy().ends_with(".epoch1"))
        };
        while !is_there() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
