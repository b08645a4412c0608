//! Link-safe file access, search and git in one folder.
//!
//! Paths come from models: nothing here opens, lists or writes anything outside the folder, whatever links say. This
//! crate must not know tools, sessions or models; git is run here and nowhere else.
#![forbid(unsafe_code)]

mod apply;
mod below;
#[cfg(target_os = "linux")]
mod beneath;
pub mod bundle;
mod bundle_fault;
#[cfg(target_os = "linux")]
mod cached;
mod checked;
mod checkpoint;
mod complete;
mod content_store;
mod entry;
mod error;
#[cfg(target_os = "linux")]
mod exact;
mod excludes;
mod expect;
pub mod git;
mod git_error;
mod grep;
mod guard;
mod kind;
mod last_device;
mod leftovers;
pub mod limits;
mod locks;
mod loose;
mod merge3;
mod nearby;
mod nearest;
mod path;
mod path_list;
mod places;
mod references;
mod repository;
mod shadow;
mod staging;
mod stop;
pub mod text;
mod tree;
mod unified;
mod walk;
mod workspace;
pub mod worktree;

pub use below::visit_below;
pub use bundle_fault::BundleFault;
pub use checkpoint::{Checkpoints, Covered, LookProgress, SplitChange, Undone, WorkspaceLook, is_loose};
pub use complete::{CompletedPath, Completions};
pub use entry::{Entry, Mode};
pub use error::WorkspaceError;
pub use expect::{Expect, Written};
pub use grep::{GrepFound, GrepLine, GrepQuery};
pub use guard::{Hides, Permit};
pub use kind::{Kind, Stamp};
pub use leftovers::clear_leftovers;
pub use loose::{replace_loosely, replace_numbered};
pub use nearby::Nearby;
pub use nearest::{Nearest, nearest_lines, similar_names};
pub use path::WorkspacePath;
pub use path_list::PathList;
pub use stop::Stop;
pub use tree::{GlobFound, Listing};
pub use unified::unified;
pub use walk::{Cut, WalkEntry};
pub use workspace::{OpenFile, Workspace};
