//! All commands and queries, by topic. To add one: its struct, its `Call`, and a line in the table of `routes`.

pub(crate) mod about_folder;
pub mod changes;
pub mod folder;
pub mod library;
pub mod permissions;
pub mod record;
pub mod served;
pub mod servers;
pub mod steering;
