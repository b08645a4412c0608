//! Sub-agents on workers, end to end: real engines, git and sandboxes on both sides.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use posse_cluster::LeaseTimes;
use posse_engine::{AnswerOutcome, Engine, SessionRequest};
use posse_protocol::{
    AgentId, Answer, Approval, Budget, Ending, Event, EventKind, Grant, Network, Seq, Update,
};
use posse_testkit::Turn;
use serde_json::json;

use crate::stage::{REPORT, Ran, Stage, finish, on_branch, start};

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_works_on_a_worker_and_comes_back_as_a_branch() {
    let stage = Stage::new([
        (
            "main",
            vec![
                Turn::call("agent", start("implementer", "write it")),
                Turn::call("agent", json!({"action": "wait"})),
                Turn::call("agent", json!({"action": "merge", "agent": "implementer-1"})),
                Turn::text("all done"),
            ],
        ),
        (
            "implementer-1",
            vec![
                Turn::call("read_file", json!({"path": "a.txt"})),
                Turn::call("write_file", json!({"path": "new.txt", "content": "made there\n"})),
                Turn::call("shell", json!({"command": "cat uncommitted.txt >> new.txt; ls"})),
                Turn::text(REPORT),
            ],
        ),
    ])
    .await
    .with_worker("one", &["gpu"]);
    std::fs::write(stage.files.path().join("uncommitted.txt"), "mine\n").unwrap();
    let ran = stage.run("go").await;
    let report = ran.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    assert_eq!(report.text, REPORT);
    assert_eq!(ran.workers_of("implementer-1"), ["one"]);
    let changed: Vec<&str> = report.receipt.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(changed, ["new.txt"], "measured at home");
    assert_eq!((report.receipt.turns, report.receipt.tool_calls), (4, 3));
    let branch = report.receipt.branch.expect("its work is on a branch");
    assert_eq!(on_branch(&stage.files, &branch.name, "new.txt"), "made there\nmine\n");
    assert_eq!(stage.files.read("new.txt"), "made there\nmine\n", "merged");
    assert_eq!(ran.report.ending, Ending::Completed);
    let kept =
        ran.of("implementer-1").iter().filter(|kind| matches!(kind, EventKind::WorkKept { .. })).count();
    assert_eq!(kept, 2, "home keeps what was changed until it has all of it");
    assert!(!stage.folder("home").join("elsewhere").join(ran.agent("implementer-1").to_string()).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_on_workers_delegate_wait_and_are_followed_up() {
    let stage = Stage::new([
        (
            "main",
            vec![
                Turn::call("agent", start("general", "lead")),
                Turn::call("agent", json!({"action": "wait"})),
                Turn::call(
                    "agent",
                    json!({"action": "message", "agent": "general-1", "message": "and now?"}),
                ),
                Turn::call("agent", json!({"action": "wait"})),
                Turn::text("all done"),
            ],
        ),
        (
            "general-1",
            vec![
                Turn::call("agent", start("explore", "look")).and_call("agent", start("explore", "look too")),
                Turn::call("agent", json!({"action": "status"})),
                // It says nothing more and waits: the reports wake it.
                Turn::text("I wait for them."),
                Turn::text(REPORT),
                Turn::text("SUMMARY: Again.\nCHANGES: None.\nEVIDENCE: None.\nRISKS: None.\nBLOCKERS: None."),
                Turn::text("SUMMARY: Again.\nCHANGES: None.\nEVIDENCE: None.\nRISKS: None.\nBLOCKERS: None."),
            ],
        ),
        ("explore-1", vec![Turn::call("read_file", json!({"path": "a.txt"})), Turn::text(REPORT)]),
        ("explore-2", vec![Turn::call("read_file", json!({"path": "sub/b.txt"})), Turn::text(REPORT)]),
    ])
    .await;
    // Room for one at a time: who waits for others makes room for them.
    let ceiling = Grant { network: Network::None, ..Grant::full() };
    let worker = stage.worker_within("one", &[], ceiling, 1);
    let ran = stage.run("go").await;
    for name in ["general-1", "explore-1", "explore-2"] {
        assert_eq!(ran.report_of(name).ending, Ending::Completed, "{name}");
        assert_eq!(ran.workers_of(name), ["one"], "{name}");
    }
    let delivered: Vec<AgentId> = ran
        .of("general-1")
        .into_iter()
        .filter_map(|kind| match kind {
            EventKind::ReportsDelivered { agents } => Some(agents.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    let mut children = vec![ran.agent("explore-1"), ran.agent("explore-2")];
    children.sort();
    let mut told = delivered.clone();
    told.sort();
    assert_eq!(told, children, "each report is told once");
    assert_eq!(ran.report_of("general-1").receipt.children_total, 2);
    let again = ran.report_by(ran.continues(ran.agent("general-1")));
    assert_eq!((again.ending, again.text.lines().next()), (Ending::Completed, Some("SUMMARY: Again.")));
    worker.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_worker_is_replaced_and_the_work_is_the_same() {
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
                Turn::call("write_file", json!({"path": "one.txt", "content": "1\n"})),
                Turn::call("shell", json!({"command": "echo 2 > two.txt; rm a.txt; chmod +x one.txt"})),
                Turn::call("shell", json!({"command": "echo 3 >> one.txt"})).after(&gate),
                Turn::text(REPORT),
            ],
        ),
    ])
    .await;
    stage.times = LeaseTimes::for_lease(1_500);
    let first = stage.worker("one", &[]);
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let mut session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
    let mut events = Vec::new();
    // Until the second turn's changes are on record.
    let mut kept = 0;
    while kept < 2 {
        if let Update::Event(event) = session.next().await.expect("the session goes on") {
            kept += usize::from(matches!(event.kind, EventKind::WorkKept { .. }));
            events.push(Event::clone(&event));
        }
    }
    first.kill();
    let second = stage.worker("two", &[]);
    gate.store(true, Ordering::SeqCst);
    let rest = finish(session).await;
    events.extend(rest.events);
    let ran = Ran { events, report: rest.report };
    assert_eq!(ran.workers_of("implementer-1"), ["one", "two"]);
    let report = ran.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    let branch = report.receipt.branch.expect("a branch");
    assert_eq!(on_branch(&stage.files, &branch.name, "one.txt"), "1\n3\n");
    assert_eq!(on_branch(&stage.files, &branch.name, "two.txt"), "2\n");
    let tree = stage.files.run_git(&["ls-tree", "-r", &branch.name]);
    assert!(tree.contains("100755 blob") && tree.contains("one.txt") && !tree.contains("a.txt"), "{tree}");
    assert_eq!((report.receipt.turns, report.receipt.tool_calls), (4, 3), "no finished step was made twice");
    assert!(report.notes.iter().any(|note| note.contains("the worker one was lost")), "{:?}", report.notes);
    second.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn home_ends_and_is_resumed_while_the_worker_goes_on() {
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
                Turn::call("write_file", json!({"path": "one.txt", "content": "1\n"})),
                Turn::call("write_file", json!({"path": "two.txt", "content": "2\n"})).after(&gate),
                Turn::text(REPORT),
            ],
        ),
    ])
    .await;
    stage.models_at_home = false;
    let worker = stage.worker("one", &[]);
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let mut session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
    let id = session.id;
    loop {
        if let Update::Event(event) = session.next().await.expect("the session goes on")
            && matches!(event.kind, EventKind::WorkKept { .. })
        {
            break;
        }
    }
    session.detach().await.unwrap();
    gate.store(true, Ordering::SeqCst);
    drop((session, engine));
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let request = SessionRequest { prompt: String::new(), ..stage.request("", stage.fleet("home")) };
    let ran = finish(engine.resume(id, request).await.unwrap()).await;
    let all = Ran { events: engine.events_after(id, Seq(0), 100_000).unwrap(), report: ran.report };
    assert_eq!(all.workers_of("implementer-1"), ["one"], "the same run goes on");
    let report = all.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    let branch = report.receipt.branch.expect("a branch");
    assert_eq!(on_branch(&stage.files, &branch.name, "two.txt"), "2\n");
    assert_eq!((report.receipt.turns, report.receipt.tool_calls), (3, 2));
    worker.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_words_and_cancels_reach_an_agent_on_a_worker() {
    let gate = Arc::new(AtomicBool::new(false));
    let mut stage = Stage::new([
        (
            "main",
            vec![
                Turn::call("agent", start("implementer", "write it"))
                    .and_call("agent", start("general", "stay")),
                Turn::call("agent", json!({"action": "wait"})),
                Turn::call("agent", json!({"action": "wait"})),
                Turn::text("all done"),
            ],
        ),
        (
            "implementer-1",
            vec![
                Turn::call("shell", json!({"command": "echo 1 > one.txt"})),
                Turn::text(REPORT),
                Turn::text(REPORT),
            ],
        ),
        (
            "general-1",
            vec![Turn::call("shell", json!({"command": "cat"})).after(&gate), Turn::text("I was stopped.")],
        ),
    ])
    .await;
    stage.grant.approval = Approval::Ask;
    stage.approvals.person = true;
    let worker = stage.worker("one", &[]);
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let mut session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
    let mut events = Vec::new();
    while let Some(update) = session.next().await {
        let Update::Event(event) = update else { continue };
        if let EventKind::PersonNeeded { question } = &event.kind {
            assert_eq!(question.what, "echo 1 > one.txt");
            assert!(session.tell("implementer-1", "be quick", false), "it takes mail");
            let answered = session.answer(event.agent, &question.call, Answer::Once);
            assert_eq!(answered, AnswerOutcome::Accepted);
        }
        if matches!(event.kind, EventKind::AgentSettled { .. }) && event.parent.is_some() {
            assert!(session.stop("general-1") || !gate.load(Ordering::SeqCst));
        }
        events.push(Event::clone(&event));
    }
    let ran = Ran { events, report: session.report().await.unwrap() };
    let report = ran.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    let told = ran
        .of("implementer-1")
        .into_iter()
        .any(|kind| matches!(kind, EventKind::Told { text, .. } if text.contains("be quick")));
    assert!(told, "the person's words");
    assert!(report.receipt.branch.is_some());
    assert_eq!(ran.report_of("general-1").ending, Ending::Cancelled);
    worker.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn background_commands_end_with_their_agent_and_budgets_can_be_raised() {
    let gate = Arc::new(AtomicBool::new(false));
    let stage = Stage::new([
        (
            "main",
            vec![
                Turn::call(
                    "agent",
                    json!({"action": "start", "role": "implementer", "prompt": "serve", "max_turns": 3}),
                ),
                Turn::call("agent", json!({"action": "wait"})),
                Turn::text("all done"),
            ],
        ),
        (
            "implementer-1",
            vec![
                Turn::call("shell", json!({"command": "sleep 1000", "background": true})),
                Turn::call("shell", json!({"command": "echo 1 > one.txt"})).after(&gate),
                Turn::call("shell", json!({"command": "echo 2 > two.txt"})),
                Turn::text(REPORT),
            ],
        ),
    ])
    .await
    .with_worker("one", &[]);
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let mut session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
    let id = session.id;
    let mut events = Vec::new();
    while let Some(update) = session.next().await {
        let Update::Event(event) = update else { continue };
        events.push(Event::clone(&event));
        if matches!(event.kind, EventKind::BackgroundStarted { .. }) {
            let more = Budget { turns: Some(5), ..Budget::UNLIMITED };
            engine.top_up(id, Some("implementer-1"), more).await.unwrap();
            gate.store(true, Ordering::SeqCst);
        }
    }
    let ran = Ran { events, report: session.report().await.unwrap() };
    let report = ran.report_of("implementer-1");
    assert_eq!(
        (report.ending, report.receipt.turns),
        (Ending::Completed, 4),
        "more turns than it had at first"
    );
    let named = |kind: &EventKind| match kind {
        EventKind::BackgroundStarted { name, .. } => Some(format!("{name} began")),
        EventKind::BackgroundEnded { name, exit_code: None, .. } => Some(format!("{name} was stopped")),
        _ => None,
    };
    let told: Vec<String> = ran.of("implementer-1").into_iter().filter_map(named).collect();
    assert_eq!(told, ["implementer-1:cmd-1 began", "implementer-1:cmd-1 was stopped"]);
}
