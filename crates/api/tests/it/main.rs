//! Sessions as other processes see them: over real sockets, against a fake model.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a process that a test starts tells what it heard")]
#![allow(clippy::disallowed_types, reason = "processes of these tests are not what agents start")]

mod bad_input;
mod closed;
mod document;
mod following;
mod handles;
mod schemas;
mod served;
mod serving;
mod sockets;
mod stage;
mod steering;
