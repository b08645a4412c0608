//! Tests of the chat without a terminal: one module a topic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod commands;
mod composing;
mod once;
mod prompting;
mod questions;
mod random;
mod screens;
mod servers;
mod support;
mod transcript;
