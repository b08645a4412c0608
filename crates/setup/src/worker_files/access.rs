//! All that a process needs to speak with its owner's broker, read from the files that the configuration names.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::credentials::{NatsCredentials, read_credentials};
use super::error::WorkerFileError;
use super::private::{self, IfThere};
use super::secret::{SigningSecret, read_or_make_secret, read_secret};
use crate::cluster_settings::ClusterSettings;
use crate::limits::CA_BYTES_MAX;
use crate::paths::Paths;
use crate::worker_words::ca_fault;

/// The certificate authority that came with a join file, in the folder of workers.
const CA_FILE: &str = "ca.pem";

/// How a process reaches the broker, and what it signs with. Neither secret is in its `Debug`.
#[derive(Clone, Debug)]
pub struct BrokerAccess {
    /// Whose tasks these are.
    pub owner: String,
    /// The owner's secret.
    pub secret: SigningSecret,
    /// Such as `tls://broker.example:4222`.
    pub address: String,
    /// User and password, if the broker wants them.
    pub credentials: Option<NatsCredentials>,
    /// A certificate authority in PEM form, beside those of the system.
    pub ca_pem: Option<String>,
    /// How long a worker may be silent.
    pub lease_ms: u64,
    /// How often it says that it is there.
    pub renew_ms: u64,
}

impl BrokerAccess {
    /// That of home; the secret is made where there is none. None if no broker is configured.
    pub fn of_home(paths: &Paths, cluster: &ClusterSettings) -> Result<Option<Self>, WorkerFileError> {
        Self::read(paths, cluster, read_or_make_secret)
    }

    /// That of a worker that was set up by hand; the secret must be there. None if no broker is configured.
    pub fn of_worker(paths: &Paths, cluster: &ClusterSettings) -> Result<Option<Self>, WorkerFileError> {
        Self::read(paths, cluster, read_secret)
    }

    /// The certificate authority as a file, for libraries that want one: in the folder of workers, written if it is not there as it is
    /// here.
    pub fn ca_file(&self, paths: &Paths) -> Result<Option<PathBuf>, WorkerFileError> {
        let Some(pem) = &self.ca_pem else { return Ok(None) };
        let path = paths.shown(&paths.workers_folder().join(CA_FILE));
        if std::fs::read_to_string(path.path()).is_ok_and(|there| there == *pem) {
            return Ok(Some(path.path().to_path_buf()));
        }
        private::write(&path, pem, IfThere::Replace)?;
        Ok(Some(path.path().to_path_buf()))
    }

    fn read(
        paths: &Paths,
        cluster: &ClusterSettings,
        secret: impl FnOnce(&Paths) -> Result<SigningSecret, WorkerFileError>,
    ) -> Result<Option<Self>, WorkerFileError> {
        let Some(nats) = &cluster.nats else { return Ok(None) };
        let credentials = nats.credentials.as_ref().map(|path| read_credentials(paths, path)).transpose()?;
        let ca_pem = nats.ca.as_ref().map(|path| read_ca(paths, path)).transpose()?;
        Ok(Some(Self {
            owner: cluster.owner.clone(),
            secret: secret(paths)?,
            address: nats.address.clone(),
            credentials,
            ca_pem,
            lease_ms: cluster.lease_ms,
            renew_ms: cluster.renew_ms,
        }))
    }
}

/// A certificate authority is no secret: links and others that read it are fine.
fn read_ca(paths: &Paths, path: &Path) -> Result<String, WorkerFileError> {
    let path = paths.shown(path);
    let unreadable = |source| WorkerFileError::Unreadable { path: path.clone(), source };
    if !std::fs::metadata(path.path()).map_err(unreadable)?.is_file() {
        return Err(WorkerFileError::NotAFile { path });
    }
    let mut text = String::new();
    let file = File::open(path.path()).map_err(unreadable)?;
    file.take(CA_BYTES_MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
    ca_fault(&text).map_or(Ok(text), |fault| Err(WorkerFileError::Faulty { path: path.clone(), fault }))
}
