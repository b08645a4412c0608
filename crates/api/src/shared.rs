//! What all requests to one server share.

use std::sync::Arc;

use posse_engine::Engine;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::failure::{CallError, CallErrorKind};
use crate::followers::Followers;
use crate::hub::Hub;
use crate::limits::CALLS_MAX;

pub(crate) struct Shared {
    pub(crate) engine: Engine,
    /// Of `posse serve`; a process that only runs sessions has none.
    pub(crate) hub: Option<Arc<Hub>>,
    pub(crate) followers: Arc<Followers>,
    /// Cancelled when the server closes: event streams end.
    pub(crate) closing: CancellationToken,
    /// Places for calls that are carried out.
    pub(crate) calls: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn new(engine: Engine, hub: Option<Arc<Hub>>, closing: CancellationToken) -> Self {
        let calls = Arc::new(Semaphore::new(CALLS_MAX));
        Self { engine, hub, followers: Arc::default(), closing, calls }
    }

    pub(crate) fn hub(&self) -> Result<&Arc<Hub>, CallError> {
        let none = || CallError::new(CallErrorKind::NoSuchRoute, "Only `posse serve` answers this.");
        self.hub.as_ref().ok_or_else(none)
    }
}
