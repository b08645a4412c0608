//! The workers of this process: made when the first session delegates, and shared by all its sessions until workers are configured
//! otherwise. Nothing is started or dialled before an agent is to run there. It knows no configuration: what a fleet is made of is given.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use posse_cluster::{
    Fleet, FleetParts, FleetWorker, HomeCourier, LaterHome, LeaseTimes, NatsAddress, NatsHome, OwnerName,
    RunId, Seal, SshEntry, SshHome,
};
use posse_engine::record::prepare_data_dir;
use posse_engine::remote::{Seat, SeatStart, WantedPlace, Workers};

/// The workers of one process, once they are needed. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct ProcessFleet(Arc<Mutex<Option<Arc<SharedFleet>>>>);

/// Tells whether two fleets would be the same: a digest of all that they are made of, secrets included.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct FleetSource(pub(crate) Vec<u8>);

/// A fleet that sessions share. One that was replaced lasts as long as its last session.
struct SharedFleet {
    source: FleetSource,
    fleet: Fleet,
    /// Says to others that the folder is in use.
    _lock: File,
}

impl Workers for SharedFleet {
    fn places(&self) -> Vec<String> {
        self.fleet.places()
    }

    fn place(&self, wanted: &WantedPlace<'_>) -> Result<bool, String> {
        self.fleet.place(wanted)
    }

    fn models_at_home(&self, on: &str) -> bool {
        self.fleet.models_at_home(on)
    }

    fn seat(&self, start: SeatStart) -> Seat {
        self.fleet.seat(start)
    }
}

impl fmt::Debug for ProcessFleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProcessFleet")
    }
}

impl ProcessFleet {
    /// The fleet that there is, or a new one if that would be another. For within a runtime.
    pub(crate) fn get(&self, plan: FleetPlan) -> io::Result<Arc<dyn Workers>> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fleet) = shared.as_ref().filter(|fleet| fleet.source == plan.source) {
            return Ok(Arc::clone(fleet) as Arc<dyn Workers>);
        }
        let made = Arc::new(plan.make()?);
        *shared = Some(Arc::clone(&made));
        Ok(made)
    }
}

/// Everything that a fleet is made of, read and checked. Nothing runs yet.
pub(crate) struct FleetPlan {
    /// All of it, for comparison with another.
    pub(crate) source: FleetSource,
    /// Where processes keep what travels to their workers, each in a folder of its own.
    pub(crate) place: PathBuf,
    pub(crate) seal: Seal,
    pub(crate) times: LeaseTimes,
    pub(crate) ssh: Vec<SshEntry>,
    pub(crate) broker: Option<NatsAddress>,
    pub(crate) workers: Vec<FleetWorker>,
    pub(crate) models_at_home: bool,
}

impl FleetPlan {
    fn make(self) -> io::Result<SharedFleet> {
        let name = RunId::random().ok_or_else(|| io::Error::other("the system gives no random numbers"))?;
        let (folder, lock) = own_folder(&self.place, name.as_str())?;
        let mut couriers: Vec<Arc<dyn HomeCourier>> = Vec::new();
        if !self.ssh.is_empty() {
            couriers.push(Arc::new(SshHome::new(folder.join("blobs"), self.ssh)));
        }
        let open = self.broker.is_some();
        if let Some(address) = self.broker {
            couriers.push(Arc::new(nats_home(address, self.seal.owner().clone(), self.times)));
        }
        let fleet = Fleet::new(FleetParts {
            couriers,
            seal: self.seal,
            times: self.times,
            workers: self.workers,
            open,
            models_at_home: self.models_at_home,
            folder: folder.join("passing"),
        });
        Ok(SharedFleet { source: self.source, fleet, _lock: lock })
    }
}

fn nats_home(address: NatsAddress, owner: OwnerName, times: LeaseTimes) -> LaterHome {
    LaterHome::new(Box::new(move || {
        let (address, owner) = (address.clone(), owner.clone());
        Box::pin(async move {
            let connected = NatsHome::connect(&address, &owner, times).await?;
            Ok(Arc::new(connected) as Arc<dyn HomeCourier>)
        })
    }))
}

/// A folder that nobody else uses while its lock is held. Those of processes that have ended are removed.
fn own_folder(place: &Path, name: &str) -> io::Result<(PathBuf, File)> {
    prepare_data_dir(place).map_err(io::Error::other)?;
    let turn = File::create(place.join("turn"))?;
    turn.lock()?;
    for entry in std::fs::read_dir(place)?.flatten() {
        let folder = entry.path();
        if folder.is_dir() && File::open(folder.join("lock")).is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
    let folder = place.join(name);
    std::fs::create_dir(&folder)?;
    let lock = File::create(folder.join("lock"))?;
    lock.try_lock()?;
    Ok((folder, lock))
}
