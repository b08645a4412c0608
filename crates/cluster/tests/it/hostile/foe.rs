//! A worker that says whatever it likes, in signed letters that it writes itself.

use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use posse_cluster::{
    BlobId, CLUSTER_VERSION, ClaimedOffer, DownBody, LocalHub, LocalWorker, RawBody, RunAbout, RunDown,
    RunId, RunUp, TaskOffer, Up, UpBody, WorkerCourier, WorkerName, WorkerNews,
};
use posse_engine::remote::HostedTask;
use posse_protocol::{EventKind, Reply, Sender};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::stage::{REPORT, seal};

/// What it does once it has an agent.
pub(crate) type Attack = Arc<dyn Fn(Held) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// The fake worker. Copies are the same.
#[derive(Clone)]
pub(crate) struct Foe(Arc<Inner>);

struct Inner {
    courier: LocalWorker,
    name: WorkerName,
    folder: PathBuf,
    runs: Mutex<HashMap<RunId, mpsc::UnboundedSender<RunDown>>>,
    next: AtomicUsize,
}

/// An agent that it was granted, or not yet.
pub(crate) struct Held {
    pub(crate) foe: Foe,
    pub(crate) offer: TaskOffer,
    pub(crate) about: RunAbout,
    pub(crate) epoch: u64,
    /// How many items are on record.
    pub(crate) recorded: u64,
    pub(crate) package: Value,
    told: mpsc::UnboundedReceiver<RunDown>,
    _lease: ClaimedOffer,
}

pub(crate) fn raw(value: &Value) -> RawBody {
    serde_json::value::to_raw_value(value).unwrap()
}

/// An event as it travels.
pub(crate) fn item(kind: &EventKind) -> Value {
    json!({"here": {"item": {"kind": kind}}})
}

/// A whole short life: a task, a turn and a report.
pub(crate) fn life() -> Vec<Value> {
    let told = EventKind::told(Sender::Parent, "do it");
    let started = EventKind::TurnStarted { turn: 1, purpose: posse_protocol::Purpose::Work };
    let reply = Reply { text: REPORT.to_owned(), ..Reply::default() };
    let replied = EventKind::Replied { turn: 1, reply, duration_ms: 1, cost_usd: None };
    [told, started, replied].iter().map(item).collect()
}

/// How an agent ends that changed nothing.
pub(crate) fn end() -> Value {
    json!({"end": {"ending": {"status": "completed"}, "short": null, "notes": [], "tip": null}, "bundle": null})
}

impl Foe {
    /// Takes every offer that is for it, from now on, and attacks.
    pub(crate) fn rise(hub: &LocalHub, name: &str, folder: PathBuf, attack: Attack) -> Self {
        std::fs::create_dir_all(&folder).unwrap();
        let name: WorkerName = name.parse().unwrap();
        let (runs, next) = (Mutex::default(), AtomicUsize::new(0));
        let foe = Self(Arc::new(Inner { courier: hub.worker(name.clone()), name, folder, runs, next }));
        let (listening, claiming) = (foe.clone(), foe.clone());
        tokio::spawn(async move { listening.listen().await });
        tokio::spawn(async move { claiming.claim(attack).await });
        foe
    }

    async fn listen(self) {
        let mut news = self.0.courier.follow().await.unwrap();
        let seal = seal();
        while let Some(news) = news.recv().await {
            let WorkerNews::Message(letter) = news else { continue };
            let Ok(down) = seal.open_down(&letter, &self.0.name) else { continue };
            let DownBody::Run { about, said } = down.body else { continue };
            let run = self.0.runs.lock().unwrap().get(&about.run).cloned();
            run.into_iter().for_each(|run| drop(run.send(said.clone())));
        }
    }

