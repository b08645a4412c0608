//! A worker that only pretends: it speaks with home as a worker does, with the same leases and letters, but runs no agent. So one
//! machine has room for thousands of agents of one home, and what home takes for them can be measured.
//!
//! It has home call the model, tells of the reply and of a file that was read, and asks again; its agents never end.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use posse_cluster::{
    BlobId, BufferLimits, CLUSTER_VERSION, ClaimedOffer, DownBody, LeaseTimes, RawBody, RequestAsker,
    RunAbout, RunDown, RunId, RunUp, Seal, Up, UpBody, WorkerCourier, WorkerInfo, WorkerLease, WorkerName,
    WorkerNews, WorkerPhase,
};
use posse_engine::remote::{HomeReply, HomeRequest, HostedTask};
use posse_protocol::{EventKind, Purpose, Reply, Sender, ToolCall};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use super::home::{ends_with_its_input, seal};
use super::transport::Transport;

/// How often a worker says that it is there.
const HELLO: Duration = Duration::from_secs(15);

struct Pretender {
    courier: Arc<dyn WorkerCourier>,
    seal: Seal,
    name: WorkerName,
    place: PathBuf,
    capacity: u32,
    began: Instant,
    files: AtomicU64,
    runs: Mutex<HashMap<RunId, mpsc::UnboundedSender<RunDown>>>,
    /// Commits that it has, as it says.
    commits: Mutex<BTreeSet<String>>,
}

/// Serves until its input ends.
#[tokio::main(worker_threads = 1)]
pub(crate) async fn simulated(name: &str, place: &str, running: &str, transport: &str) -> anyhow::Result<()> {
    let (name, place) = (name.parse::<WorkerName>()?, Path::new(place));
    let seal = seal()?;
    let courier = Transport::parse(transport)?.worker(place, seal.owner(), &name).await?;
    ends_with_its_input();
    let pretender = Arc::new(Pretender {
        courier,
        seal,
        place: place.to_owned(),
        name,
        capacity: running.parse()?,
        began: Instant::now(),
        files: AtomicU64::new(0),
        runs: Mutex::default(),
        commits: Mutex::default(),
    });
    tokio::spawn(Arc::clone(&pretender).listen());
    tokio::spawn(Arc::clone(&pretender).greet());
    let room = Arc::new(Semaphore::new(running.parse()?));
    loop {
        let place = Arc::clone(&room).acquire_owned().await?;
        let claimed = pretender.courier.claim(&BTreeSet::new()).await?;
        let of_one = Arc::clone(&pretender);
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = of_one.run(claimed).await {
                eprintln!("a simulated agent has ended: {error:#}");
            }
        });
    }
}

impl Pretender {
    async fn listen(self: Arc<Self>) {
        let Ok(mut news) = self.courier.follow().await else { return };
        while let Some(news) = news.recv().await {
            let WorkerNews::Message(letter) = news else { continue };
            let Ok(down) = self.seal.open_down(&letter, &self.name) else { continue };
            if let DownBody::Run { about, said } = down.body
                && let Some(run) = self.runs.lock().unwrap_or_else(PoisonError::into_inner).get(&about.run)
            {
                let _ = run.send(said);
            }
        }
    }

