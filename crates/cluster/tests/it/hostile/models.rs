//! Homes that want a worker to call models, where it calls none of its own.

use posse_engine::Engine;
use posse_protocol::{Ending, Event, EventKind, Grant, Network, Update};
use posse_testkit::Turn;
use serde_json::json;

use super::home::FalseHome;
use crate::stage::{REPORT, Ran, Stage, finish, start};

/// The same task runs where the worker has models, so it is for nothing else that it is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_needs_the_workers_own_models_is_refused_where_there_are_none() {
    for (models_at_home, ended, calls) in [(true, None, 0), (false, Some(Ending::Completed), 1)] {
        let mut stage = Stage::by_rule(|_| Turn::text(REPORT), None).await;
        stage.models_at_home = models_at_home;
        let ceiling = Grant { network: Network::None, ..Grant::full() };
        let worker = stage.worker_within("one", &[], ceiling, 4);
        let home = FalseHome::new(&stage);
        let mut given = home.given().await;
        given.task.model.at_home = false;
        let got = home.play(given).await;
        assert_eq!((got.end.map(|end| end.ending), stage.model.calls()), (ended, calls));
        worker.kill();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_that_needs_a_model_waits_for_a_worker_that_has_it() {
    let main = vec![
        Turn::call("agent", start("explore", "look")),
        Turn::call("agent", json!({"action": "wait"})),
        Turn::text("all done"),
    ];
    let mut stage = Stage::new([("main", main), ("explore-1", vec![Turn::text(REPORT)])]).await;
    let one = stage.worker("one", &[]);
    // From now on workers are thought to have models, and have them.
    stage.models_at_home = false;
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let mut session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
    let mut events = Vec::new();
    loop {
        let Some(Update::Event(event)) = session.next().await else { continue };
        events.push(Event::clone(&event));
        if matches!(event.kind, EventKind::AgentStarted { .. }) && event.parent.is_some() {
            break;
        }
    }
    let two = stage.worker("two", &[]);
    let rest = finish(session).await;
    events.extend(rest.events);
    let ran = Ran { events, report: rest.report };
    assert_eq!(ran.workers_of("explore-1"), ["two"]);
    assert_eq!(ran.report_of("explore-1").ending, Ending::Completed);
    two.kill();
    one.kill();
}
