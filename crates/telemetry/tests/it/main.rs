//! Spans of recorded sessions, as others decode them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod sample;
mod trees;
