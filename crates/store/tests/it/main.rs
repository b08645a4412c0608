//! The record, driven from outside on real SQLite files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(
    clippy::disallowed_types,
    reason = "these tests stand in for the programs that this crate is part of"
)]

mod appending;
mod big;
mod blobs;
mod costs;
mod crash;
mod damage;
mod deletion;
mod disk;
mod docs;
mod files;
mod fixture;
mod hostile;
mod leaving;
mod locking;
mod memory;
mod messages;
mod processes;
mod projections;
mod queries;
mod recovery;
mod schema;
mod search;
mod stats;
mod tree;
mod unrecorded;
