//! The record, driven from outside on real SQLite files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod appending;
mod crash;
mod damage;
mod disk;
mod docs;
mod files;
mod fixture;
mod locking;
mod projections;
mod queries;
mod schema;
mod tree;
