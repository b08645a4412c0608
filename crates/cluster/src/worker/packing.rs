//! What an agent on a worker came to: committed, packed, and put where home finds it. What home does not get stays here, whatever home
//! says of the agent, and home is told where.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_engine::remote::HostedEnd;
use posse_protocol::{Ending, Failure};
use posse_workspace::bundle::{Depot, DepotCheckout};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::WorkerInner;
use super::begin::AtWork;
use crate::bodies::{RunResult, write};
use crate::courier::CourierError;
use crate::limits;
use crate::message::RawBody;
use crate::names::{BlobId, RunId};

/// A result that is being packed, for as long as somebody waits for it.
pub(super) struct Packing {
    task: JoinHandle<Packed>,
    stop: CancellationToken,
}

/// A result that home can be told of.
pub(super) struct Packed {
    pub(super) result: RawBody,
    /// Its blob, with the file.
    pub(super) bundle: Option<(BlobId, PathBuf)>,
    pub(super) place: PackedPlace,
}

/// Where a result was made, and what of it has to stay.
pub(super) struct PackedPlace {
    pub(super) depot: Arc<Depot>,
    checkout: DepotCheckout,
    left: WorkLeft,
}

/// What home does not get.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WorkLeft {
    /// Home gets all of it.
    Nothing,
    /// The commit.
    Result,
    /// What is in the folder: it could not be committed.
    Folder,
}

/// Work that home cannot get.
struct NotPacked {
    left: WorkLeft,
    why: String,
}

impl Packing {
    /// Commits what an agent did, and makes it available. `aside` if somebody else has the agent by now.
    pub(super) fn begin(inner: &Arc<WorkerInner>, run: &RunId, work: AtWork, aside: bool) -> Self {
        let (inner, run, stop) = (Arc::clone(inner), run.clone(), CancellationToken::new());
        let packer = Packer { inner, run, stop: stop.clone() };
        let task = tokio::spawn(async move {
            let AtWork { session, depot, checkout, task } = work;
            let end = if aside {
                session.abandon().await;
                let ending = Ending::Interrupted { reason: "another worker has it".to_owned() };
                HostedEnd { ending, short: None, notes: Vec::new(), tip: None }
            } else {
                session.end().await
            };
            let title = if task.title.is_empty() { "work of a sub-agent".to_owned() } else { task.title };
            packer.pack(depot, checkout, &task.base, &title, end).await
        });
        Self { task, stop }
    }

    /// Waits for it; none after a fault in Posse. What is not awaited to the end can be awaited again.
    pub(super) async fn next(&mut self) -> Option<Packed> {
        (&mut self.task).await.ok()
    }

    /// The same where nobody waits for home any more.
    pub(super) async fn stop(mut self) -> Option<Packed> {
        self.stop.cancel();
        self.next().await
    }
}

impl PackedPlace {
    /// Lets go of the folder. `has_work` if home has all that it was told of.
    pub(super) async fn let_go(self, has_work: bool) -> Arc<Depot> {
        let Self { depot, checkout, left } = self;
        if left == WorkLeft::Folder {
            match depot.leave(&checkout) {
                Ok(()) => return depot,
                Err(error) => tracing::warn!(%error, "work that could not be committed is lost"),
            }
        }
        if let Err(error) = depot.release(checkout, has_work && left == WorkLeft::Nothing).await {
            tracing::warn!(%error, "a checkout on this worker could not be let go");
        }
        depot
    }
}

/// Packs what one run came to.
struct Packer {
    inner: Arc<WorkerInner>,
    run: RunId,
    stop: CancellationToken,
}

