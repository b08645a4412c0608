//! `[cluster]`, `[workers.NAME]` and `[worker]`: the machines that agents run on beside this one, and this one as such a machine. Only the
//! person's own file has a say in it: these tables say where code goes and who is trusted.

use std::collections::BTreeMap;
use std::path::PathBuf;

use posse_protocol::{Approval, Files, Grant, Shell};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::rights::{NetworkFile, RightsFile};
use super::times::Time;
use crate::limits::{LEASE_USUAL_MS, RENEW_SHARE, WORKER_CAPACITY_MAX, WORKER_FOLDER_USUAL_MB, WORKERS_MAX};
use crate::worker_words;

/// The owner if none is named.
const DEFAULT_OWNER: &str = "default";
/// What ssh runs at the other end if nothing is said.
const DEFAULT_PROGRAM: &str = "posse";

/// Who calls the models of agents on workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelsAt {
    /// The process with the session: keys stay there, and one governor counts all requests.
    #[default]
    Home,
    /// The worker, with models and keys of its own.
    Worker,
}

/// `[cluster]` as it is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ClusterFile {
    /// Whose tasks these are.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "owner")]
    pub(crate) owner: Option<String>,
    /// The broker.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "broker")]
    pub(crate) nats: Option<String>,
    /// The file with user and password for it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "own_path")]
    pub(crate) nats_credentials: Option<PathBuf>,
    /// The file with the certificate authority of it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "own_path")]
    pub(crate) nats_ca: Option<PathBuf>,
    /// How long a worker may be silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lease: Option<Time>,
    /// How often it says that it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) renew: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) models: Option<ModelsAt>,
}

impl ClusterFile {
    pub(crate) fn owner(&self) -> String {
        self.owner.clone().unwrap_or_else(|| DEFAULT_OWNER.to_owned())
    }

    pub(crate) fn lease_ms(&self) -> u64 {
        self.lease.map_or(LEASE_USUAL_MS, |time| time.0)
    }

    pub(crate) fn renew_ms(&self) -> u64 {
        self.renew.map_or(self.lease_ms() / RENEW_SHARE, |time| time.0)
    }

    pub(crate) fn models(&self) -> ModelsAt {
        self.models.unwrap_or_default()
    }

    /// Every value that counts, those included that nobody has written.
    pub(super) fn in_force(&self) -> Self {
        Self {
            owner: Some(self.owner()),
            lease: Some(Time(self.lease_ms())),
            renew: Some(Time(self.renew_ms())),
            models: Some(self.models()),
            ..self.clone()
        }
    }
}

impl Consistent for ClusterFile {
    fn fault(&self) -> Option<String> {
        let of_broker =
            [(self.nats_credentials.is_some(), "nats_credentials"), (self.nats_ca.is_some(), "nats_ca")];
        let alone = of_broker.into_iter().find(|(is_set, _)| *is_set && self.nats.is_none());
        if let Some((_, key)) = alone {
            return Some(format!("{key} is for a broker, and none is named; add nats = \"tls://HOST:4222\""));
        }
        worker_words::times_fault(self.lease_ms(), self.renew_ms())
    }
}

/// The name of a worker, as the key of its table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct WorkerKey(pub(crate) String);

impl<'de> Deserialize<'de> for WorkerKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        checked_text(deserializer, worker_words::name_fault).map(Self)
    }
}

/// `[workers.NAME]` as it is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table such as [workers.gpu]")]
pub(crate) struct WorkerEntryFile {
    /// The host to reach it at; without one it is reached through the broker.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "ssh_host")]
    pub(crate) ssh: Option<String>,
    /// What to run there.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "ssh_program")]
    pub(crate) program: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "labels")]
    pub(crate) labels: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) models: Option<ModelsAt>,
    /// Additional arguments for ssh.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "ssh_options")]
    pub(crate) ssh_options: Vec<String>,
}

impl WorkerEntryFile {
    pub(crate) fn program(&self) -> String {
        self.program.clone().unwrap_or_else(|| DEFAULT_PROGRAM.to_owned())
    }

    /// Every value that counts.
    pub(super) fn in_force(&self, cluster: &ClusterFile) -> Self {
        Self {
            program: self.ssh.as_ref().map(|_| self.program()),
            models: Some(self.models.unwrap_or(cluster.models())),
            ..self.clone()
        }
    }
}

impl Consistent for WorkerEntryFile {
    fn fault(&self) -> Option<String> {
        let of_ssh = [(self.program.is_some(), "program"), (!self.ssh_options.is_empty(), "ssh_options")];
        let alone = of_ssh.into_iter().find(|(is_set, _)| *is_set && self.ssh.is_none());
        alone.map(|(_, key)| format!("{key} is for a worker that is reached over ssh; add ssh = \"HOST\""))
    }
}

