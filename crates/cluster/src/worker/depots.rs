//! Where agents work on a worker: one depot for each repository, opened when it is first needed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_workspace::bundle::Depot;
use tokio::sync::Mutex;

use crate::limits;

pub(crate) struct Depots {
    folder: PathBuf,
    bytes_max: u64,
    open: Mutex<HashMap<String, Arc<Depot>>>,
    /// When each folder's room was looked at last.
    looked: Mutex<HashMap<PathBuf, Instant>>,
}

impl Depots {
    pub(crate) fn new(folder: PathBuf, bytes_max: u64) -> Self {
        Self { folder, bytes_max, open: Mutex::default(), looked: Mutex::default() }
    }

    /// The depot of a repository, by the name that home gives it.
    pub(crate) async fn depot(&self, repository: &str, sha256: bool) -> Result<Arc<Depot>, String> {
        if !is_name(repository) {
            return Err("the repository has no name".to_owned());
        }
        // The two kinds have nothing in common.
        let name = format!("{repository}-{}", if sha256 { "sha256" } else { "sha1" });
        let mut open = self.open.lock().await;
        if let Some(depot) = open.get(&name) {
            return Ok(Arc::clone(depot));
        }
        if open.len() >= limits::DEPOTS_OPEN_MAX {
            // Those that nobody works on are opened again when they are needed.
            open.retain(|_, depot| Arc::strong_count(depot) > 1);
        }
        if open.len() >= limits::DEPOTS_OPEN_MAX {
            return Err("too many repositories are in use here".to_owned());
        }
        let depot = Depot::open(&self.folder.join(&name), sha256).await;
        let depot = Arc::new(depot.map_err(|error| error.to_string())?);
        open.insert(name, Arc::clone(&depot));
        Ok(depot)
    }

    /// Commits of a repository that are here already. Looking makes none.
    pub(crate) async fn commits(&self, repository: &str) -> Vec<String> {
        if !is_name(repository) {
            return Vec::new();
        }
        for sha256 in [false, true] {
            let kind = if sha256 { "sha256" } else { "sha1" };
            if self.folder.join(format!("{repository}-{kind}")).is_dir()
                && let Ok(depot) = self.depot(repository, sha256).await
            {
                return depot.has().await.unwrap_or_default();
            }
        }
        Vec::new()
    }

    /// Makes room if there is too little, once an agent has ended; but not all the time.
    pub(crate) async fn tidy(&self, depot: &Depot) {
        let look = Duration::from_millis(limits::ROOM_LOOK_MS);
        let mut looked = self.looked.lock().await;
        looked.retain(|_, at| at.elapsed() < look);
        if looked.contains_key(depot.folder()) {
            return;
        }
        looked.insert(depot.folder().to_owned(), Instant::now());
        drop(looked);
        let open = self.open.lock().await.len().max(1) as u64;
        if let Err(error) = depot.prune(self.bytes_max / open).await {
            tracing::warn!(%error, "a repository on this worker could not be made smaller");
        }
    }

    /// A file for something on its way.
    pub(crate) fn passing_file(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.folder.join("passing");
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        Ok(folder.join(name))
    }
}

/// Whether a home can have named a repository so. It becomes the name of a folder.
fn is_name(repository: &str) -> bool {
    (1..=limits::NAME_BYTES_MAX).contains(&repository.len())
        && repository.bytes().all(|byte| byte.is_ascii_hexdigit())
}
