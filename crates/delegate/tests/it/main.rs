//! The tree and the board, driven without a runtime.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod board;
mod budgets;
mod cancel;
mod caps;
mod endpoints;
mod grants;
mod journal;
mod lifecycle;
mod names;
mod random;
mod reports;
mod restore;
mod restore_random;
mod scene;
mod sights;
