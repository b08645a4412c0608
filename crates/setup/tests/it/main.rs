//! Tests of the one way in which sessions are prepared, as an interface uses it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod attached;
mod catalog;
mod chat;
mod errors;
mod fleets;
mod hooks;
mod private_files;
mod requests;
mod rules;
mod servers;
mod surroundings;
mod typed;
mod user_commands;
mod warnings;
mod worker_about;
mod worker_files;
mod workers;
mod world;
