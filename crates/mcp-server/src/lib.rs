//! Posse as an MCP server: other agents hand it tasks and get checked reports.
//!
//! ```text
//!   client ── lines (stdio) ──┐
//!   client ── HTTP /mcp ──────┴▶ handler ──▶ runner ──▶ a process for each task
//!                                  │            │
//!                                  ▼            ▼
//!                                answer       record (looked at, never kept here)
//! ```
//!
//! A task is a session: its id is the session's, and it is on record before anybody is told of it. Nothing of a task is kept
//! here, so a client or a server that vanishes loses nothing. A client has at most the rights, the folders and the budget
//! that the server was started with ([`ServerFrame`]). Both eras of the protocol are served: 2026-07-28, where each request
//! stands alone, and those before, which begin with `initialize`.
//!
//! It must not know flags, the environment or the tree of agents.
#![forbid(unsafe_code)]

mod arguments;
mod described;
mod extension;
mod frame;
mod handler;
mod http;
pub mod limits;
mod lines;
mod listening;
mod look;
mod offered;
mod phase;
mod questions;
mod report;
mod runner;
mod status;
mod stdio;
mod waiting;

pub use frame::ServerFrame;
pub use handler::TaskServer;
pub use http::{HTTP_PATH, HostCheck, http_routes};
pub use runner::TaskRunner;
pub use stdio::{StdioError, serve_stdio};
