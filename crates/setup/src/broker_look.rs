//! Speaks with the broker as home, without a session: what the broker is, which workers are there, and whether they take new agents.
//! It changes nothing but the queues that home makes, and a worker that it is told to drain.

use std::collections::BTreeMap;
use std::time::Duration;

use posse_cluster::{
    BrokerRoom, CLUSTER_VERSION, Down, DownBody, HomeCourier as _, HomeNews, NatsFindings, NatsHome,
    NatsSide, OwnerName, Seal, UpBody, WorkerInfo, WorkerName, examine_nats, look_for_room,
};
use posse_protocol::visible::one_line;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::cluster_settings::ClusterSettings;
use crate::fleet::{lease_times, nats_address, seal};
use crate::fleet_error::FleetError;
use crate::limits::{ABOUT_COLUMNS_MAX, ASK_AGAIN_MS, ORDER_MS_MAX, READABLE_MS};
use crate::paths::Paths;
use crate::worker_about::WorkerAbout;
use crate::worker_files::{BrokerAccess, WorkerFileError};

/// What a look at the broker found.
#[derive(Clone, Debug)]
pub struct BrokerState {
    /// Of the broker.
    pub findings: NatsFindings,
    /// Its room for the files of these workers; none if it could not be looked at.
    pub room: Option<BrokerRoom>,
    /// The workers that were heard.
    pub heard: BTreeMap<String, WorkerAnswer>,
}

/// What was heard of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerAnswer {
    /// It said what it is.
    Hello(Box<HeardWorker>),
    /// It speaks another version of the protocol.
    OtherVersion(u16),
    /// What it says cannot be read. Most likely it has another secret.
    Unreadable,
}

/// What a worker says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeardWorker {
    /// The version of its program.
    pub version: String,
    /// Agents that it runs at the same time.
    pub capacity: u32,
    /// Agents that it runs now, those not counted that only wait.
    pub running: u32,
    /// Whether it takes nothing new.
    pub drained: bool,
    /// What else it says of itself; none from an older posse, or from one that says something odd.
    pub about: Option<WorkerAbout>,
}

impl From<&WorkerInfo> for HeardWorker {
    fn from(info: &WorkerInfo) -> Self {
        Self {
            version: one_line(&info.program, ABOUT_COLUMNS_MAX),
            capacity: info.capacity,
            running: info.capacity.saturating_sub(info.room),
            drained: info.drained,
            about: WorkerAbout::from_hello(info),
        }
    }
}

/// Looks at the broker of the configuration, and asks these workers. Those that are silent are waited for as long as it has patience.
pub async fn look_at_broker(
    paths: &Paths,
    cluster: &ClusterSettings,
    workers: &[&str],
    patience: Duration,
) -> Result<BrokerState, FleetError> {
    let access = BrokerAccess::of_home(paths, cluster)?.ok_or(WorkerFileError::NoBroker)?;
    let (address, owner) = (nats_address(&access, paths)?, access.owner.parse::<OwnerName>()?);
    let findings = examine_nats(&address, &owner, &NatsSide::Home).await?;
    let names = workers.iter().map(|name| name.parse()).collect::<Result<Vec<WorkerName>, _>>()?;
    let room = match findings.jetstream {
        Ok(()) => look_for_room(&address, &owner, &names).await.ok(),
        Err(_) => None,
    };
    let mut heard = BTreeMap::new();
    if !workers.is_empty() && findings.jetstream.is_ok() {
        let mut asking = Asking::connect(paths, &access).await?;
        let began = Instant::now();
        let until = began + patience;
        loop {
            let silent: Vec<&WorkerName> =
                names.iter().filter(|name| !heard.contains_key(name.as_str())).collect();
            let seen = asking.courier.workers();
            let speak = silent.iter().all(|name| seen.iter().any(|worker| worker.name == **name));
            // Who speaks and can be read answers at once.
            let waits = !speak || began.elapsed() < Duration::from_millis(READABLE_MS);
            if silent.is_empty() || !waits || Instant::now() >= until {
                break;
            }
            for worker in silent {
                asking.say(worker, DownBody::SayHello).await?;
            }
            let again = until.min(Instant::now() + Duration::from_millis(ASK_AGAIN_MS));
            while let Ok(Some((worker, said))) = timeout_at(again, asking.next()).await {
                heard.insert(worker.to_string(), said);
                if names.iter().all(|name| heard.contains_key(name.as_str())) {
                    break;
                }
            }
        }
        for worker in asking.courier.workers() {
            heard.entry(worker.name.to_string()).or_insert(WorkerAnswer::Unreadable);
        }
    }
    Ok(BrokerState { findings, room, heard })
}

