//! `posse` as people and scripts use it: the real binary against a fake model on a real socket.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, clippy::disallowed_types)]

mod config;
mod demo;
mod faults;
mod posse;
mod run;
mod sessions;
mod size;
mod terminal;
