//! Tests of the view: one module a topic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod bounds;
mod fixtures;
mod folding;
mod sample;
mod snapshots;
mod words;