impl Packer {
    /// How a run ended, with its work.
    async fn pack(
        &self,
        depot: Arc<Depot>,
        checkout: DepotCheckout,
        base: &str,
        title: &str,
        mut end: HostedEnd,
    ) -> Packed {
        let (mut bundle, mut left) = (None, WorkLeft::Nothing);
        match self.pack_work(&depot, &checkout, base, title).await {
            Ok(Some((tip, blob, path))) => {
                end.tip = Some(tip);
                bundle = Some((blob, path));
            }
            Ok(None) => {}
            Err(not) => {
                // In a process that is about to end, everything fails: it does not get beyond this, and tells home nothing.
                tokio::task::yield_now().await;
                let place = place_of(&depot, &checkout, not.left);
                tracing::warn!(run = %self.run, why = not.why, place, "an agent's work stays on this worker");
                let name = &self.inner.parts.name;
                end.notes.push(format!(
                    "its work could not be handed over: {}; on the worker {name} it stays {place}",
                    not.why
                ));
                let message = "its work could not be handed over by the worker".to_owned();
                end.ending = Ending::Failed { failure: Failure::Internal { message } };
                left = not.left;
            }
        }
        let blob = bundle.as_ref().map(|(blob, _)| *blob);
        let result = write(&RunResult { end, bundle: blob }).unwrap_or_default();
        Packed { result, bundle, place: PackedPlace { depot, checkout, left } }
    }

    async fn pack_work(
        &self,
        depot: &Depot,
        checkout: &DepotCheckout,
        base: &str,
        title: &str,
    ) -> Result<Option<(String, BlobId, PathBuf)>, NotPacked> {
        let folder = |why: String| NotPacked { left: WorkLeft::Folder, why };
        let result = |why: String| NotPacked { left: WorkLeft::Result, why };
        let tip = depot.finish(checkout, title).await.map_err(|error| folder(error.to_string()))?;
        let Some(tip) = tip else { return Ok(None) };
        let path = self.inner.depots.passing_file(&format!("{}-result", self.run)).map_err(result)?;
        let packed = match depot.pack_result(base, &tip, &path).await {
            Ok(_) => self.put(&path).await,
            Err(error) => Err(error.to_string()),
        };
        match packed {
            Ok(blob) => Ok(Some((tip, blob, path))),
            Err(why) => {
                let _ = std::fs::remove_file(&path);
                Err(result(why))
            }
        }
    }

    /// Puts a result, and tries that for as long as a run is kept whose home is silent: the agent has done its work.
    async fn put(&self, path: &std::path::Path) -> Result<BlobId, String> {
        let (began, mut told) = (Instant::now(), false);
        loop {
            let error = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Err("nobody waits for it any more".to_owned()),
                put = self.inner.parts.courier.put_blob(path) => match put {
                    Ok(blob) => return Ok(blob),
                    Err(error) => error,
                },
            };
            if is_for_good(&error) || began.elapsed() > Duration::from_millis(limits::ORPHAN_MS_MAX) {
                return Err(error.to_string());
            }
            if !std::mem::replace(&mut told, true) {
                tracing::warn!(run = %self.run, %error, "a result cannot be put now; it is tried again");
            }
            let pause = Duration::from_millis(limits::RESULT_AGAIN_MS);
            let _ = tokio::time::timeout(pause, self.stop.cancelled()).await;
        }
    }
}

/// Whether it is of no use to try again.
fn is_for_good(error: &CourierError) -> bool {
    match error {
        CourierError::Closed | CourierError::TooLong { .. } | CourierError::BadBlob(_) => true,
        // Where only the room is too small now, there may be more of it later.
        CourierError::BlobTooLarge { bytes, .. } => *bytes > limits::BLOB_BYTES_MAX,
        _ => false,
    }
}

/// Where somebody finds the work, in words.
fn place_of(depot: &Depot, checkout: &DepotCheckout, left: WorkLeft) -> String {
    match left {
        WorkLeft::Folder => format!("in the folder {}", checkout.top.display()),
        WorkLeft::Result | WorkLeft::Nothing => {
            format!(
                "as refs/posse/results/{} in {}",
                checkout.name,
                depot.folder().join("repository").display()
            )
        }
    }
}
