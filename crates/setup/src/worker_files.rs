//! The files about workers, in the folder `workers` beside the person's configuration: the owner's secret, the password of the broker, the
//! list of workers, and the file that lets another machine join.
//!
//! Each is its owner's alone, or it is refused. What is secret in them is in no message and in no `Debug`.

mod access;
mod credentials;
mod error;
mod faults;
mod join;
mod keyed;
mod known;
mod private;
mod secret;

pub use access::BrokerAccess;
pub use credentials::{NatsCredentials, read_credentials, write_credentials};
pub use error::WorkerFileError;
pub use faults::worker_file_faults;
pub use join::JoinFile;
pub use known::{KnownWorker, add_known_worker, known_workers, remove_known_worker};
pub use secret::{PREFACE_BYTES, SigningSecret, own_secret, read_or_make_secret, read_secret};
