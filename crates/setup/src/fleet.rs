//! From the configuration to what the workers of a process are made of: the secret, ssh, the broker, names and labels. Nothing is started
//! here.

use std::collections::BTreeSet;
use std::path::Path;

use posse_cluster::{
    CLUSTER_VERSION, FleetWorker, LabelName, LeaseTimes, NatsAddress, OwnerName, OwnerSecret, Preface, Seal,
    SshEntry, SshStart, ssh_arguments,
};
use ring::digest;
use secrecy::ExposeSecret as _;

use crate::cluster_settings::{ClusterSettings, SshTarget, WorkerEntry};
use crate::config::ModelsAt;
use crate::fleet_error::FleetError;
use crate::limits::WORKER_LABELS_MAX;
use crate::paths::Paths;
use crate::process_fleet::{FleetPlan, FleetSource};
use crate::ssh_tool::SshTool;
use crate::worker_files::{BrokerAccess, KnownWorker, SigningSecret, known_workers, read_or_make_secret};

/// Where in the data directory a process keeps what travels to its workers.
const PLACE: &str = "fleet";

impl FleetPlan {
    /// For sessions in this folder. None where no workers are configured.
    pub(crate) fn read(
        paths: &Paths,
        folder: &Path,
        cluster: &ClusterSettings,
    ) -> Result<Option<Self>, FleetError> {
        if cluster.workers.is_empty() && cluster.nats.is_none() {
            return Ok(None);
        }
        let secret = read_or_make_secret(paths)?;
        let times = lease_times(cluster.lease_ms, cluster.renew_ms)?;
        let access = BrokerAccess::of_home(paths, cluster)?;
        let known = if cluster.nats.is_some() { known_workers(paths)? } else { Vec::new() };
        let source = source(cluster, &known, &secret, access.as_ref());
        let broker = access.map(|access| nats_address(&access, paths)).transpose()?;
        let by_ssh = |worker: &&WorkerEntry| worker.ssh.is_some();
        let ssh = match cluster.workers.iter().any(|worker| worker.ssh.is_some()) {
            true => {
                let tool = SshTool::find(paths, folder).ok_or(FleetError::NoSsh)?;
                let starts = cluster.workers.iter().filter(by_ssh);
                starts
                    .map(|worker| ssh_entry(&tool, cluster, worker, &secret))
                    .collect::<Result<Vec<_>, _>>()?
            }
            false => Vec::new(),
        };
        Ok(Some(Self {
            source,
            place: paths.data_dir.join(PLACE),
            seal: seal(cluster.owner.parse()?, &secret)?,
            times,
            ssh,
            broker,
            workers: workers(cluster, &known)?,
            models_at_home: cluster.models == ModelsAt::Home,
        }))
    }
}

/// A digest of what workers are made of.
fn source(
    cluster: &ClusterSettings,
    known: &[KnownWorker],
    secret: &SigningSecret,
    access: Option<&BrokerAccess>,
) -> FleetSource {
    let mut digest = digest::Context::new(&digest::SHA256);
    let mut add = |part: &[u8]| {
        digest.update(&(part.len() as u64).to_le_bytes());
        digest.update(part);
    };
    add(format!("{cluster:?} {known:?}").as_bytes());
    add(secret.reveal());
    for credentials in access.iter().filter_map(|access| access.credentials.as_ref()) {
        add(credentials.user.as_bytes());
        add(credentials.password.expose_secret().as_bytes());
    }
    add(access.and_then(|access| access.ca_pem.as_deref()).unwrap_or_default().as_bytes());
    FleetSource(digest.finish().as_ref().to_vec())
}

/// The durations of a lease, as home and its workers have them.
pub(crate) fn lease_times(lease_ms: u64, renew_ms: u64) -> Result<LeaseTimes, FleetError> {
    let times = LeaseTimes { renew_ms, ..LeaseTimes::for_lease(lease_ms) };
    if times.are_safe() { Ok(times) } else { Err(FleetError::Times) }
}

/// What signs messages of an owner.
pub(crate) fn seal(owner: OwnerName, secret: &SigningSecret) -> Result<Seal, FleetError> {
    Ok(Seal::new(owner, OwnerSecret::new(secret.reveal())?))
}

/// Where the broker is, with the secrets that open it.
pub(crate) fn nats_address(access: &BrokerAccess, paths: &Paths) -> Result<NatsAddress, FleetError> {
    let credentials = access.credentials.as_ref();
    Ok(NatsAddress {
        url: access.address.clone(),
        user: credentials.map(|credentials| credentials.user.clone()),
        password: credentials.map(|credentials| credentials.password.expose_secret().to_owned()),
        ca_file: access.ca_file(paths)?,
    })
}

fn ssh_entry(
    tool: &SshTool,
    cluster: &ClusterSettings,
    worker: &WorkerEntry,
    secret: &SigningSecret,
) -> Result<SshEntry, FleetError> {
    let target = worker.ssh.as_ref().ok_or(FleetError::NoSsh)?;
    let start = SshStart {
        name: worker.name.parse()?,
        program: tool.program.clone(),
        arguments: ssh_arguments(&target.host, &tool.options(target), &remote_words(cluster, worker, target)),
        variables: tool.variables.clone(),
        folder: tool.folder.clone(),
        preface: Preface::new(secret.preface()),
    };
    Ok(SshEntry { start, labels: labels(&worker.labels)? })
}

/// What runs at the other end. The secret is not in it.
fn remote_words(cluster: &ClusterSettings, worker: &WorkerEntry, target: &SshTarget) -> Vec<String> {
    let mut words: Vec<String> = [&target.program, "worker", "--stdio", "--name", &worker.name]
        .into_iter()
        .map(str::to_owned)
        .collect();
    let mut say = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
    say("--owner", cluster.owner.clone());
    say("--protocol", CLUSTER_VERSION.to_string());
    say("--lease", format!("{}ms", cluster.lease_ms));
    say("--renew", format!("{}ms", cluster.renew_ms));
    if !worker.labels.is_empty() {
        say("--labels", worker.labels.join(","));
    }
    if worker.models == ModelsAt::Worker {
        words.push("--own-models".to_owned());
    }
    words
}

/// The workers that are configured, and those that were added by command.
fn workers(cluster: &ClusterSettings, known: &[KnownWorker]) -> Result<Vec<FleetWorker>, FleetError> {
    let mut all = Vec::new();
    for worker in &cluster.workers {
        all.push(FleetWorker {
            name: worker.name.parse()?,
            labels: labels(&worker.labels)?,
            models_at_home: worker.models == ModelsAt::Home,
        });
    }
    for worker in known {
        if !cluster.workers.iter().any(|other| other.name == worker.name) {
            let models_at_home = cluster.models == ModelsAt::Home;
            all.push(FleetWorker {
                name: worker.name.parse()?,
                labels: labels(&worker.labels)?,
                models_at_home,
            });
        }
    }
    Ok(all)
}

/// The labels of one worker, wherever they were written.
pub(crate) fn labels(labels: &[String]) -> Result<BTreeSet<LabelName>, FleetError> {
    let labels = labels.iter().map(|label| label.parse()).collect::<Result<BTreeSet<LabelName>, _>>()?;
    match labels.len() {
        count if count > WORKER_LABELS_MAX => {
            Err(FleetError::TooManyLabels { count, max: WORKER_LABELS_MAX })
        }
        _ => Ok(labels),
    }
}
