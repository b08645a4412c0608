//! Agents that a worker has from an earlier process of home: what home says to them, and by which way. And places that are not there
//! any more, or have no room.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use posse_cluster::{
    BlobId, BlobShelves, CLUSTER_VERSION, CourierError, CourierFuture, DownBody, Fleet, FleetParts,
    FleetWorker, HomeCourier, HomeName, HomeNews, LeaseTimes, LocalHub, LocalWorker, PostedOffer, RunAbout,
    RunDown, RunUp, SeenWorker, Up, UpBody, WorkerCourier, WorkerName, WorkerNews, limits,
};
use posse_engine::Engine;
use posse_engine::remote::{HostCommand, Seat, SeatCommand, SeatEvent, SeatStart, WorkerRun, Workers};
use posse_protocol::{AgentId, Answer, CallId, Ending, SessionId};
use posse_testkit::Turn;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::fixture::{agent, nothing, soon};
use crate::stage::{REPORT, Stage, finish, seal, start};

/// Agents of a worker that is at several couriers, with epoch 1.
pub(crate) struct HeldSeats {
    pub(crate) fleet: Fleet,
    /// The worker, at each courier.
    pub(crate) workers: Vec<LocalWorker>,
    session: SessionId,
    pub(crate) folder: tempfile::TempDir,
}

fn known(name: &str, labels: &[&str], models_at_home: bool) -> FleetWorker {
    let labels = labels.iter().map(|label| label.parse().unwrap()).collect();
    FleetWorker { name: name.parse().unwrap(), labels, models_at_home }
}

impl HeldSeats {
    pub(crate) fn new(couriers: usize, times: LeaseTimes) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let session = SessionId::from(Uuid::from_u128(1));
        let shelves = |number: usize| folder.path().join(format!("shelves-{number}"));
        let hubs: Vec<LocalHub> = (0..couriers)
            .map(|number| LocalHub::new(BlobShelves::new(shelves(number), 1 << 30), None))
            .collect();
        let home = |hub: &LocalHub| Arc::new(hub.home(HomeName::of_session(session))) as Arc<dyn HomeCourier>;
        let fleet = Fleet::new(FleetParts {
            couriers: hubs.iter().map(home).collect(),
            seal: seal(),
            times,
            workers: vec![known("two", &[], true), known("three", &["big"], false)],
            open: false,
            models_at_home: true,
            folder: folder.path().join("passing"),
        });
        let workers = hubs.iter().map(|hub| hub.worker("two".parse().unwrap())).collect();
        Self { fleet, workers, session, folder }
    }

    pub(crate) fn seat(&self, agent: AgentId, on: &str) -> Seat {
        let lease_ms = 600_000;
        self.fleet.seat(SeatStart {
            session: self.session,
            agent,
            on: on.to_owned(),
            model: None,
            repository: "r".to_owned(),
            epoch: 1,
            worker: Some(WorkerRun { worker: "two".to_owned(), run: "run".to_owned(), lease_ms }),
            recorded: 0,
        })
    }

    /// Its worker says something by one of the couriers.
    pub(crate) async fn say(&self, courier: usize, agent: AgentId, said: RunUp) {
        let (home, run) = (HomeName::of_session(self.session), "run".parse().unwrap());
        let about = RunAbout { home: home.clone(), session: self.session, agent, run };
        let body = UpBody::Run { about, said };
        let up = Up { version: CLUSTER_VERSION, worker: "two".parse().unwrap(), body };
        self.workers[courier].append(&home, seal().seal_up(&up).unwrap()).await.unwrap();
    }
}

/// The next thing that home says to the worker's run.
async fn told(news: &mut mpsc::Receiver<WorkerNews>) -> RunDown {
    loop {
        let Some(WorkerNews::Message(letter)) = news.recv().await else { continue };
        let down = seal().open_down(&letter, &"two".parse().unwrap()).unwrap();
        if let DownBody::Run { said, .. } = down.body {
            return said;
        }
    }
}

async fn command(news: &mut mpsc::Receiver<WorkerNews>) -> Value {
    loop {
        if let RunDown::Command { body, .. } = told(news).await {
            return serde_json::from_str(body.get()).unwrap();
        }
    }
}

fn answer(text: String) -> SeatCommand {
    SeatCommand::Say(HostCommand::Answer { call: CallId("a".to_owned()), answer: Answer::Said { text } })
}

/// There are a way by ssh and a broker, and nobody knows by which one the worker comes until it speaks.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_to_a_worker_waits_until_its_way_is_known() {
    let held = HeldSeats::new(2, LeaseTimes::for_lease(4_000));
    let (own, seat) = (agent(1), held.seat(agent(1), "anywhere"));
    let mut news = held.workers[1].follow().await.unwrap();
    let long = "long ".repeat(limits::ITEM_BYTES_MAX);
    seat.commands.send(answer(long.clone())).unwrap();
    assert!(nothing(command(&mut news)).await, "it has not spoken");
    let said = soon("the command", async {
        loop {
            held.say(1, own, RunUp::Renew { epoch: 1, beat: 1 }).await;
            let heard = tokio::time::timeout(std::time::Duration::from_secs(1), command(&mut news)).await;
            if let Ok(said) = heard {
                return said;
            }
        }
    })
    .await;
    let blob: BlobId = said["blob"].as_str().expect("it is too long for a letter").parse().unwrap();
    let path = held.folder.path().join("said");
    held.workers[1].get_blob(blob, &path).await.expect("it is where the worker is");
    assert!(std::fs::read_to_string(path).unwrap().contains(&long));
}

