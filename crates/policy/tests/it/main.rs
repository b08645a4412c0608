//! The decisions, from outside.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod approval;
mod commands;
mod decide;
mod destroys;
mod explain;
mod hidden;
mod layers;
mod narrow;
mod paths;
mod random;
mod reach;
mod rules;
mod subcommands;
