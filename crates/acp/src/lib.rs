//! Sessions inside editors: the Agent Client Protocol, version 1, on standard input and output.
//!
//! ```text
//!   client ──line──▶ BoundedLines ──▶ rpc ──▶ dispatch ──▶ methods ──▶ AcpHost ──▶ AcpSession ──▶ Engine
//!      ▲                                                                        │
//!      └──line── Outbox ◀── Client ◀── SessionFollower ◀── Translator ◀── Update ──────┘
//! ```
//!
//! The client is a stranger on a pipe: every line has a limit, nothing that it sends ends the process, and a client that does not
//! read makes nobody wait but itself. Sessions run in this process and are on record; other processes can follow and answer them
//! through the socket of `api`. When the client goes, what is at work is left to be resumed.
//!
//! It must not know flags or the terminal, and opens no port.
#![forbid(unsafe_code)]

mod client;
mod commands;
mod content;
mod dispatch;
mod errors;
mod following;
mod host;
pub mod limits;
mod methods;
mod options;
mod outbox;
mod prompting;
mod questions;
mod rpc;
mod servers;
mod serving;
mod session;
mod streamed;
mod translate;
mod turns;

pub use serving::{AcpStart, serve, serve_stdio};
