//! A session's folder travels to a worker on another machine and back, as git bundles.
//!
//! ```text
//! home                                         worker
//! snapshot ─► pack ──────── bundle ─────────► Depot::receive ─► check_out ─► an agent works
//! a branch ◄─ take_in ◄──── bundle ────────── pack_result ◄─── finish ◄──────┘
//!                                              release ─► the checkout waits for the next agent
//! ```
//!
//! If no worker is left to send a bundle, [`commit_kept`] makes the branch of the files that home had kept meanwhile.
//!
//! At home the branch is like that of any checkout: [`crate::worktree`] shows, resumes and merges it. Neither side trusts
//! the other: what comes in is looked at in a folder of its own before a repository sees any of it, and no reference that
//! a bundle names counts. Nothing here knows how bundles travel.

mod checks;
mod commit_files;
mod depot;
mod head;
mod home;
mod incoming;
mod index_file;
mod kept;
mod pack;
mod scratch;
mod scrub;
mod slots;
mod tree_check;
mod unsent;

pub use commit_files::{CommitFile, CommitFiles};
pub use depot::Depot;
pub use home::{Sent, SessionSnapshot, TakenIn, forget_sent, pack, snapshot, take_in, take_in_measured};
pub use kept::{KeptEntry, KeptWork, commit_kept};
pub use slots::DepotCheckout;

use crate::limits;

/// How much of a stranger's bundle is taken. Time has a limit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakeLimits {
    /// How long it may be.
    pub bundle_bytes_max: u64,
    /// How many objects it may hold.
    pub objects_max: u64,
    /// How much these may be unpacked, and how much the files that differ may be in a folder.
    pub unpacked_bytes_max: u64,
    /// How many files and folders its commit may have.
    pub entries_max: u64,
}

impl Default for TakeLimits {
    fn default() -> Self {
        Self {
            bundle_bytes_max: limits::BUNDLE_BYTES_MAX,
            objects_max: limits::BUNDLE_OBJECTS_MAX,
            unpacked_bytes_max: limits::BUNDLE_UNPACKED_BYTES_MAX,
            entries_max: limits::BUNDLE_ENTRIES_MAX,
        }
    }
}
