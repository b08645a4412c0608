//! One exchange of a cassette, as it was recorded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use posse_protocol::{Message, Reply};

use super::log::Head;

/// One exchange with the whole request it stands for.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) id: u64,
    pub(super) head: Arc<Head>,
    /// All messages of the request; shared with the exchange it goes on from as far as possible.
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) hashes: Vec<u64>,
    pub(super) reply: Reply,
    pub(super) played: AtomicBool,
}

impl Recorded {
    pub(super) fn is_played(&self) -> bool {
        self.played.load(Ordering::Relaxed)
    }
}
