//! What the crate promises, by topic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod answers;
mod inputs;
mod matching;
mod reading;
mod within;
