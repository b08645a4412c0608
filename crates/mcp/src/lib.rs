//! Tools of MCP servers: reads what servers there are, runs them confined, and calls them.
//!
//! The only crate that speaks the Model Context Protocol. What servers say is a stranger's text: it is bounded, cleaned and marked
//! before an agent or a person sees it.

#![forbid(unsafe_code)]

mod answer;
mod bounded_http;
mod bounded_reader;
mod check;
mod connection;
mod elicit;
mod entry;
mod handler;
mod kept;
mod known;
pub mod limits;
mod listing;
mod names;
mod open_calls;
mod read;
mod search;
mod server;
mod servers;
mod stranger;

pub use entry::{EntryOrigin, SecretValue, ServerConfinement, ServerEntry, ServerReach, WorkspaceAccess};
pub use names::{PREFIX, check_server_name, is_tool_name, tool_name};
pub use read::{ServersRead, check_url, read_entries, read_servers};
pub use servers::{Servers, try_server};