/// Drains a worker behind the broker, or lets it take agents again. What it says once it has done so.
pub async fn drain_over_broker(
    paths: &Paths,
    cluster: &ClusterSettings,
    worker: &str,
    drained: bool,
) -> Result<HeardWorker, FleetError> {
    let access = BrokerAccess::of_home(paths, cluster)?.ok_or(WorkerFileError::NoBroker)?;
    let mut asking = Asking::connect(paths, &access).await?;
    let name: WorkerName = worker.parse()?;
    let until = Instant::now() + Duration::from_millis(ORDER_MS_MAX);
    let mut said = DownBody::SayHello;
    while Instant::now() < until {
        asking.say(&name, said.clone()).await?;
        let again = until.min(Instant::now() + Duration::from_millis(ASK_AGAIN_MS));
        while let Ok(Some((from, info))) = timeout_at(again, asking.hello()).await {
            if from != name {
                continue;
            }
            if info.drained == drained {
                return Ok(HeardWorker::from(&info));
            }
            // Each hello says which order would be its next.
            said = DownBody::Drain { drained, process: info.process, order: info.orders.saturating_add(1) };
            break;
        }
    }
    Err(FleetError::NotHeard(worker.to_owned()))
}

/// Home at the broker, for a few words with workers.
struct Asking {
    courier: NatsHome,
    news: mpsc::Receiver<HomeNews>,
    seal: Seal,
}

impl Asking {
    async fn connect(paths: &Paths, access: &BrokerAccess) -> Result<Self, FleetError> {
        let (address, owner) = (nats_address(access, paths)?, access.owner.parse::<OwnerName>()?);
        let times = lease_times(access.lease_ms, access.renew_ms)?;
        let courier = NatsHome::connect(&address, &owner, times).await?;
        let news = courier.follow().await?;
        Ok(Self { courier, news, seal: seal(owner, &access.secret)? })
    }

    async fn say(&self, worker: &WorkerName, body: DownBody) -> Result<(), FleetError> {
        let letter = self.seal.seal_down(&Down { version: CLUSTER_VERSION, worker: worker.clone(), body })?;
        Ok(self.courier.tell(worker, letter).await?)
    }

    /// The next hello that can be read; none if there is no connection any more.
    async fn hello(&mut self) -> Option<(WorkerName, WorkerInfo)> {
        self.first(hello).await
    }

    /// The same, or who says something in another version.
    async fn next(&mut self) -> Option<(WorkerName, WorkerAnswer)> {
        self.first(|seal, letter, from| match hello(seal, letter, from) {
            Some((worker, info)) => Some((worker, WorkerAnswer::Hello(Box::new(HeardWorker::from(&info))))),
            None => seal
                .other_version(letter)
                .filter(|(worker, _)| worker == from)
                .map(|(worker, version)| (worker, WorkerAnswer::OtherVersion(version))),
        })
        .await
    }

    async fn first<T>(&mut self, read: impl Fn(&Seal, &[u8], &WorkerName) -> Option<T>) -> Option<T> {
        loop {
            let HomeNews::Message { from, letter } = self.news.recv().await? else { continue };
            if let Some(read) = read(&self.seal, &letter, &from) {
                return Some(read);
            }
        }
    }
}

fn hello(seal: &Seal, letter: &[u8], from: &WorkerName) -> Option<(WorkerName, WorkerInfo)> {
    let up = seal.open_up(letter, from).ok()?;
    let UpBody::Hello(info) = up.body else { return None };
    Some((up.worker, info))
}
