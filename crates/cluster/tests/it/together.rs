//! All parts at once, in real time: leases, signed letters and a courier that loses and repeats, with two workers of which one
//! falls silent.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use posse_cluster::{
    BufferLimits, CLUSTER_VERSION, CarryFaults, Down, DownBody, HomeAction, HomeCourier, HomeInput,
    HomeLease, HomeNews, LeaseHolder, LeaseTimes, LocalHub, LocalWay, OwnerSecret, PostedOffer, RawBody,
    RunAbout, RunDown, RunId, RunUp, Seal, TaskOffer, Up, UpBody, Wants, WorkerCourier, WorkerLease,
    WorkerName, WorkerNews, WorkerPhase,
};
use posse_protocol::SessionId;
use uuid::Uuid;

use crate::fixture::{agent, shelves, soon};

const WANTED: u64 = 40;

/// The courier's faults, by a seed.
struct Rough(Mutex<fastrand::Rng>);

impl CarryFaults for Rough {
    fn carry(&self, _: &LocalWay, _: &Bytes) -> Vec<u64> {
        let mut rng = self.0.lock().unwrap();
        match rng.u8(0..10) {
            0..=2 => Vec::new(),
            3 => vec![5, 60],
            _ => vec![rng.u64(0..20)],
        }
    }
}

fn raw(value: impl serde::Serialize) -> RawBody {
    serde_json::value::to_raw_value(&value).unwrap()
}

fn times() -> LeaseTimes {
    LeaseTimes::for_lease(800)
}

fn seal() -> Seal {
    Seal::new("me".parse().unwrap(), OwnerSecret::new(b"a secret of sixteen bytes or more").unwrap())
}

