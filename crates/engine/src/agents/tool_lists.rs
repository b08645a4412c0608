//! The tool lists of one session. They are large, and many agents have the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use posse_protocol::ToolSpec;

use crate::limits::OFFERS_KEPT_MAX;

/// The names of the tools an agent has, of the roles it may delegate to, and of the commands it may not use: all that its
/// tool list depends on.
pub(crate) type ToolListKey = (Vec<String>, Vec<String>, Vec<&'static str>);

/// The lists that were made so far, within a limit.
#[derive(Default)]
pub(crate) struct ToolLists(Mutex<HashMap<ToolListKey, Arc<[ToolSpec]>>>);

impl ToolLists {
    /// The list for these rights, made if there is none yet. Nobody waits for another one's list.
    pub(crate) fn get_or_make(
        &self,
        key: ToolListKey,
        make: impl FnOnce() -> Vec<ToolSpec>,
    ) -> Arc<[ToolSpec]> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return Arc::clone(known);
        }
        let made: Arc<[ToolSpec]> = make().into();
        let mut lists = lock();
        if lists.len() < OFFERS_KEPT_MAX {
            lists.insert(key, Arc::clone(&made));
        }
        made
    }
}
