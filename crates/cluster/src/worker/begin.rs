//! An agent begins on a worker: its files are fetched and checked out, and the engine gets its task.

use std::path::PathBuf;
use std::sync::Arc;

use posse_engine::remote::{HomeLink, HostedTask};
use posse_engine::{HostRequest, HostedAgent};
use posse_workspace::bundle::{Depot, DepotCheckout, TakeLimits};

use super::WorkerInner;
use super::kept_files::WantedFiles;
use super::link::RunLink;
use crate::bodies::{Package, read, read_within};
use crate::limits;
use crate::message::{RawBody, RunAbout};
use crate::names::BlobId;

/// An agent at work, and where.
pub(super) struct AtWork {
    pub(super) session: HostedAgent,
    pub(super) depot: Arc<Depot>,
    pub(super) checkout: DepotCheckout,
    pub(super) task: WorkOf,
}

/// What is left to know of a task while it runs.
pub(super) struct WorkOf {
    pub(super) base: String,
    pub(super) title: String,
}

/// An agent that was granted.
pub(super) struct Beginning {
    pub(super) inner: Arc<WorkerInner>,
    pub(super) about: RunAbout,
    pub(super) link: Arc<RunLink>,
}

impl Beginning {
    /// Prepares the agent's folder and begins.
    pub(super) async fn begin(self, package: &RawBody) -> Result<AtWork, String> {
        let package: Package = read(package)?;
        let task = self.fetch(package.task, "task", limits::TASK_BYTES_MAX).await?;
        let task: HostedTask = serde_json::from_slice(&task).map_err(|error| error.to_string())?;
        if task.agent != self.about.agent || task.session != self.about.session {
            return Err("the task is about another agent".to_owned());
        }
        let work = &task.work;
        let depot = self.inner.depots.depot(&work.repository, work.sha256).await?;
        if let Some(bundle) = package.bundle {
            let path = self.fetch_file(bundle, "bundle").await?;
            let received = depot.receive(&path, &work.start, TakeLimits::default()).await;
            let _ = std::fs::remove_file(&path);
            received.map_err(|error| error.to_string())?;
        }
        let name = self.about.run.as_str().to_owned();
        let checkout =
            depot.check_out(&work.start, &work.inside, &name).await.map_err(|error| error.to_string())?;
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move { inner.depots.tidy().await });
        let prepared = self.put_kept(&depot, &checkout, &task, package.contents).await;
        let began = match prepared {
            Ok(()) => self.host(&checkout, task),
            Err(why) => Err(why),
        };
        match began {
            Ok((session, task)) => Ok(AtWork { session, depot, checkout, task }),
            Err(why) => {
                let _ = depot.release(checkout, false).await;
                Err(why)
            }
        }
    }

    fn host(&self, checkout: &DepotCheckout, task: HostedTask) -> Result<(HostedAgent, WorkOf), String> {
        let parts = &self.inner.parts;
        let of = WorkOf { base: task.work.start.clone(), title: task.title.clone() };
        let request = HostRequest {
            task,
            folder: checkout.folder.clone(),
            models: parts.models.clone(),
            tools: parts.tools.clone(),
            ceiling: parts.ceiling.clone(),
            home: Arc::clone(&self.link) as Arc<dyn HomeLink>,
        };
        let session = parts.engine.host(request).map_err(|error| error.to_string())?;
        Ok((session, of))
    }

    /// Files that the agent had changed on another worker. Where it only removed some, there are no contents.
    async fn put_kept(
        &self,
        depot: &Depot,
        checkout: &DepotCheckout,
        task: &HostedTask,
        contents: Option<BlobId>,
    ) -> Result<(), String> {
        let path = match contents {
            Some(contents) => Some(self.fetch_file(contents, "contents").await?),
            None => None,
        };
        let wanted = WantedFiles::look(&task.work.kept, path.as_deref());
        path.iter().for_each(|path| drop(std::fs::remove_file(path)));
        wanted?.put(depot, checkout).await
    }

    async fn fetch(&self, blob: BlobId, what: &str, bytes_max: u64) -> Result<Vec<u8>, String> {
        let path = self.fetch_file(blob, what).await?;
        let read = read_within(&path, bytes_max).map_err(|why| format!("the {what} cannot be read: {why}"));
        let _ = std::fs::remove_file(&path);
        read
    }

    async fn fetch_file(&self, blob: BlobId, what: &str) -> Result<PathBuf, String> {
        let path = self.inner.depots.passing_file(&format!("{}-{what}", self.about.run))?;
        let got = self.inner.parts.courier.get_blob(blob, &path).await;
        got.map_err(|error| format!("the {what} cannot be fetched: {error}"))?;
        Ok(path)
    }
}
