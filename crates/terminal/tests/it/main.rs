//! Tests of text for terminals: one module a topic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_types, reason = "processes of these tests are not what agents start")]

mod completing;
mod drawing;
mod editor;
mod emulator;
mod fuzzy;
mod history;
mod keys;
mod markdown;
mod once;
mod random;
mod story;
mod tmux;
mod xterm;
