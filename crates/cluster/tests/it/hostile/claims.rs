//! Agents that are not for the hostile worker, and results of runs that never had an agent.

use posse_cluster::{HomeName, RunAbout, RunDown, RunId, RunUp};
use posse_engine::{Engine, Session};
use posse_protocol::{Ending, Event, EventKind, Update};
use posse_testkit::Turn;
use serde_json::json;

use super::foe::{Attack, Foe, Held, end, is_over, life, raw};
use super::ground::copied;
use crate::stage::{REPORT, Ran, Stage, finish};

pub(super) const ATTEMPTS: usize = 4;

async fn staged(on: &str) -> Stage {
    let start = json!({"action": "start", "role": "explore", "prompt": "look", "name": "victim", "on": on});
    Stage::new([
        ("main", vec![Turn::call("agent", start), Turn::text("I wait."), Turn::text("all done")]),
        ("victim", vec![Turn::call("read_file", json!({"path": "a.txt"})), Turn::text(REPORT)]),
    ])
    .await
}

/// Waits until the agent is there, and makes up a run of it.
async fn started(session: &mut Session, events: &mut Vec<Event>) -> RunAbout {
    loop {
        let Some(Update::Event(event)) = session.next().await else { continue };
        events.push(Event::clone(&event));
        if matches!(event.kind, EventKind::AgentStarted { .. }) && event.parent.is_some() {
            let (home, run) = (HomeName::of_session(session.id), RunId::random().unwrap());
            return RunAbout { home, session: session.id, agent: event.agent, run };
        }
    }
}

/// It claims an agent that another worker shall have, by name and by label, before that one is there. Its labels are lies.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_gets_no_agent_that_is_not_for_it() {
    for on in ["one", "gpu"] {
        let stage = staged(on).await;
        let nothing: Attack = std::sync::Arc::new(|_: Held| Box::pin(async { panic!("it is not for it") }));
        let foe = Foe::rise(&stage.hub, "two", stage.folder("foe"), nothing);
        let engine = Engine::open(&stage.folder("home")).unwrap();
        let mut session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
        let mut events = Vec::new();
        let about = started(&mut session, &mut events).await;
        let mut told = foe.listens_for(&about.run);
        loop {
            foe.say(&about, RunUp::Claim { beat: 1, have: raw(&json!({"commits": []})) }).await;
            let heard = tokio::time::timeout(std::time::Duration::from_millis(300), told.recv()).await;
            match heard {
                Ok(Some(RunDown::Granted { .. })) => panic!("it has an agent that is for {on}"),
                Ok(Some(RunDown::Refused(_))) => break,
                _ => {}
            }
        }
        let worker = stage.worker("one", &["gpu"]);
        let rest = finish(session).await;
        events.extend(rest.events);
        let ran = Ran { events, report: rest.report };
        assert_eq!(ran.workers_of("victim"), ["one"]);
        assert_eq!(ran.report_of("victim").ending, Ending::Completed);
        worker.kill();
    }
}

/// It claims an agent that another worker shall have in that worker's name, with a run of its own, and goes on as that worker.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_speaks_in_no_other_workers_name() {
    let stage = staged("one").await;
    let nothing: Attack = std::sync::Arc::new(|_: Held| Box::pin(async { panic!("it is not for it") }));
    let foe = Foe::rise(&stage.hub, "two", stage.folder("foe"), nothing);
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let mut session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
    let mut events = Vec::new();
    let about = started(&mut session, &mut events).await;
    // What home answers goes to the real one, so each is said often enough to arrive once the one before has its effect.
    for _ in 0..20 {
        let life = life().iter().map(raw).collect();
        let said = [
            RunUp::Claim { beat: 1, have: raw(&json!({"commits": []})) },
            RunUp::Items { epoch: 1, first: 1, items: life },
            RunUp::Final { epoch: 1, after: 3, aside: false, result: raw(&end()) },
        ];
        for said in said {
            foe.send(&about, foe.letter_of("one", &about, said)).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let worker = stage.worker("one", &["gpu"]);
    let rest = finish(session).await;
    events.extend(rest.events);
    let ran = Ran { events, report: rest.report };
    let read = ran.of("victim").into_iter().filter(|kind| matches!(kind, EventKind::ToolFinished { .. }));
    assert_eq!(read.count(), 1, "the real one did the work");
    assert_eq!(ran.workers_of("victim"), ["one"], "and had it from the first grant");
    worker.kill();
}

/// Results of runs that were never granted, of any epoch: none becomes a branch.
#[tokio::test(flavor = "multi_thread")]
async fn only_who_had_an_agent_leaves_work_beside_it() {
    let stage = staged("two").await;
    let workspace = stage.files.path().to_owned();
    let attack: Attack = std::sync::Arc::new(move |mut held: Held| {
        let workspace = workspace.clone();
        Box::pin(async move {
            let copy = copied(&workspace);
            copy.run_git(&["commit", "--quiet", "--allow-empty", "-m", "work"]);
            let path = copy.path().join(".git/result.bundle");
            copy.run_git(&["bundle", "create", "--quiet", path.to_str().unwrap(), "HEAD", "^HEAD~1"]);
            let mut result = end();
            result["end"]["tip"] = json!(copy.run_git(&["rev-parse", "HEAD"]).trim());
            let blob = held.foe.put(&std::fs::read(path).unwrap()).await;
            result["bundle"] = json!(blob.to_string());
            let finals =
                |epoch: u64, aside: bool| RunUp::Final { epoch, after: 0, aside, result: raw(&result) };
            // Before any grant.
            for epoch in [0, 1, 2] {
                held.say(finals(epoch, false)).await;
                held.say(finals(epoch, true)).await;
            }
            held.claim().await;
            for epoch in 0..200 {
                for aside in [false, true] {
                    let run = RunId::random().unwrap();
                    let about = RunAbout { run, ..held.about.clone() };
                    held.foe.say(&about, finals(epoch, aside)).await;
                }
            }
            assert!(held.tell(&life()).await);
            let said = RunUp::Final { epoch: held.epoch, after: 3, aside: false, result: raw(&end()) };
            held.until(said, |heard| is_over(heard).then_some(())).await;
        })
    });
    let _foe = Foe::rise(&stage.hub, "two", stage.folder("foe"), attack);
    let ran = stage.run("go").await;
    let report = ran.report_of("victim");
    assert_eq!((report.ending, report.notes.len()), (Ending::Completed, 0), "{:?}", report.notes);
    let branches = stage.files.run_git(&["for-each-ref", "--format=%(refname)", "refs/heads/posse/"]);
    assert!(branches.is_empty(), "{branches}");
}
