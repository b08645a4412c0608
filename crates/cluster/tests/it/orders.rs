//! What home says to a worker itself: say hello, take nothing new, take agents again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use posse_cluster::{
    CLUSTER_VERSION, Down, DownBody, HomeCourier as _, HomeNews, LocalHome, RunId, UpBody, WorkerInfo,
};
use posse_engine::Engine;
use posse_protocol::{Ending, EventKind, Update};
use posse_testkit::Turn;
use serde_json::json;
use tokio::sync::mpsc;

use crate::fixture::soon;
use crate::stage::{REPORT, Ran, Stage, finish, seal, start};

/// A home that speaks with one worker.
pub(crate) struct Speaker {
    home: LocalHome,
    news: mpsc::Receiver<HomeNews>,
}

impl Speaker {
    pub(crate) async fn new(stage: &Stage) -> Self {
        let home = stage.hub.home("speaker".parse().unwrap());
        let news = home.follow().await.unwrap();
        Self { home, news }
    }

    async fn say(&self, body: DownBody) {
        self.say_as(CLUSTER_VERSION, body).await;
    }

    async fn say_as(&self, version: u16, body: DownBody) {
        let worker: posse_cluster::WorkerName = "one".parse().unwrap();
        let down = Down { version, worker: worker.clone(), body };
        // Before it listens, it is not there.
        while self.home.tell(&worker, seal().seal_down(&down).unwrap()).await.is_err() {
            tokio::task::yield_now().await;
        }
    }

    /// What the worker says of itself once it has heard this.
    pub(crate) async fn hello_after(&mut self, body: DownBody) -> WorkerInfo {
        while self.news.try_recv().is_ok() {}
        self.say(body).await;
        soon("a hello", self.hello()).await
    }

    async fn hello(&mut self) -> WorkerInfo {
        loop {
            let Some(HomeNews::Message { from, letter }) = self.news.recv().await else { continue };
            if let UpBody::Hello(info) = seal().open_up(&letter, &from).unwrap().body {
                return info;
            }
        }
    }

    /// The same, until it says what is wanted.
    async fn hello_until(&mut self, body: DownBody, drained: bool) -> WorkerInfo {
        loop {
            let info = self.hello_after(body.clone()).await;
            if info.drained == drained {
                return info;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_drained_and_used_again_by_one_order_each() {
    let scripts = [
        (
            "main",
            vec![
                Turn::call("agent", start("explore", "look")),
                Turn::call("agent", json!({"action": "wait"})),
                Turn::text("all done"),
            ],
        ),
        ("explore-1", vec![Turn::text(REPORT)]),
    ];
    let stage = Stage::new(scripts).await;
    let one = stage.worker("one", &[]);
    let mut speaker = Speaker::new(&stage).await;
    let hello = speaker.hello_after(DownBody::SayHello).await;
    assert_eq!((hello.drained, hello.orders), (false, 0));
    let process = hello.process;
    let drain = |process: RunId, order| DownBody::Drain { drained: true, process, order };
    // For another process, and out of turn.
    for body in [drain(RunId::random().unwrap(), 1), drain(process.clone(), 0), drain(process.clone(), 2)] {
        let hello = speaker.hello_after(body).await;
        assert_eq!((hello.drained, hello.orders), (false, 0));
    }
    let hello = speaker.hello_until(drain(process.clone(), 1), true).await;
    assert_eq!(hello.orders, 1);
    // It takes nothing: another one gets what is offered, although it comes later.
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let mut session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
    let mut events = Vec::new();
    loop {
        let Some(Update::Event(event)) = session.next().await else { continue };
        events.push(posse_protocol::Event::clone(&event));
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
    // Used again; and whoever repeats the first order does not drain it.
    let again = DownBody::Drain { drained: false, process: process.clone(), order: 2 };
    assert_eq!(speaker.hello_until(again, false).await.orders, 2);
    let hello = speaker.hello_after(drain(process, 1)).await;
    assert_eq!((hello.drained, hello.orders), (false, 2));
    two.kill();
    one.kill();
}

/// So a doctor of another version learns soon that it is there, and is told which version it has. Without that it would say three hellos
/// in half a minute.
#[tokio::test(flavor = "multi_thread")]
async fn a_home_of_another_version_is_answered_too() {
    let stage = Stage::new([("main", vec![Turn::text("nothing")])]).await;
    let one = stage.worker("one", &[]);
    let mut speaker = Speaker::new(&stage).await;
    soon("three hellos", async {
        for _ in 0..3 {
            speaker.say_as(CLUSTER_VERSION + 1, DownBody::SayHello).await;
            speaker.hello().await;
        }
    })
    .await;
    one.kill();
}

/// As on SIGTERM. Nobody counts on it then, while what it has goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_about_to_end_says_that_it_takes_nothing() {
    let gate = Arc::new(AtomicBool::new(false));
    let main = vec![
        Turn::call("agent", start("explore", "look")),
        Turn::call("agent", json!({"action": "wait"})),
        Turn::text("all done"),
    ];
    let stage = Stage::new([("main", main), ("explore-1", vec![Turn::text(REPORT).after(&gate)])]).await;
    let one = stage.worker("one", &[]);
    let mut speaker = Speaker::new(&stage).await;
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let mut session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
    loop {
        let Some(Update::Event(event)) = session.next().await else { continue };
        if matches!(event.kind, EventKind::AgentPlaced { .. }) {
            break;
        }
    }
    assert!(!speaker.hello_after(DownBody::SayHello).await.drained);
    one.drain.cancel();
    speaker.hello_until(DownBody::SayHello, true).await;
    gate.store(true, Ordering::SeqCst);
    assert_eq!(finish(session).await.report.ending, Ending::Completed);
    one.kill();
}