/// Runs offers until one has settled. With `stops_at`, it says nothing any more after so many items.
async fn work(hub: LocalHub, name: &str, stops_at: Option<u64>) {
    let (name, seal, begun): (WorkerName, Seal, Instant) = (name.parse().unwrap(), seal(), Instant::now());
    let now = || begun.elapsed().as_millis() as u64;
    let courier = hub.worker(name.clone());
    let mut news = courier.follow().await.unwrap();
    loop {
        let claimed = courier.claim(&BTreeSet::new()).await.unwrap();
        let offer = seal.open_offer(&claimed.bytes).unwrap();
        let about = RunAbout {
            home: offer.home.clone(),
            session: offer.session,
            agent: offer.agent,
            run: RunId::random().unwrap(),
        };
        let mut lease: WorkerLease<RawBody, RawBody> =
            WorkerLease::new(times(), BufferLimits::default(), now());
        loop {
            while let Ok(heard) = news.try_recv() {
                let WorkerNews::Message(letter) = heard else { continue };
                let down = seal.open_down(&letter, &name).unwrap();
                let DownBody::Run { about: of, said } = down.body else { continue };
                if let (true, Some(said)) = (of == about, said.to_lease()) {
                    lease.hear(now(), said);
                }
            }
            match lease.phase() {
                WorkerPhase::Held if lease.pushed() >= WANTED => lease.finish(raw("done"), now()),
                WorkerPhase::Held if lease.may_act(now()) && !lease.is_full() => {
                    let item = raw(format!("{name} did {}", lease.pushed() + 1));
                    let bytes = item.get().len();
                    lease.push(item, bytes).unwrap();
                }
                WorkerPhase::Stale => lease.finish(raw("left over"), now()),
                WorkerPhase::Done => return claimed.lease.done().await.unwrap(),
                WorkerPhase::Refused(_) | WorkerPhase::GivenUp => break,
                WorkerPhase::Held | WorkerPhase::Claiming => {}
            }
            if stops_at.is_some_and(|items| lease.acked() >= items) {
                return std::future::pending().await;
            }
            for send in lease.tick(now()) {
                let said = RunUp::of_lease(send, &RawBody::default(), "");
                let body = UpBody::Run { about: about.clone(), said };
                let up = Up { version: CLUSTER_VERSION, worker: name.clone(), body };
                courier.append(&offer.home, seal.seal_up(&up).unwrap()).await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        claimed.lease.give_back().await.unwrap();
    }
}

struct Home {
    courier: Arc<dyn HomeCourier>,
    seal: Seal,
    lease: HomeLease<RawBody, LeaseHolder>,
    record: Vec<String>,
    settled: Vec<String>,
    grants: u64,
    begun: Instant,
}

impl Home {
    fn about(&self, run: RunId) -> RunAbout {
        let session = SessionId::from(Uuid::from_u128(1));
        RunAbout { home: "home".parse().unwrap(), session, agent: agent(1), run }
    }

    /// Everything is durable at once here.
    async fn take(&mut self, input: HomeInput<RawBody, RawBody, LeaseHolder>) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let now = self.begun.elapsed().as_millis() as u64;
            for action in self.lease.handle(now, input) {
                if let Some((holder, said)) = RunDown::of_lease(&action) {
                    self.tell(holder, said).await;
                    continue;
                }
                match action {
                    HomeAction::Offer { epoch, attempt } => self.offer(epoch, attempt).await,
                    HomeAction::RecordGrant { epoch, .. } => {
                        self.grants = epoch;
                        inputs.push(HomeInput::GrantRecorded { epoch });
                    }
                    HomeAction::Granted { holder, epoch, lease_ms, beat, recorded } => {
                        let package = raw(());
                        self.tell(
                            holder,
                            RunDown::Granted { epoch, beat, recorded, lease_ms, renew_ms: 10_000, package },
                        )
                        .await;
                    }
                    HomeAction::Record { first, items, .. } => {
                        assert_eq!(first, self.record.len() as u64 + 1);
                        self.record.extend(items.iter().map(|item| item.get().to_owned()));
                        inputs.push(HomeInput::Recorded { upto: self.record.len() as u64 });
                    }
                    HomeAction::Settle { result, .. } => {
                        self.settled.push(result.get().to_owned());
                        inputs.push(HomeInput::Settled { with_result: true });
                    }
                    HomeAction::TakeAside { holder, epoch, .. } => {
                        inputs.push(HomeInput::TakenAside { holder, epoch });
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    async fn tell(&self, holder: LeaseHolder, said: RunDown) {
        let (about, worker) = (self.about(holder.run), holder.worker);
        let down = Down::run(worker.clone(), about, said);
        let _ = self.courier.tell(&worker, self.seal.seal_down(&down).unwrap()).await;
    }

    async fn offer(&self, epoch: u64, attempt: u64) {
        let RunAbout { home, session, agent, .. } = self.about("none".parse().unwrap());
        let offer = TaskOffer {
            version: CLUSTER_VERSION,
            owner: "me".parse().unwrap(),
            home,
            session,
            agent,
            epoch,
            attempt,
            wants: Wants::default(),
            needs: raw(()),
        };
        let bytes = self.seal.seal_offer(&offer).unwrap();
        self.courier
            .offer(PostedOffer { agent, epoch, attempt, wants: Wants::default(), bytes })
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn an_agent_outlives_its_worker_and_settles_once() {
    let folder = tempfile::tempdir().unwrap();
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let faults = Arc::new(Rough(Mutex::new(fastrand::Rng::with_seed(seed))));
    let hub = LocalHub::new(shelves(folder.path()), Some(faults));
    let courier = Arc::new(hub.home("home".parse().unwrap()));
    let mut news = courier.follow().await.unwrap();
    let mut home = Home {
        courier,
        seal: seal(),
        lease: HomeLease::new(times()),
        record: Vec::new(),
        settled: Vec::new(),
        grants: 0,
        begun: Instant::now(),
    };
    let silent = tokio::spawn(work(hub.clone(), "silent", Some(12)));
    home.take(HomeInput::Tick).await;
    let mut second = None;
    soon("its end", async {
        loop {
            let heard = tokio::time::timeout(Duration::from_millis(20), news.recv()).await;
            if let Ok(Some(HomeNews::Message { from, letter })) = heard {
                let up = home.seal.open_up(&letter, &from).unwrap();
                let UpBody::Run { about, said } = up.body else { continue };
                let holder = LeaseHolder { worker: up.worker, run: about.run };
                home.take(said.into_lease(holder).unwrap()).await;
            }
            home.take(HomeInput::Tick).await;
            if home.record.len() >= 12 && second.is_none() {
                second = Some(tokio::spawn(work(hub.clone(), "second", None)));
            }
            if second.as_ref().is_some_and(|second| second.is_finished()) {
                return;
            }
        }
    })
    .await;
    silent.abort();
    assert_eq!(home.settled, ["\"done\""]);
    assert_eq!(home.record.len() as u64, WANTED);
    let numbers: Vec<String> = home.record.iter().map(|item| item.replace("silent", "second")).collect();
    let expected: Vec<String> = (1..=WANTED).map(|number| format!("\"second did {number}\"")).collect();
    assert_eq!(numbers, expected);
    assert!(home.grants >= 2 && home.record[11].contains("silent") && home.record[39].contains("second"));
    assert_eq!(home.seal.refused(), 0);
}
