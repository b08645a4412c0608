//! Where the agents of a session may run beside this machine, and what this machine is as a worker: the configuration with its defaults.
//! It opens no file but the configuration; what is in files with secrets is for `worker_files`.

use std::path::{Path, PathBuf};

use posse_protocol::Grant;

use crate::config::{Config, ModelsAt};
use crate::error::ConfigError;
use crate::paths::Paths;
use crate::worker_words::fitting_name;

/// The owner's secret, in the folder of workers.
pub(crate) const SECRET_FILE: &str = "secret";
/// User and password for the broker, in the same folder.
pub(crate) const CREDENTIALS_FILE: &str = "nats.toml";

/// How home reaches workers, and how a worker reaches the broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSettings {
    /// Whose tasks these are.
    pub owner: String,
    /// The broker, if there is one.
    pub nats: Option<NatsSettings>,
    /// How long a worker may be silent before another gets its agent.
    pub lease_ms: u64,
    /// How often a worker says that it is there.
    pub renew_ms: u64,
    /// Who calls the models, for workers without an entry.
    pub models: ModelsAt,
    /// The workers that are configured, by name.
    pub workers: Vec<WorkerEntry>,
    /// Where the owner's secret is, or will be.
    pub secret_file: PathBuf,
}

/// A broker that home and workers dial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsSettings {
    /// Such as `tls://broker.example:4222`. It holds no password.
    pub address: String,
    /// The file with user and password. None if none is named and none is in its usual place.
    pub credentials: Option<PathBuf>,
    /// The file with a certificate authority, beside those of the system.
    pub ca: Option<PathBuf>,
}

/// A worker that is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerEntry {
    /// What it is called.
    pub name: String,
    /// How it is reached; through the broker where `None`.
    pub ssh: Option<SshTarget>,
    /// What it has; tasks can ask for it.
    pub labels: Vec<String>,
    /// Who calls the models of its agents.
    pub models: ModelsAt,
}

/// What ssh is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshTarget {
    /// A host of ssh's own configuration. It does not begin with `-`.
    pub host: String,
    /// Additional arguments, before the host.
    pub options: Vec<String>,
    /// What to run there: one word that a shell leaves as it is, but for `~`.
    pub program: String,
}

/// This machine as a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSettings {
    /// What it is called.
    pub name: String,
    /// What it has.
    pub labels: Vec<String>,
    /// How many agents it runs at the same time.
    pub capacity: usize,
    /// The room for repositories and checkouts.
    pub folder_bytes: u64,
    /// Whose models its agents use at most: its own only if its person said so.
    pub models: ModelsAt,
    /// No agent may do more here, whatever home says.
    pub ceiling: Grant,
    /// How it finds the broker.
    pub cluster: ClusterSettings,
}

impl Config {
    /// How home reaches workers.
    pub fn cluster(&self, paths: &Paths) -> Result<ClusterSettings, ConfigError> {
        let file = &self.cluster;
        let nats = file.nats.as_ref().map(|address| self.nats(paths, address)).transpose()?;
        let workers = self.workers.iter().map(|(name, worker)| WorkerEntry {
            name: name.0.clone(),
            ssh: worker.ssh.as_ref().map(|host| SshTarget {
                host: host.clone(),
                options: worker.ssh_options.clone(),
                program: worker.program(),
            }),
            labels: worker.labels.clone(),
            models: worker.models.unwrap_or(file.models()),
        });
        Ok(ClusterSettings {
            owner: file.owner(),
            nats,
            lease_ms: file.lease_ms(),
            renew_ms: file.renew_ms(),
            models: file.models(),
            workers: workers.collect(),
            secret_file: paths.workers_folder().join(SECRET_FILE),
        })
    }

    /// What this machine is as a worker.
    pub fn worker(&self, paths: &Paths) -> Result<WorkerSettings, ConfigError> {
        let file = &self.worker;
        let name = || fitting_name(paths.surroundings().host().unwrap_or_default());
        Ok(WorkerSettings {
            name: file.name.clone().unwrap_or_else(name),
            labels: file.labels.clone(),
            capacity: file.capacity(),
            folder_bytes: file.folder_mb().saturating_mul(1 << 20),
            models: file.models.unwrap_or_default(),
            ceiling: file.ceiling(),
            cluster: self.cluster(paths)?,
        })
    }

    /// Private files that it names, wherever they are.
    pub(crate) fn private_files(&self, paths: &Paths) -> Vec<PathBuf> {
        let named = self.cluster.nats_credentials.iter();
        named.map(|path| paths.surroundings().expanded(path)).filter(|path| path.is_absolute()).collect()
    }

    fn nats(&self, paths: &Paths, address: &str) -> Result<NatsSettings, ConfigError> {
        let found = |path: &Option<PathBuf>, setting| {
            path.as_ref().map(|path| expanded(paths, path, setting)).transpose()
        };
        let usual = || {
            let path = paths.workers_folder().join(CREDENTIALS_FILE);
            path.symlink_metadata().is_ok().then_some(path)
        };
        let credentials = found(&self.cluster.nats_credentials, "nats_credentials")?.or_else(usual);
        let ca = found(&self.cluster.nats_ca, "nats_ca")?;
        Ok(NatsSettings { address: address.to_owned(), credentials, ca })
    }
}

/// A path with the home folder for `~`.
fn expanded(paths: &Paths, path: &Path, setting: &'static str) -> Result<PathBuf, ConfigError> {
    let path = paths.surroundings().expanded(path);
    if path.is_absolute() { Ok(path) } else { Err(ConfigError::NoHomeFor { setting }) }
}
