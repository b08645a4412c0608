//! All commands and queries, by topic. To add one: its struct, its `Call`, and a line in the table of `routes`.

pub mod changes;
pub mod library;
pub mod record;
pub mod steering;
