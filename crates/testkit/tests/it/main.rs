//! The fake server and the fixtures, tested from outside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fixture;
mod server;
