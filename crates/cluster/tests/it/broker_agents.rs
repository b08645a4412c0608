//! Sub-agents over a real nats-server that is killed, started again and robbed of its data in the middle of their work (C2).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use posse_cluster::{HomeCourier, LeaseTimes, NatsAddress, NatsHome, NatsWorker, WhenFull, WorkerCourier};
use posse_engine::Engine;
use posse_protocol::{Ending, Event, EventKind, Grant, Network, Seq, Update};
use posse_testkit::nats::NatsServer;
use posse_testkit::{Captured, Turn, asker};
use serde_json::json;

use crate::fixture::shelf;
use crate::stage::{REPORT, Ran, Stage, StagedWorker, finish, on_branch, start};

fn address(server: &NatsServer) -> NatsAddress {
    NatsAddress { url: server.url(), ..NatsAddress::default() }
}

fn worker(stage: &Stage, server: &NatsServer, name: &'static str) -> StagedWorker {
    let (address, cache) = (address(server), stage.folder(name).join("blobs"));
    let connect = move || async move {
        let shelf = Arc::new(shelf(&cache, WhenFull::DropOldest).await);
        let connected =
            NatsWorker::connect(&address, &"me".parse().unwrap(), &name.parse().unwrap(), shelf).await;
        Arc::new(connected.unwrap()) as Arc<dyn WorkerCourier>
    };
    let ceiling = Grant { network: Network::None, ..Grant::full() };
    stage.worker_over(connect, name, &["gpu"], (ceiling, 4))
}

async fn home(server: &NatsServer, times: LeaseTimes) -> Arc<dyn HomeCourier> {
    Arc::new(NatsHome::connect(&address(server), &"me".parse().unwrap(), times).await.unwrap())
}

/// How the broker is treated while an agent works.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    Killed,
    Robbed,
}

/// An agent writes a file, and a second time once the gate is open.
fn script(gate: &Arc<AtomicBool>) -> impl Fn(&Captured) -> Turn + Send + Sync + 'static {
    let held = Arc::clone(gate);
    move |request: &Captured| {
        let json = request.json();
        let turn =
            json["messages"].as_array().unwrap().iter().filter(|one| one["role"] == "assistant").count();
        match (asker(&json).as_str(), turn) {
            ("main", 0) => Turn::call("agent", start("implementer", "write it")),
            ("main", 1) => Turn::call("agent", json!({"action": "wait"})),
            ("main", _) => Turn::text("all done"),
            (_, 0) => Turn::call("write_file", json!({"path": "one.txt", "content": "1\n"})),
            (_, 1) => Turn::call("shell", json!({"command": "echo 2 >> one.txt"})).after(&held),
            _ => Turn::text(REPORT),
        }
    }
}

async fn run_with(fault: Fault) -> (Stage, Ran) {
    let gate = Arc::new(AtomicBool::new(false));
    let mut server = NatsServer::start("");
    let stage = Stage::by_rule(script(&gate), None).await;
    let one = worker(&stage, &server, "one");
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let fleet = stage.fleet_over(home(&server, stage.times).await);
    let mut session = engine.start(stage.request("go", fleet)).unwrap();
    let mut events = Vec::new();
    while let Some(update) = session.next().await {
        let Update::Event(event) = update else { continue };
        events.push(Event::clone(&event));
        if matches!(event.kind, EventKind::WorkKept { .. }) && !gate.load(Ordering::SeqCst) {
            if fault != Fault::None {
                server.kill();
            }
            if fault == Fault::Robbed {
                server.wipe();
            }
            if fault != Fault::None {
                server.restart();
            }
            gate.store(true, Ordering::SeqCst);
        }
    }
    let ran = Ran { events, report: session.report().await.unwrap() };
    one.kill();
    (stage, ran)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_killed_or_robbed_changes_nothing() {
    for fault in [Fault::None, Fault::Killed, Fault::Robbed] {
        let (stage, ran) = run_with(fault).await;
        let report = ran.report_of("implementer-1");
        assert_eq!(report.ending, Ending::Completed, "{fault:?}: {report:?}");
        let branch = report.receipt.branch.expect("a branch").name;
        assert_eq!(on_branch(&stage.files, &branch, "one.txt"), "1\n2\n", "{fault:?}");
        assert_eq!(report.receipt.tool_calls, 2, "{fault:?}");
    }
}

/// The next process answers to the same name, so the worker's run goes on as if nothing had been.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_resumed_while_its_worker_goes_on() {
    let gate = Arc::new(AtomicBool::new(false));
    let server = NatsServer::start("");
    let mut stage = Stage::by_rule(script(&gate), None).await;
    stage.models_at_home = false;
    let one = worker(&stage, &server, "one");
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let fleet = stage.fleet_over(home(&server, stage.times).await);
    let mut session = engine.start(stage.request("go", fleet)).unwrap();
    let id = session.id;
    loop {
        if let Update::Event(event) = session.next().await.expect("the session goes on")
            && matches!(event.kind, EventKind::WorkKept { .. })
        {
            break;
        }
    }
    session.detach().await.unwrap();
    drop((session, engine));
    gate.store(true, Ordering::SeqCst);
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let fleet = stage.fleet_over(home(&server, stage.times).await);
    let ran = finish(engine.resume(id, stage.request("", fleet)).await.unwrap()).await;
    let all = Ran { events: engine.events_after(id, Seq(0), 100_000).unwrap(), report: ran.report };
    assert_eq!(all.workers_of("implementer-1"), ["one"], "the same run goes on");
    let report = all.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    let branch = report.receipt.branch.expect("a branch").name;
    assert_eq!(on_branch(&stage.files, &branch, "one.txt"), "1\n2\n");
    one.kill();
}
