//! Which events of an agent on a worker go on home's record, and in which form. Home counts them, so nobody but the worker
//! may say any of these about an agent that is on a worker.

use posse_protocol::{Change, EventKind, KeptFile};
use serde::{Deserialize, Serialize};

/// One event of an agent on a worker, on its way to home's record. It has no time: home's clock counts, and clocks of two
/// machines are never compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostedItem {
    /// What happened.
    pub kind: EventKind,
    /// The files that changed before it. They go on record together, so that another worker finds the files that fit the
    /// conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptFile>,
}

/// What a change left.
pub(crate) fn kept(change: Change) -> KeptFile {
    KeptFile { path: change.path, after: change.after }
}

/// Whether an event of an agent on a worker is the worker's to tell.
pub fn travels(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Told { .. }
            | EventKind::TurnStarted { .. }
            | EventKind::Retrying { .. }
            | EventKind::Replied { .. }
            | EventKind::ModelFailed { .. }
            | EventKind::CutShort { .. }
            | EventKind::Closing { .. }
            | EventKind::ToolStarted { .. }
            | EventKind::ToolFinished { .. }
            | EventKind::Compacted { .. }
            | EventKind::PersonNeeded { .. }
            | EventKind::PersonAnswered { .. }
            | EventKind::BackgroundStarted { .. }
            | EventKind::BackgroundEnded { .. }
            | EventKind::ReportsDelivered { .. }
    )
}

/// The newest state of each file that an agent has changed on workers, in the order of their paths.
pub(crate) fn kept_of<'a>(events: impl Iterator<Item = &'a EventKind>) -> Vec<KeptFile> {
    let mut newest = std::collections::BTreeMap::new();
    for kind in events {
        if let EventKind::WorkKept { files } = kind {
            newest.extend(files.iter().map(|file| (file.path.clone(), file.after.clone())));
        }
    }
    newest.into_iter().map(|(path, after)| KeptFile { path, after }).collect()
}