    async fn claim(self, attack: Attack) {
        let labels = std::collections::BTreeSet::new();
        while let Ok(claimed) = self.0.courier.claim(&labels).await {
            let offer = seal().open_offer(&claimed.bytes).unwrap();
            let held = self.hold(offer, claimed);
            tokio::spawn(attack(held));
        }
    }

    fn hold(&self, offer: TaskOffer, claimed: ClaimedOffer) -> Held {
        let run = RunId::random().unwrap();
        let told = self.listens_for(&run);
        let about = RunAbout { home: offer.home.clone(), session: offer.session, agent: offer.agent, run };
        let package = Value::Null;
        Held { foe: self.clone(), offer, about, epoch: 0, recorded: 0, package, told, _lease: claimed }
    }

    /// What home says to a run from now on.
    pub(crate) fn listens_for(&self, run: &RunId) -> mpsc::UnboundedReceiver<RunDown> {
        let (sender, told) = mpsc::unbounded_channel();
        self.0.runs.lock().unwrap().insert(run.clone(), sender);
        told
    }

    pub(crate) fn name(&self) -> WorkerName {
        self.0.name.clone()
    }

    /// A letter in the name of any worker.
    pub(crate) fn letter_of(&self, worker: &str, about: &RunAbout, said: RunUp) -> Bytes {
        let body = UpBody::Run { about: about.clone(), said };
        let up = Up { version: CLUSTER_VERSION, worker: worker.parse().unwrap(), body };
        seal().seal_up(&up).unwrap()
    }

    pub(crate) async fn send(&self, about: &RunAbout, letter: Bytes) {
        // Home's mailbox may be full for a moment, and then a letter is lost.
        tokio::task::yield_now().await;
        self.0.courier.append(&about.home, letter).await.unwrap();
    }

    pub(crate) async fn say(&self, about: &RunAbout, said: RunUp) {
        let letter = self.letter_of(self.0.name.as_str(), about, said);
        self.send(about, letter).await;
    }

    pub(crate) async fn hello(&self, body: UpBody, worker: &str) {
        let up = Up { version: CLUSTER_VERSION, worker: worker.parse().unwrap(), body };
        self.0.courier.hello(seal().seal_up(&up).unwrap()).await.unwrap();
    }

