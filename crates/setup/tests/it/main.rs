//! Tests of what an interface needs before it starts a session.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod surroundings;
