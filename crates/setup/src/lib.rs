//! What every interface needs before a session can start: its surroundings as a value, and where the person's files are.
//!
//! It must not know flags, the terminal or exit codes: errors are values, and the interface shows them.
#![forbid(unsafe_code)]

mod data_folder;
mod error;
mod paths;
mod surroundings;

pub use data_folder::{try_writing, writing_advice};
pub use error::PrepareError;
pub use paths::{Paths, append_private, create_new_private, create_private};
pub use surroundings::{NoFolder, ShownPath, Surroundings};