    fn file(&self) -> PathBuf {
        self.0.folder.join(format!("foe-{}", self.0.next.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) async fn put(&self, bytes: &[u8]) -> BlobId {
        let path = self.file();
        std::fs::write(&path, bytes).unwrap();
        self.put_file(&path).await
    }

    pub(crate) async fn put_file(&self, path: &std::path::Path) -> BlobId {
        let blob = self.0.courier.put_blob(path).await.unwrap();
        std::fs::remove_file(path).unwrap();
        blob
    }

    async fn get(&self, blob: &str) -> Vec<u8> {
        let path = self.file();
        self.0.courier.get_blob(blob.parse().unwrap(), &path).await.unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        bytes
    }
}

impl Held {
    /// Claims the agent and waits for the grant; says again what may have been lost.
    pub(crate) async fn claim(&mut self) {
        loop {
            self.say(RunUp::Claim { beat: 1, have: raw(&json!({"commits": []})) }).await;
            while let Some(said) = self.hear().await {
                match said {
                    RunDown::Granted { epoch, recorded, package, .. } => {
                        (self.epoch, self.recorded) = (epoch, recorded);
                        self.package = serde_json::from_str(package.get()).unwrap();
                        return;
                    }
                    RunDown::Refused(why) => panic!("the offer is not granted: {why:?}"),
                    _ => {}
                }
            }
        }
    }

    /// The task as home sent it.
    pub(crate) async fn task(&self) -> HostedTask {
        let bytes = self.foe.get(self.package["task"].as_str().unwrap()).await;
        serde_json::from_slice(&bytes).unwrap()
    }

    /// The next thing that home says; none if that takes longer than it should, since letters can be lost.
    pub(crate) async fn hear(&mut self) -> Option<RunDown> {
        tokio::time::timeout(Duration::from_millis(500), self.told.recv()).await.ok().flatten()
    }

    pub(crate) async fn say(&self, said: RunUp) {
        self.foe.say(&self.about, said).await;
    }

    /// Says something again and again, until home says what is waited for. It renews meanwhile.
    pub(crate) async fn until<T>(&mut self, said: RunUp, want: impl Fn(&RunDown) -> Option<T>) -> T {
        loop {
            self.say(said.clone()).await;
            while let Some(heard) = self.hear().await {
                if let Some(wanted) = want(&heard) {
                    return wanted;
                }
            }
            self.say(RunUp::Renew { epoch: self.epoch, beat: 1 }).await;
        }
    }

    pub(crate) fn items(&self, first: u64, items: &[Value]) -> RunUp {
        RunUp::Items { epoch: self.epoch, first, items: items.iter().map(raw).collect() }
    }

    /// Tells items, and waits until home has them on record, or has ended the agent.
    pub(crate) async fn tell(&mut self, items: &[Value]) -> bool {
        let (first, all) = (self.recorded + 1, self.recorded + items.len() as u64);
        let said = self.items(first, items);
        let taken = self
            .until(said, |heard| match heard {
                RunDown::Ack { upto, .. } | RunDown::Renewed { recorded: upto, .. } if *upto >= all => {
                    Some(true)
                }
                heard if is_over(heard) => Some(false),
                _ => None,
            })
            .await;
        if taken {
            self.recorded = all;
        }
        taken
    }

    /// Ends the agent in a way, and waits until home knows.
    pub(crate) async fn end(&mut self, result: &Value) {
        let said =
            RunUp::Final { epoch: self.epoch, after: self.recorded, aside: false, result: raw(result) };
        self.until(said, |heard| is_over(heard).then_some(())).await;
    }

    /// Waits until home has read all that was said so far, and forgets what it said to that.
    pub(crate) async fn calm(&mut self) {
        let beat = u64::MAX;
        let said = RunUp::Renew { epoch: self.epoch, beat };
        self.until(said, |heard| {
            matches!(heard, RunDown::Renewed { beat: of, .. } if *of == beat).then_some(())
        })
        .await;
    }

    /// Says more and more, until home ends the agent.
    pub(crate) async fn say_until_over(&mut self, said: impl Fn(&Self, u64) -> RunUp) {
        for number in 1.. {
            self.say(said(self, number)).await;
            while let Ok(heard) = self.told.try_recv() {
                if is_over(&heard) {
                    return;
                }
            }
        }
    }

    /// Lets the agent live and end as an honest worker would.
    pub(crate) async fn complete(&mut self) {
        if self.tell(&life()).await {
            self.end(&end()).await;
        }
    }

    /// Tells one thing that home must not take, and waits for the end of the agent.
    pub(crate) async fn is_refused_for(&mut self, items: &[Value]) {
        let said = self.items(self.recorded + 1, items);
        self.until(said, |heard| is_over(heard).then_some(())).await;
    }

    pub(crate) fn request(&self, id: u64, after: u64, request: &Value) -> RunUp {
        let body = raw(&json!({"after": after, "request": request}));
        RunUp::Request { epoch: self.epoch, id, open_from: id, body }
    }

    /// Asks something, and gives what home replies.
    pub(crate) async fn ask(&mut self, id: u64, request: &Value) -> Value {
        let said = self.request(id, self.recorded, request);
        self.until(said, |heard| match heard {
            RunDown::Reply { id: of, body, .. } if *of == id => {
                Some(serde_json::from_str::<Value>(body.get()).unwrap()["here"].take())
            }
            _ => None,
        })
        .await
    }
}

/// Whether home says that the agent has ended.
pub(crate) fn is_over(heard: &RunDown) -> bool {
    matches!(heard, RunDown::SettledAck { .. } | RunDown::Stale { .. })
}
