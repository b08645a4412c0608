//! What all requests to one server share.

use std::sync::Arc;

use posse_engine::Engine;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::failure::{CallError, CallErrorKind};
use crate::followers::Followers;
use crate::limits::CALLS_MAX;
use crate::site::Site;

pub(crate) struct Shared {
    pub(crate) engine: Engine,
    /// Of `posse serve`; a process that only runs sessions has none.
    pub(crate) site: Option<Arc<Site>>,
    pub(crate) followers: Arc<Followers>,
    /// Cancelled when the server closes: event streams end.
    pub(crate) closing: CancellationToken,
    /// Places for calls that are carried out.
    pub(crate) calls: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn new(engine: Engine, site: Option<Arc<Site>>, closing: CancellationToken) -> Self {
        let calls = Arc::new(Semaphore::new(CALLS_MAX));
        Self { engine, site, followers: Arc::default(), closing, calls }
    }

    pub(crate) fn site(&self) -> Result<&Arc<Site>, CallError> {
        let none = || CallError::new(CallErrorKind::NoSuchRoute, "Only `posse serve` answers this.");
        self.site.as_ref().ok_or_else(none)
    }
}