/// A worker that never acknowledges what it is told hears it until its agent has ended, and no longer.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_said_again_to_an_agent_that_has_ended() {
    let held = HeldSeats::new(1, LeaseTimes::for_lease(1_000));
    let (own, seat) = (agent(1), held.seat(agent(1), "anywhere"));
    let mut news = held.workers[0].follow().await.unwrap();
    seat.commands.send(answer("once".to_owned())).unwrap();
    held.say(0, own, RunUp::Renew { epoch: 1, beat: 1 }).await;
    for _ in 0..2 {
        soon("it again", command(&mut news)).await;
    }
    seat.commands.send(SeatCommand::Settled { is_kept: true }).unwrap();
    soon("its end", async { while !matches!(told(&mut news).await, RunDown::Stale { .. }) {} }).await;
    seat.commands.send(answer("late".to_owned())).unwrap();
    assert!(nothing(command(&mut news)).await, "it has ended");
}

/// An agent of a worker that was removed from the configuration is given to no other one.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_a_worker_that_is_gone_goes_to_no_other() {
    let held = HeldSeats::new(1, LeaseTimes::for_lease(1_000));
    let mut seat = held.seat(agent(1), "gpu");
    let event = soon("the end", seat.events.recv()).await.expect("an event");
    let SeatEvent::NoWorker { reason } = event else { panic!("{event:?}") };
    assert!(reason.contains("no worker gpu any more") && reason.contains("configuration"), "{reason}");
    let none = BTreeSet::new();
    assert!(nothing(held.workers[0].claim(&none)).await, "it is not offered");
    seat.commands.send(SeatCommand::Settled { is_kept: false }).unwrap();
    soon("the end of the seat", async { while seat.events.recv().await.is_some() {} }).await;
}

/// Some workers call models themselves, and others have none: who gets the agent is not known when that is asked.
#[tokio::test(flavor = "multi_thread")]
async fn home_calls_the_models_of_agents_that_any_worker_may_get_if_one_needs_that() {
    let held = HeldSeats::new(1, LeaseTimes::for_lease(1_000));
    let at_home = ["anywhere", "two", "three", "big"].map(|on| held.fleet.models_at_home(on));
    assert_eq!(at_home, [true, true, false, false]);
}

/// A courier that has no room for what is for one worker.
struct Full {
    inner: Arc<dyn HomeCourier>,
    worker: WorkerName,
    refused: Arc<AtomicUsize>,
}

impl HomeCourier for Full {
    fn answer_to<'a>(&'a self, home: &'a HomeName) -> CourierFuture<'a, ()> {
        self.inner.answer_to(home)
    }
    fn offer(&self, offer: PostedOffer) -> CourierFuture<'_, ()> {
        self.inner.offer(offer)
    }
    fn withdraw(&self, agent: AgentId) -> CourierFuture<'_, ()> {
        self.inner.withdraw(agent)
    }
    fn tell<'a>(&'a self, worker: &'a WorkerName, message: Bytes) -> CourierFuture<'a, ()> {
        self.inner.tell(worker, message)
    }
    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<HomeNews>> {
        self.inner.follow()
    }
    fn put_blob<'a>(&'a self, worker: &'a WorkerName, from: &'a Path) -> CourierFuture<'a, BlobId> {
        if *worker == self.worker {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Box::pin(async { Err(CourierError::BlobTooLarge { bytes: 2, max: 1 }) });
        }
        self.inner.put_blob(worker, from)
    }
    fn get_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()> {
        self.inner.get_blob(worker, id, to)
    }
    fn drop_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId) -> CourierFuture<'a, ()> {
        self.inner.drop_blob(worker, id)
    }
    fn workers(&self) -> Vec<SeenWorker> {
        self.inner.workers()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_one_worker_has_no_room_for_the_files_another_one_gets_the_agent() {
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
    let refused = Arc::new(AtomicUsize::new(0));
    let inner = Arc::new(stage.hub.home("home".parse().unwrap()));
    let full = Full { inner, worker: "one".parse().unwrap(), refused: Arc::clone(&refused) };
    let one = stage.worker("one", &[]);
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let fleet = stage.fleet_over(Arc::new(full));
    let ran = tokio::spawn(finish(engine.start(stage.request("go", fleet)).unwrap()));
    soon("it to be refused twice", async {
        while refused.load(Ordering::SeqCst) < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    let two = stage.worker("two", &[]);
    let ran = soon("its end", ran).await.unwrap();
    let report = ran.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    assert_eq!(ran.workers_of("implementer-1").last().map(String::as_str), Some("two"));
    one.kill();
    two.kill();
}
