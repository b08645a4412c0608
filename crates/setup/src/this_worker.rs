//! This machine as a worker: its folder, which one process uses at a time, what it calls models with, and all that a worker is made of.
//! Everything is below the data directory and apart from the person's own record.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_cluster::{
    BlobShelf, LeaseTimes, NatsWorker, OwnerName, PipeWorker, Seal, WhenFull, WorkerCourier, WorkerName,
    WorkerParts, limits::BLOB_CACHE_BYTES_MAX,
};
use posse_engine::Engine;
use posse_engine::models::Models;
use posse_engine::record::prepare_data_dir;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::cluster_settings::WorkerSettings;
use crate::config::{Config, ModelsAt};
use crate::error::PrepareError;
use crate::fleet::{labels, lease_times, nats_address, seal};
use crate::fleet_error::FleetError;
use crate::limits::{FORMER_AGENTS_MAX, WORKER_PLACES_MAX, WORKER_PROCESS_BYTES_MAX};
use crate::paths::Paths;
use crate::plan::{SessionPlan, models};
use crate::wishes::Wishes;
use crate::worker_about::{SandboxAbout, WorkerAbout};
use crate::worker_files::{BrokerAccess, SigningSecret};

/// Where in the data directory a worker keeps what it has.
const PLACE: &str = "worker";
/// Is there while it takes nothing new.
const DRAINED: &str = "drained";
/// Held by the process that uses a folder, and names it.
const LOCK: &str = "lock";

/// A folder of this machine for one process that is a worker.
#[derive(Debug)]
pub struct WorkerPlace {
    /// The folder.
    pub folder: PathBuf,
    _lock: File,
}

impl WorkerPlace {
    /// Takes the first that nobody uses. What another process left there is used again.
    pub fn take(paths: &Paths) -> Result<Self, FleetError> {
        let wrong = FleetError::WorkerFolder;
        let place = paths.data_dir.join(PLACE);
        for number in 0..WORKER_PLACES_MAX {
            let folder = place.join(number.to_string());
            prepare_data_dir(&folder).map_err(|error| wrong(io::Error::other(error)))?;
            let lock = OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .open(folder.join(LOCK));
            let mut lock = lock.map_err(wrong)?;
            if lock.try_lock().is_err() {
                continue;
            }
            let mut write = || {
                lock.set_len(0)?;
                lock.rewind()?;
                writeln!(lock, "{}", std::process::id())?;
                lock.flush()
            };
            write().map_err(wrong)?;
            return Ok(Self { folder, _lock: lock });
        }
        Err(wrong(io::Error::other(format!("{WORKER_PLACES_MAX} workers run here already"))))
    }
}

/// Is there while this machine takes nothing new.
fn drained_file(paths: &Paths) -> PathBuf {
    paths.data_dir.join(PLACE).join(DRAINED)
}

/// Whether this machine takes nothing new.
pub fn is_drained(paths: &Paths) -> bool {
    drained_file(paths).exists()
}

/// From now on this machine takes nothing new. The processes of workers that run, which have to be told.
pub fn drain_workers(paths: &Paths) -> Result<Vec<u32>, FleetError> {
    let place = paths.data_dir.join(PLACE);
    prepare_data_dir(&place).map_err(|error| FleetError::WorkerFolder(io::Error::other(error)))?;
    File::create(place.join(DRAINED)).map_err(FleetError::WorkerFolder)?;
    Ok((0..WORKER_PLACES_MAX).filter_map(|number| running(&place.join(number.to_string()))).collect())
}

/// This machine takes agents again. False if it did.
pub fn undrain_workers(paths: &Paths) -> Result<bool, FleetError> {
    match std::fs::remove_file(drained_file(paths)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(FleetError::WorkerFolder(error)),
    }
}

