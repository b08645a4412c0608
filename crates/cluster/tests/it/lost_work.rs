//! Work that no worker hands over in the usual way: what home knows of it is on a branch, and what a worker still has is not forgotten.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use posse_cluster::{HomeAction, HomeInput, HomeLease, HomeRestored, LeaseTimes, RunDown, RunUp, limits};
use posse_engine::Engine;
use posse_protocol::{Ending, Event, EventKind, Update};
use posse_testkit::Turn;
use serde_json::json;

use crate::hostile::foe::{Attack, Foe, Held, end, life, raw};
use crate::hostile::ground::copied;
use crate::stage::{REPORT, Ran, Stage, finish, on_branch, start};

#[tokio::test(flavor = "multi_thread")]
async fn after_five_lost_workers_the_work_so_far_is_on_the_branch() {
    let gate = Arc::new(AtomicBool::new(false));
    let mut stage = Stage::new([
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
                Turn::call(
                    "shell",
                    json!({"command": "echo 1 > 'o \"n\" e.txt'; rm a.txt; chmod +x sub/b.txt"}),
                ),
                Turn::call("shell", json!({"command": "echo never"})).after(&gate),
                Turn::text(REPORT),
            ],
        ),
    ])
    .await;
    stage.times = LeaseTimes::for_lease(1_000);
    let mut worker = Some(stage.worker("one", &[]));
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let mut session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
    let (mut events, mut kept, mut lost) = (Vec::new(), false, 0);
    while let Some(update) = session.next().await {
        let Update::Event(event) = update else { continue };
        kept |= matches!(event.kind, EventKind::WorkKept { .. });
        let placed_again = matches!(event.kind, EventKind::AgentPlaced { epoch, .. } if epoch > 1);
        if lost < 5 && (placed_again || matches!(event.kind, EventKind::WorkKept { .. })) && kept {
            worker.take().into_iter().for_each(crate::stage::StagedWorker::kill);
            lost += 1;
            worker = Some(stage.worker(&format!("one-{lost}"), &[]));
        }
        events.push(Event::clone(&event));
    }
    gate.store(true, Ordering::SeqCst);
    worker.take().into_iter().for_each(crate::stage::StagedWorker::kill);
    let ran = Ran { events, report: session.report().await.unwrap() };
    let report = ran.report_of("implementer-1");
    let Ending::Failed { failure } = &report.ending else { panic!("{report:?}") };
    assert!(failure.to_string().contains("5 workers were lost"), "{failure}");
    let branch = report.receipt.branch.expect("what home knows is on its branch");
    assert_eq!(on_branch(&stage.files, &branch.name, "o \"n\" e.txt"), "1\n");
    let tree = stage.files.run_git(&["ls-tree", "-r", &branch.name]);
    assert!(tree.contains("100755 blob") && !tree.contains("\ta.txt"), "{tree}");
    let changed: Vec<&str> = report.receipt.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(changed, ["a.txt", "o \"n\" e.txt", "sub/b.txt"], "measured");
    assert!(report.notes.iter().any(|note| note.contains("home had kept")), "{:?}", report.notes);
}

/// Home ends an agent that a worker still has. The worker's work is taken beside it, and only then is the worker told to forget it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_worker_has_of_an_agent_that_home_ended_is_kept_aside() {
    let stage = Stage::new([
        (
            "main",
            vec![
                Turn::call("agent", start("implementer", "write it")),
                Turn::call("agent", json!({"action": "wait"})),
                // The session is there for as long as the worker takes.
                Turn::call("shell", json!({"command": "sleep 4"})),
                Turn::text("all done"),
            ],
        ),
        ("implementer-1", vec![Turn::text(REPORT)]),
    ])
    .await;
    let (workspace, told) = (stage.files.path().to_owned(), Arc::new(AtomicBool::new(false)));
    let heard = Arc::clone(&told);
    let attack: Attack = Arc::new(move |mut held: Held| {
        let (workspace, heard) = (workspace.clone(), Arc::clone(&heard));
        Box::pin(async move {
            held.claim().await;
            assert!(held.tell(&life()).await);
            let task = held.task().await;
            let copy = copied(&workspace);
            copy.run_git(&["checkout", "--quiet", &task.work.start]);
            std::fs::write(copy.path().join("late.txt"), "late\n").unwrap();
            copy.run_git(&["add", "late.txt"]);
            copy.run_git(&["commit", "--quiet", "-m", "late"]);
            let path = copy.path().join(".git/result.bundle");
            copy.run_git(&["bundle", "create", "--quiet", path.to_str().unwrap(), "HEAD", "^HEAD~1"]);
            // What no worker may tell ends the agent.
            let settled = json!({"here": {"item": {"kind": {"type": "session_ended"}}}});
            held.is_refused_for(&[settled]).await;
            let mut result = end();
            result["end"]["tip"] = json!(copy.run_git(&["rev-parse", "HEAD"]).trim());
            result["bundle"] = json!(held.foe.put(&std::fs::read(path).unwrap()).await.to_string());
            let left =
                RunUp::Final { epoch: held.epoch, after: held.recorded, aside: true, result: raw(&result) };
            held.until(left, |said| matches!(said, RunDown::SettledAck { .. }).then_some(())).await;
            heard.store(true, Ordering::SeqCst);
        })
    });
    let _foe = Foe::rise(&stage.hub, "one", stage.folder("foe"), attack);
    let ran = stage.run("go").await;
    assert!(matches!(ran.report_of("implementer-1").ending, Ending::Failed { .. }));
    assert!(told.load(Ordering::SeqCst), "the worker was told that home has it");
    let branches = stage.files.run_git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/posse/"]);
    let branch =
        branches.lines().find(|name| name.ends_with(".epoch1")).unwrap_or_else(|| panic!("{branches}"));
    assert_eq!(on_branch(&stage.files, branch, "late.txt"), "late\n");
}