/// `[worker]` as it is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WorkerFile {
    /// What it is called; without it, as the machine.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "name")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "labels")]
    pub(crate) labels: Vec<String>,
    /// Agents at the same time; without it, as many as there are processors.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "capacity")]
    pub(crate) capacity: Option<usize>,
    /// Room for repositories and checkouts, in MiB.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "folder_mb")]
    pub(crate) folder_mb: Option<u64>,
    /// Whether homes may have agents use the models and keys of this machine: only if it says `worker`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) models: Option<ModelsAt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Files>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shell: Option<Shell>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<NetworkFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) approval: Option<Approval>,
}

impl WorkerFile {
    pub(crate) fn capacity(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        self.capacity.unwrap_or_else(processors).clamp(1, WORKER_CAPACITY_MAX)
    }

    pub(crate) fn folder_mb(&self) -> u64 {
        self.folder_mb.unwrap_or(WORKER_FOLDER_USUAL_MB)
    }

    /// More than this no agent may do here, whatever home says.
    pub(crate) fn ceiling(&self) -> Grant {
        let rights = RightsFile {
            files: self.files,
            shell: self.shell,
            network: self.network.clone(),
            ..RightsFile::default()
        };
        Grant { approval: self.approval.unwrap_or(super::DEFAULT_APPROVAL), ..super::grant(&rights) }
    }

    /// Every value that counts; the name only if it is written.
    pub(super) fn in_force(&self) -> Self {
        let ceiling = self.ceiling();
        Self {
            capacity: Some(self.capacity()),
            folder_mb: Some(self.folder_mb()),
            models: Some(self.models.unwrap_or_default()),
            files: Some(ceiling.files),
            shell: Some(ceiling.shell),
            network: Some(self.network.clone().unwrap_or(NetworkFile::NONE)),
            approval: Some(ceiling.approval),
            ..self.clone()
        }
    }
}

/// What only a whole table shows.
trait Consistent {
    /// What is wrong with it.
    fn fault(&self) -> Option<String>;
}

/// A table that was looked at as a whole.
struct Checked<T>(T);

impl<'de, T: Deserialize<'de> + Consistent> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = T::deserialize(deserializer)?;
        table.fault().map_or(Ok(Self(table)), |fault| Err(D::Error::custom(fault)))
    }
}

/// `[cluster]`.
pub(super) fn cluster<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ClusterFile, D::Error> {
    Checked::deserialize(deserializer).map(|checked| checked.0)
}

/// `[workers.NAME]`.
pub(super) fn workers<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<WorkerKey, WorkerEntryFile>, D::Error> {
    let workers = BTreeMap::<WorkerKey, Checked<WorkerEntryFile>>::deserialize(deserializer)?;
    if workers.len() > WORKERS_MAX {
        let count = workers.len();
        return Err(D::Error::custom(format!("{count} workers are too many; at most {WORKERS_MAX}")));
    }
    Ok(workers.into_iter().map(|(name, table)| (name, table.0)).collect())
}

fn owner<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    checked_text(deserializer, worker_words::owner_fault).map(Some)
}

fn broker<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    checked_text(deserializer, worker_words::broker_fault).map(Some)
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    checked_text(deserializer, worker_words::name_fault).map(Some)
}

fn ssh_host<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    checked_text(deserializer, worker_words::ssh_host_fault).map(Some)
}

fn ssh_program<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    checked_text(deserializer, worker_words::ssh_program_fault).map(Some)
}

fn labels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    checked(deserializer, |labels: &Vec<String>| worker_words::labels_fault(labels))
}

fn ssh_options<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    checked(deserializer, |options: &Vec<String>| worker_words::ssh_options_fault(options))
}

fn capacity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let wrong = |count: &i64| {
        let fits = usize::try_from(*count).is_ok_and(|count| (1..=WORKER_CAPACITY_MAX).contains(&count));
        (!fits)
            .then(|| format!("capacity is the number of agents at the same time, 1 to {WORKER_CAPACITY_MAX}"))
    };
    checked(deserializer, wrong).map(|count| usize::try_from(count).ok())
}

fn folder_mb<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let wrong = |mb: &i64| (*mb < 1).then(|| "folder_mb is a number of MiB, at least 1".to_owned());
    checked(deserializer, wrong).map(|mb| u64::try_from(mb).ok())
}

/// A path that means the same wherever Posse is started.
fn own_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    let wrong = |path: &PathBuf| {
        let fits = path.is_absolute() || path.starts_with("~");
        (!fits).then(|| format!("{path:?} depends on where you are; write an absolute path, or one below ~/"))
    };
    checked(deserializer, wrong).map(Some)
}

fn checked_text<'de, D: Deserializer<'de>>(
    deserializer: D,
    fault: impl Fn(&str) -> Option<String>,
) -> Result<String, D::Error> {
    checked(deserializer, |text: &String| fault(text))
}

fn checked<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
    fault: impl Fn(&T) -> Option<String>,
) -> Result<T, D::Error> {
    let value = T::deserialize(deserializer)?;
    fault(&value).map_or(Ok(value), |fault| Err(D::Error::custom(fault)))
}