/// The process that uses a folder.
fn running(folder: &Path) -> Option<u32> {
    let file = File::open(folder.join(LOCK)).ok()?;
    if file.try_lock().is_ok() {
        return None;
    }
    let mut text = String::new();
    file.take(WORKER_PROCESS_BYTES_MAX).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// What is said about this worker where it is started, over its configuration.
#[derive(Clone, Debug, Default)]
pub struct WorkerWishes {
    /// What it is called.
    pub name: Option<String>,
    /// What it has beside what its configuration says.
    pub labels: Vec<String>,
    /// How many agents it runs at the same time.
    pub capacity: Option<usize>,
}

/// A worker that is ready to begin.
pub struct ThisWorker {
    place: WorkerPlace,
    settings: WorkerSettings,
    name: WorkerName,
    seal: Seal,
    times: LeaseTimes,
    engine: Engine,
    models: Option<Models>,
    tools: posse_tools::ToolSettings,
    about: WorkerAbout,
    drained: PathBuf,
}

impl ThisWorker {
    /// What it is as its configuration and these wishes say.
    pub fn settings(paths: &Paths, wishes: &WorkerWishes) -> Result<WorkerSettings, FleetError> {
        let folder = paths.surroundings().home().unwrap_or(&paths.data_dir);
        let config = Config::load(paths, folder).map_err(PrepareError::from)?;
        let mut settings = config.worker(paths).map_err(PrepareError::from)?;
        settings.name = wishes.name.clone().unwrap_or(settings.name);
        settings.capacity = wishes.capacity.unwrap_or(settings.capacity);
        for label in &wishes.labels {
            if !settings.labels.contains(label) {
                settings.labels.push(label.clone());
            }
        }
        Ok(settings)
    }

    /// Prepares a worker: takes a folder, opens its record, and finds its models. It refuses without a sandbox.
    pub async fn prepare(
        paths: &Paths,
        settings: WorkerSettings,
        owner: &str,
        secret: &SigningSecret,
        lease: (u64, u64),
    ) -> Result<Self, FleetError> {
        let sandbox = SandboxAbout::tried().await;
        if let Some(missing) = sandbox.why {
            return Err(FleetError::NoSandbox(missing));
        }
        let owner: OwnerName = owner.parse()?;
        let name: WorkerName = settings.name.parse()?;
        labels(&settings.labels)?;
        let (seal, times) = (seal(owner, secret)?, lease_times(lease.0, lease.1)?);
        let place = WorkerPlace::take(paths)?;
        let folder = place.folder.clone();
        // It is beside the person's own record on purpose: agents see the checkout that is theirs, and nothing around it.
        let wishes = Wishes { workspace_is_home: true, ..Wishes::default() };
        let plan = SessionPlan::read(paths, &folder, wishes)?;
        let (tools, models) = (plan.tool_settings(), lent_models(&plan, settings.models).await);
        let names = models.as_ref().map(Models::all_names).unwrap_or_default();
        let about = WorkerAbout {
            lease_ms: Some(times.lease_ms),
            renew_ms: Some(times.renew_ms),
            ..WorkerAbout::of_this_machine(&settings, sandbox, names).await
        };
        let engine = Engine::open(&folder.join("record"))?;
        forget_former(&engine).await;
        let drained = drained_file(paths);
        Ok(Self { place, settings, name, seal, times, engine, models, tools, about, drained })
    }

    /// Speaks with home over two streams.
    pub async fn pipe(
        &self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Arc<PipeWorker>, FleetError> {
        Ok(Arc::new(PipeWorker::start(&self.name, self.shelf().await?, reader, writer)))
    }

    /// Speaks with homes over a broker. One that is drained only says so, until it is used again.
    pub async fn broker(&self, paths: &Paths, access: &BrokerAccess) -> Result<Arc<NatsWorker>, FleetError> {
        let address = nats_address(access, paths)?;
        let shelf = self.shelf().await?;
        Ok(Arc::new(NatsWorker::connect(&address, self.seal.owner(), &self.name, shelf).await?))
    }

    async fn shelf(&self) -> Result<Arc<BlobShelf>, FleetError> {
        let folder = self.place.folder.join("blobs");
        let shelf = BlobShelf::open(&folder, BLOB_CACHE_BYTES_MAX, WhenFull::DropOldest).await;
        Ok(Arc::new(shelf.map_err(FleetError::WorkerFolder)?))
    }

    /// What it is made of, and the folder that it holds while it serves.
    pub fn parts(self, courier: Arc<dyn WorkerCourier>) -> Result<(WorkerParts, WorkerPlace), FleetError> {
        let Self { place, settings, name, seal, times, engine, models, tools, about, drained } = self;
        let parts = WorkerParts {
            courier,
            seal,
            name,
            labels: labels(&settings.labels)?,
            capacity: settings.capacity,
            times,
            engine,
            folder: place.folder.join("repositories"),
            folder_bytes: settings.folder_bytes,
            models,
            tools,
            ceiling: settings.ceiling,
            about: about.for_hello(),
            drained,
        };
        Ok((parts, place))
    }
}

/// Forgets the agents of a process that was killed. Their homes give them to others, and what they committed is elsewhere. One that
/// cannot be forgotten does no harm.
async fn forget_former(engine: &Engine) {
    for session in engine.sessions(FORMER_AGENTS_MAX).unwrap_or_default() {
        let _ = engine.delete_session(&session).await;
    }
}

/// The models of this machine that homes may have agents use. None is fine: home calls them.
async fn lent_models(plan: &SessionPlan<'_>, at: ModelsAt) -> Option<Models> {
    if at == ModelsAt::Home {
        return None;
    }
    let choice = plan.choose_model().await.ok()?;
    models(plan, choice, true, None).ok()
}

/// The names of those models.
pub async fn known_models(paths: &Paths, settings: &WorkerSettings) -> Vec<String> {
    let folder = paths.surroundings().home().unwrap_or(&paths.data_dir).to_path_buf();
    let wishes = Wishes { workspace_is_home: true, ..Wishes::default() };
    match SessionPlan::read(paths, &folder, wishes) {
        Ok(plan) => {
            lent_models(&plan, settings.models).await.map(|models| models.all_names()).unwrap_or_default()
        }
        Err(_) => Vec::new(),
    }
}
