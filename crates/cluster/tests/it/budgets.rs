//! Workers that say more than home reads: what waits of it has a limit for each worker, in bytes, and others are heard meanwhile.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use posse_cluster::{
    BlobId, CLUSTER_VERSION, CourierFuture, Fleet, FleetParts, FleetWorker, HomeCourier, HomeName, HomeNews,
    LeaseTimes, LocalHome, LocalHub, LocalWorker, PipeHome, PostedOffer, RunAbout, RunId, RunUp, SeenWorker,
    Up, UpBody, WorkerCourier, WorkerName, limits,
};
use posse_engine::remote::{Seat, SeatEvent, SeatStart, Workers};
use posse_protocol::{AgentId, SessionId};
use posse_testkit::nats::NatsServer;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::brokers;
use crate::fixture::{agent, memory_mb, shelves, soon};
use crate::stage::seal;

/// How much home may grow by a flood, and how long and how many the letters of one are: more than four times as much.
const GROWTH_MB_MAX: u64 = 250;
const LONG_BYTES: usize = limits::MESSAGE_BYTES_MAX - (16 << 10);
const LETTERS: usize = 150;

/// Reads on until a worker is heard.
async fn heard_from(news: &mut mpsc::Receiver<HomeNews>, worker: &str) {
    loop {
        match news.recv().await {
            Some(HomeNews::Message { from, .. }) if from.as_str() == worker => return,
            Some(_) => {}
            None => panic!("home hears nothing any more"),
        }
    }
}

/// Home does not read at all for a while.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_at_a_broker_costs_little_memory_and_others_are_heard() {
    let server = NatsServer::start("max_payload: 8388608\n");
    let folder = tempfile::tempdir().unwrap();
    let home = brokers::home(&brokers::address(&server)).await.unwrap();
    let mut news = home.follow().await.unwrap();
    let two = brokers::worker(&brokers::address(&server), folder.path(), "two").await.unwrap();
    let raw = async_nats::connect(server.url()).await.unwrap();
    let long = Bytes::from(vec![b'x'; LONG_BYTES]);
    let before = memory_mb();
    for _ in 0..LETTERS {
        raw.publish("posse.me.up.home.one", long.clone()).await.unwrap();
        raw.flush().await.unwrap();
    }
    // The broker may cut off a home that is slower than the flood, and words of that moment are lost: they are said again.
    let says = async {
        loop {
            let _ = two.append(&brokers::home_name(), Bytes::from("words")).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let seen = async {
        while !home.workers().iter().any(|seen| seen.name.as_str() == "two") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        memory_mb()
    };
    let heard = async {
        let grown = seen.await.saturating_sub(before);
        heard_from(&mut news, "two").await;
        grown
    };
    let grown = soon("the words of another", async {
        tokio::select! {
            () = says => unreachable!("it says it until it is heard"),
            grown = heard => grown,
        }
    })
    .await;
    assert!(grown <= GROWTH_MB_MAX, "{grown} MB more");
}

/// A pipe is not read on while too much of its worker waits. Others are.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_in_a_pipe_costs_little_memory_and_others_are_heard() {
    let folder = tempfile::tempdir().unwrap();
    let home = PipeHome::new(shelves(folder.path()));
    let mut news = home.follow().await.unwrap();
    let mut writers = Vec::new();
    for name in ["one", "two"] {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let (reader, writer) = tokio::io::split(ours);
        home.add(&name.parse().unwrap(), reader, writer).unwrap();
        let (reader, mut writer) = tokio::io::split(theirs);
        writer.write_all(b"\0posse pipe 1\n").await.unwrap();
        writer.write_all(&[[0, 0, 0, 4, 1].as_slice(), name.as_bytes()].concat()).await.unwrap();
        writers.push((reader, writer));
    }
    let (_two_reads, mut two) = writers.pop().unwrap();
    let (_one_reads, mut one) = writers.pop().unwrap();
    let before = memory_mb();
    let flood = tokio::spawn(async move {
        let head = [(LONG_BYTES as u32 + 1).to_be_bytes().as_slice(), &[2]].concat();
        let long = vec![b'x'; LONG_BYTES];
        for _ in 0..LETTERS {
            one.write_all(&head).await.unwrap();
            one.write_all(&long).await.unwrap();
        }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!flood.is_finished());
    two.write_all(&[0, 0, 0, 2, 2, b'x']).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let grown = memory_mb().saturating_sub(before);
    assert!(grown <= GROWTH_MB_MAX, "{grown} MB more");
    soon("the words of another", heard_from(&mut news, "two")).await;
    flood.abort();
}

/// A home whose words never arrive: an agent that has to answer stands still, as one does whose files take long.
struct Silent(LocalHome);

impl HomeCourier for Silent {
    fn answer_to<'a>(&'a self, home: &'a HomeName) -> CourierFuture<'a, ()> {
        self.0.answer_to(home)
    }

    fn offer(&self, offer: PostedOffer) -> CourierFuture<'_, ()> {
        self.0.offer(offer)
    }

    fn withdraw(&self, agent: AgentId) -> CourierFuture<'_, ()> {
        self.0.withdraw(agent)
    }

    fn tell<'a>(&'a self, _: &'a WorkerName, _: Bytes) -> CourierFuture<'a, ()> {
        Box::pin(std::future::pending())
    }

    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<HomeNews>> {
        self.0.follow()
    }

    fn put_blob<'a>(&'a self, worker: &'a WorkerName, from: &'a Path) -> CourierFuture<'a, BlobId> {
        self.0.put_blob(worker, from)
    }

    fn get_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()> {
        self.0.get_blob(worker, id, to)
    }

    fn drop_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId) -> CourierFuture<'a, ()> {
        self.0.drop_blob(worker, id)
    }

    fn workers(&self) -> Vec<SeenWorker> {
        self.0.workers()
    }
}

