//! What all requests to one engine share.

use std::sync::Arc;

use posse_engine::Engine;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::followers::Followers;
use crate::limits::CALLS_MAX;

pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) followers: Arc<Followers>,
    /// Cancelled when the server closes: event streams end.
    pub(crate) closing: CancellationToken,
    /// Places for calls that are carried out.
    pub(crate) calls: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn new(engine: Engine, closing: CancellationToken) -> Self {
        let calls = Arc::new(Semaphore::new(CALLS_MAX));
        Self { engine, followers: Arc::default(), closing, calls }
    }
}
