//! The serving side against the public conformance suite, and its lines against bad input.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, clippy::disallowed_types)]

mod conformance;
mod fixture;
mod fixture_tasks;
mod fixture_tools;