    async fn greet(self: Arc<Self>) {
        let Some(process) = RunId::random() else { return };
        loop {
            let info = WorkerInfo {
                labels: BTreeSet::new(),
                capacity: self.capacity,
                room: 0,
                program: env!("CARGO_PKG_VERSION").to_owned(),
                have: RawBody::default(),
                drained: false,
                process: process.clone(),
                orders: 0,
            };
            let up = Up { version: CLUSTER_VERSION, worker: self.name.clone(), body: UpBody::Hello(info) };
            if let Ok(letter) = self.seal.seal_up(&up) {
                let _ = self.courier.hello(letter).await;
            }
            tokio::time::sleep(HELLO).await;
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    async fn fetched(&self, blob: &Value) -> anyhow::Result<Vec<u8>> {
        let blob: BlobId = blob.as_str().context("no blob")?.parse()?;
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let path = self.place.join(format!("{}-{number}", self.name));
        self.courier.get_blob(blob, &path).await?;
        let bytes = std::fs::read(&path)?;
        std::fs::remove_file(&path)?;
        Ok(bytes)
    }

    /// Pretends to run an agent, for as long as it is let.
    async fn run(self: Arc<Self>, claimed: ClaimedOffer) -> anyhow::Result<()> {
        let offer = self.seal.open_offer(&claimed.bytes)?;
        let run = RunId::random().context("no random numbers")?;
        let (sender, mut told) = mpsc::unbounded_channel();
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone(), sender);
        let about = RunAbout { home: offer.home, session: offer.session, agent: offer.agent, run };
        let commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let times = LeaseTimes::default();
        let mut agent = Pretended {
            lease: WorkerLease::new(times, BufferLimits::default(), self.now_ms()),
            asker: RequestAsker::new(times.answer_ms),
            asked: 0,
            turn: 0,
        };
        let have = raw(&json!({ "commits": commits }))?;
        let mut hold = tokio::time::interval(Duration::from_millis(times.renew_ms));
        loop {
            let now_ms = self.now_ms();
            match agent.lease.phase() {
                WorkerPhase::Claiming | WorkerPhase::Held => {}
                WorkerPhase::Refused(_) | WorkerPhase::GivenUp | WorkerPhase::Stale => {
                    return Ok(claimed.lease.give_back().await?);
                }
                WorkerPhase::Done => return Ok(claimed.lease.done().await?),
            }
            for send in agent.lease.tick(now_ms) {
                self.say(&about, RunUp::of_lease(send, &have, "")).await?;
            }
            let epoch = agent.lease.epoch();
            for request in agent.asker.tick(now_ms) {
                let (id, open_from, body) = (request.id, request.open_from, request.body);
                self.say(&about, RunUp::Request { epoch, id, open_from, body }).await?;
            }
            let due = [agent.lease.tick_at_ms(), agent.asker.tick_at_ms()].into_iter().flatten().min();
            let pause = due.map_or(60_000, |due| due.saturating_sub(self.now_ms()).max(1));
            tokio::select! {
                said = told.recv() => {
                    let said = said.context("home is gone")?;
                    let claims = agent.lease.phase() == WorkerPhase::Claiming;
                    if let Some(input) = said.to_lease() {
                        agent.lease.hear(self.now_ms(), input);
                    }
                    match said {
                        RunDown::Granted { package, .. } if claims => {
                            let task = self.task(&package).await?;
                            agent.begin(task)?;
                        }
                        RunDown::Reply { id, body, .. } => agent.replied(id, &body)?,
                        _ => {}
                    }
                }
                _ = hold.tick() => drop(claimed.lease.renew().await),
                () = tokio::time::sleep(Duration::from_millis(pause)) => {}
            }
        }
    }

    /// The task of a package, and its files, which nobody needs.
    async fn task(&self, package: &RawBody) -> anyhow::Result<HostedTask> {
        let package: Value = serde_json::from_str(package.get())?;
        let task: HostedTask = serde_json::from_slice(&self.fetched(&package["task"]).await?)?;
        if !package["bundle"].is_null() {
            self.fetched(&package["bundle"]).await?;
        }
        self.commits.lock().unwrap_or_else(PoisonError::into_inner).insert(task.work.start.clone());
        Ok(task)
    }

    async fn say(&self, about: &RunAbout, said: RunUp) -> anyhow::Result<()> {
        let body = UpBody::Run { about: about.clone(), said };
        let up = Up { version: CLUSTER_VERSION, worker: self.name.clone(), body };
        Ok(self.courier.append(&about.home, self.seal.seal_up(&up)?).await?)
    }
}

/// One of its agents.
struct Pretended {
    lease: WorkerLease<RawBody, RawBody>,
    asker: RequestAsker<RawBody>,
    /// The request that it waits for.
    asked: u64,
    turn: u32,
}

impl Pretended {
    fn begin(&mut self, task: HostedTask) -> anyhow::Result<()> {
        self.tell(&EventKind::told(Sender::Parent, task.words))?;
        self.begin_turn()
    }

    fn begin_turn(&mut self) -> anyhow::Result<()> {
        self.turn += 1;
        self.tell(&EventKind::TurnStarted { turn: self.turn, purpose: Purpose::Work })?;
        let body = json!({"after": self.lease.pushed(), "request": HomeRequest::CallModel});
        self.asked = self.asker.ask(raw(&body)?)?;
        Ok(())
    }

    fn replied(&mut self, id: u64, body: &RawBody) -> anyhow::Result<()> {
        if !self.asker.answered(id) || id != self.asked {
            return Ok(());
        }
        // A reply is in the letter, or in a blob where it is longer than these are.
        let mut said: Value = serde_json::from_str(body.get())?;
        match serde_json::from_value(said["here"].take())? {
            HomeReply::Replied { reply } => {
                self.read_files(*reply)?;
                self.begin_turn()
            }
            other => anyhow::bail!("home said {other:?}"),
        }
    }

    /// Tells that the reply came and that its calls were carried out.
    fn read_files(&mut self, reply: Reply) -> anyhow::Result<()> {
        let calls = reply.calls.clone();
        self.tell(&EventKind::Replied { turn: self.turn, reply, duration_ms: 1, cost_usd: None })?;
        for ToolCall { id, name, .. } in calls {
            self.tell(&EventKind::ToolStarted {
                call: id.clone(),
                tool: name.clone(),
                title: "notes.txt".to_owned(),
                repeatable: true,
                kind: posse_protocol::CallKind::Read,
                paths: vec!["notes.txt".to_owned()],
            })?;
            self.tell(&EventKind::ToolFinished {
                call: id,
                tool: name,
                ok: true,
                text: (1..=20).map(|n| format!("{n}\tline {n} of the notes\n")).collect(),
                attachments: Vec::new(),
                effects: Vec::new(),
                duration_ms: 1,
            })?;
        }
        Ok(())
    }

    fn tell(&mut self, kind: &EventKind) -> anyhow::Result<()> {
        let item = raw(&json!({"here": {"item": {"kind": kind}}}))?;
        let bytes = item.get().len();
        self.lease.push(item, bytes).ok().context("too much waits for home")?;
        Ok(())
    }
}

fn raw(value: &Value) -> anyhow::Result<RawBody> {
    Ok(serde_json::value::to_raw_value(value)?)
}
