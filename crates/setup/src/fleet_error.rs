//! Why there are no workers, at home or on a machine that is to be one.

use posse_cluster::{BadName, CourierError, SealError};

use crate::error::PrepareError;
use crate::worker_files::WorkerFileError;

/// Why workers cannot be used, or this machine cannot be one.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A file about workers.
    #[error(transparent)]
    File(Box<WorkerFileError>),
    /// A name that is none.
    #[error(transparent)]
    Name(#[from] BadName),
    /// Labels of a configuration, a join file and a command line together.
    #[error("{count} labels are too many; a worker has at most {max}")]
    TooManyLabels {
        /// How many there are.
        count: usize,
        /// How many there may be.
        max: usize,
    },
    /// The secret.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// There is no ssh.
    #[error("there is no ssh in your PATH, and workers are reached by it; install it (openssh-client)")]
    NoSsh,
    /// The durations of a lease.
    #[error("renew is at most half of lease")]
    Times,
    /// The folder of a worker.
    #[error("the folder of this worker cannot be used: {0}")]
    WorkerFolder(std::io::Error),
    /// Commands cannot be confined.
    #[error(
        "this machine has no working sandbox, so it cannot be a worker: {0}; allow unprivileged user namespaces and Landlock"
    )]
    NoSandbox(String),
    /// It was told to take nothing new.
    #[error("this worker is drained and takes nothing; to use it again: posse worker --undrain")]
    Drained,
    /// Home wants models of this machine, and its person does not.
    #[error(
        "this worker lets no home use its models; allow it there with models = \"worker\" in [worker], or let home call them"
    )]
    KeepsModels,
    /// A worker behind the broker that says nothing.
    #[error("{0} was not heard at the broker; is it running? (posse workers doctor {0})")]
    NotHeard(String),
    /// The broker cannot be reached, or does not let this user in.
    #[error("the broker is not reached: {0}")]
    BrokerDown(String),
    /// The broker.
    #[error("the broker cannot be used: {0}")]
    Courier(CourierError),
    /// The configuration, or what follows from it.
    #[error(transparent)]
    Prepare(Box<PrepareError>),
    /// Its record.
    #[error(transparent)]
    Engine(Box<posse_engine::EngineError>),
}

impl From<CourierError> for FleetError {
    fn from(error: CourierError) -> Self {
        match error {
            CourierError::Down(why) => Self::BrokerDown(why),
            other => Self::Courier(other),
        }
    }
}

impl From<WorkerFileError> for FleetError {
    fn from(error: WorkerFileError) -> Self {
        Self::File(Box::new(error))
    }
}

impl From<PrepareError> for FleetError {
    fn from(error: PrepareError) -> Self {
        Self::Prepare(Box::new(error))
    }
}

impl From<posse_engine::EngineError> for FleetError {
    fn from(error: posse_engine::EngineError) -> Self {
        Self::Engine(Box::new(error))
    }
}
