//! Fake model server, fixture repositories and a driven browser, for tests and benchmarks only.
//!
//! It knows how providers put a reply on the wire and nothing about how Posse reads one: it must not depend on
//! `model`, so that the two cannot agree on the same mistake.
#![forbid(unsafe_code)]
// A test tool that cannot do its part must stop the test at once, loudly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod asker;
pub mod attacks;
mod captured;
pub mod chromium;
mod fixture;
mod hidden;
mod http;
pub mod nats;
pub mod pictures;
mod processes;
mod render;
pub mod schema;
mod server;
#[cfg(unix)]
pub mod sshd;
mod turn;

pub use asker::asker;
pub use captured::Captured;
pub use fixture::Fixture;
pub use hidden::hidden_characters;
pub use processes::{living_in_group, processes_with, run};
pub use server::FakeModel;
pub use turn::{MODEL_ID, Turn};