/// A worker that cannot begin an agent does not keep it from others, and says why if there are none.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_gives_agents_back_rests_and_its_reason_is_told() {
    let given_back = Arc::new(std::sync::Mutex::new(Vec::new()));
    let stage = Stage::new([
        (
            "main",
            vec![
                Turn::call("agent", start("implementer", "write it")),
                Turn::call("agent", json!({"action": "wait"})),
                Turn::text("all done"),
            ],
        ),
        ("implementer-1", vec![Turn::text(REPORT)]),
    ])
    .await;
    let noted = Arc::clone(&given_back);
    let attack: Attack = Arc::new(move |mut held: Held| {
        let noted = Arc::clone(&noted);
        Box::pin(async move {
            held.say(RunUp::Claim { beat: 1, have: raw(&json!({"commits": []})) }).await;
            while let Some(said) = held.hear().await {
                if matches!(said, RunDown::Granted { .. }) {
                    noted.lock().unwrap().push(std::time::Instant::now());
                    held.say(RunUp::GiveUp { why: "there is no git here".to_owned() }).await;
                }
            }
        })
    });
    let foe = Foe::rise(&stage.hub, "one", stage.folder("foe"), attack);
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
    while given_back.lock().unwrap().len() < 3 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let worker = stage.worker("two", &[]);
    let ran = finish(session).await;
    assert_eq!(ran.report_of("implementer-1").ending, Ending::Completed);
    assert_eq!(ran.workers_of("implementer-1").last().map(String::as_str), Some("two"));
    let given = given_back.lock().unwrap();
    let pauses: Vec<Duration> = given.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(pauses[0] >= Duration::from_millis(250) && pauses[1] >= Duration::from_millis(500), "{pauses:?}");
    drop(foe);
    worker.kill();
}

type Home = HomeLease<&'static str, u32>;
type Action = HomeAction<u8, &'static str, u32>;

/// Home was started again and does not know who had the earlier epochs: who says so first keeps nobody else from it.
#[test]
fn what_was_left_of_forgotten_epochs_is_taken_from_each_once() {
    let from = HomeRestored { epoch: 3, holder: Some(1), lease_ms: 1_000, recorded: 0 };
    let mut home = Home::restored(LeaseTimes::for_lease(1_000), from, 0);
    let left = |home: &mut Home, holder, epoch| -> Vec<Action> {
        home.handle(1, HomeInput::Final { holder, epoch, after: 0, aside: true, result: "left" })
    };
    for holder in [8, 9] {
        let taken = [HomeAction::TakeAside { holder, epoch: 2, result: "left" }];
        assert_eq!(left(&mut home, holder, 2), taken, "{holder}");
        let done = [HomeAction::SettledAck { holder, epoch: 2 }];
        let told: Vec<Action> = home.handle(2, HomeInput::TakenAside { holder, epoch: 2 });
        assert_eq!((told.as_slice(), left(&mut home, holder, 2).as_slice()), (&done[..], &done[..]), "once");
    }
    for holder in 10..10 + u32::try_from(limits::GRANTS_MAX).unwrap() {
        let _: Vec<Action> = home.handle(2, HomeInput::TakenAside { holder, epoch: 2 });
    }
    assert_eq!(left(&mut home, 99, 2), [HomeAction::SettledAck { holder: 99, epoch: 2 }], "not without end");
}