/// Agents that no worker has yet, and a worker that speaks about them.
struct Silence {
    fleet: Fleet,
    worker: LocalWorker,
    session: SessionId,
    _folder: tempfile::TempDir,
}

impl Silence {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hub = LocalHub::new(shelves(&folder.path().join("shelves")), None);
        let session = SessionId::from(Uuid::from_u128(1));
        let known =
            FleetWorker { name: "two".parse().unwrap(), labels: BTreeSet::new(), models_at_home: true };
        let fleet = Fleet::new(FleetParts {
            couriers: vec![Arc::new(Silent(hub.home(HomeName::of_session(session))))],
            seal: seal(),
            times: LeaseTimes::default(),
            workers: vec![known],
            open: false,
            models_at_home: true,
            folder: folder.path().join("passing"),
        });
        Self { fleet, worker: hub.worker("two".parse().unwrap()), session, _folder: folder }
    }

    fn seat(&self, agent: AgentId) -> Seat {
        self.fleet.seat(SeatStart {
            session: self.session,
            agent,
            on: "anywhere".to_owned(),
            model: None,
            repository: "r".to_owned(),
            epoch: 0,
            worker: None,
            recorded: 0,
        })
    }

    fn letter(&self, agent: AgentId, said: RunUp) -> Bytes {
        let (home, run) = (HomeName::of_session(self.session), "run".parse::<RunId>().unwrap());
        let body = UpBody::Run { about: RunAbout { home, session: self.session, agent, run }, said };
        let worker = "two".parse().unwrap();
        seal().seal_up(&Up { version: CLUSTER_VERSION, worker, body }).unwrap()
    }

    /// Says something, and leaves home the time to read it.
    async fn say(&self, letter: &Bytes) {
        self.worker.append(&HomeName::of_session(self.session), letter.clone()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn raw(text: String) -> posse_cluster::RawBody {
    serde_json::value::RawValue::from_string(text).unwrap()
}

/// What home grows by for a moment, while it reads a letter of four million items.
const ITEMS_MB_MAX: u64 = 250;

/// An agent that stands still is flooded, with long letters, with letters of many items, and with long ones of short kinds: another
/// agent of the same worker is heard.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_for_a_slow_agent_costs_little_memory_and_no_other_agent() {
    let silence = Silence::new();
    let (slow, other) = (agent(1), agent(2));
    let _slow_seat = silence.seat(slow);
    let mut other_seat = silence.seat(other);
    // It is answered to, which takes for ever.
    silence.say(&silence.letter(slow, RunUp::Renew { epoch: 9, beat: 1 })).await;
    let long = || raw(format!("\"{}\"", "x".repeat(LONG_BYTES)));
    let letters = [
        silence.letter(slow, RunUp::Items { epoch: 0, first: 1, items: vec![long()] }),
        silence
            .letter(slow, RunUp::Items { epoch: 0, first: 1, items: vec![raw("1".to_owned()); 4_000_000] }),
        silence.letter(slow, RunUp::Progress { epoch: 0, body: long() }),
        silence.letter(slow, RunUp::Claim { beat: 1, have: long() }),
    ];
    let before = memory_mb();
    for letter in &letters {
        for _ in 0..LETTERS / 4 {
            silence.say(letter).await;
        }
    }
    let grown = memory_mb().saturating_sub(before);
    let claim = silence.letter(other, RunUp::Claim { beat: 1, have: raw("{\"commits\":[]}".to_owned()) });
    let claimed = soon("the other agent", async {
        loop {
            silence.say(&claim).await;
            if let Ok(event) = other_seat.events.try_recv() {
                return event;
            }
        }
    })
    .await;
    assert!(matches!(claimed, SeatEvent::Claimed { epoch: 1, .. }), "{claimed:?}");
    assert!(grown <= GROWTH_MB_MAX + ITEMS_MB_MAX, "{grown} MB more");
}
