//! Link-safe file access, search and git in one folder.
//!
//! Paths come from models: nothing here opens, lists or writes anything outside the folder, whatever links say. This
//! crate must not know tools, grants or models; git is run here and nowhere else.
#![forbid(unsafe_code)]

mod baseline;
#[cfg(target_os = "linux")]
mod beneath;
mod checked;
mod error;
pub mod git;
mod grep;
mod kind;
pub mod limits;
mod nearest;
mod path;
mod stop;
pub mod text;
mod tree;
mod walk;
mod workspace;

pub use baseline::{Baseline, Changed};
pub use error::WorkspaceError;
pub use grep::{GrepFound, GrepLine, GrepQuery};
pub use kind::{Kind, Stamp};
pub use nearest::{Nearest, nearest_lines, similar_names};
pub use path::WorkspacePath;
pub use stop::Stop;
pub use tree::{GlobFound, Listing};
pub use walk::{Cut, Found};
pub use workspace::{Expect, OpenFile, Workspace, Written};
