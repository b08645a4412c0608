//! LLM wire protocols, streaming, retry, one governor per endpoint, record and replay.
//!
//! A [`Model`] is one configured model. A [`Transcript`] is a conversation with it, as bytes ready to be sent.
//! [`Model::call`] sends it and brings back a `Reply`, with [`Signal`]s on the way.
//!
//! This crate knows wire formats and sockets. It must not know agents, tools, the environment or the terminal: what it
//! needs is in [`ModelConfig`], and what a reply means is for others to decide.
#![forbid(unsafe_code)]

mod attached;
mod attempt;
mod body;
mod call;
mod cassette;
mod clouds;
mod config;
mod endpoint;
mod fault;
pub mod governor;
mod governors;
mod http;
pub mod limits;
mod list;
mod live;
mod model;
mod names;
mod openings;
mod page;
mod pieces;
mod retry;
mod signal;
pub mod sse;
mod surrogates;
mod text_calls;
mod text_gate;
mod transcript;
mod trouble;
mod wire;
mod words;

pub use cassette::{CassetteError, Exported, Recorder, export as export_cassette};
pub use config::{ModelConfig, Profile, Protocol, Retry, SetupError, Timeouts, ToolCallMode};
pub use endpoint::{fault as address_fault, shown as shown_address};
pub use governors::Governors;
pub use list::{ListedModel, list_models, list_models_of, lists};
pub use model::{CallElsewhere, Called, Model};
pub use names::missing as missing_model;
pub use secrecy::SecretString;
pub use signal::Signal;
pub use transcript::Transcript;
