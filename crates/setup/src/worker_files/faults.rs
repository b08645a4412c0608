//! What is wrong with the private files that are there, before a session is refused because of it. Nothing is made or changed.

use super::credentials::read_credentials;
use super::error::WorkerFileError;
use super::known::known_workers;
use super::secret::own_secret;
use crate::cluster_settings::{CREDENTIALS_FILE, ClusterSettings};
use crate::paths::Paths;

/// What is wrong with the secret, with the list of workers, and with the password of the broker.
pub fn worker_file_faults(paths: &Paths, cluster: &ClusterSettings) -> Vec<WorkerFileError> {
    let usual = paths.workers_folder().join(CREDENTIALS_FILE);
    let credentials = match &cluster.nats {
        Some(nats) => nats.credentials.clone(),
        None => usual.symlink_metadata().is_ok().then_some(usual),
    };
    let faults = [
        own_secret(paths).err(),
        known_workers(paths).err(),
        credentials.and_then(|path| read_credentials(paths, &path).err()),
    ];
    faults.into_iter().flatten().collect()
}
