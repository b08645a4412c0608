//! The tool dialects by which a model asks for delegation, as pure parsers.
//!
//! A [`Surface`] says which tools a model is offered and turns its calls into [`AgentCommand`]s; all six speak of the same
//! commands. What a model writes is hostile: every text has a cap, nothing panics, and an error says what is accepted.
//! This crate must not know which agents and roles exist, who may do what, clocks, files or any provider's format:
//! `engine` resolves names and checks rights.
#![forbid(unsafe_code)]

mod agent;
mod command;
mod delegate;
mod fields;
mod handles;
mod lean;
pub mod limits;
mod merge;
mod offer;
mod sessions;
mod shell;
mod spawn;
mod start;
mod surface;
mod task;
mod team;
mod words;
mod wrong;

pub use command::{AgentCommand, BoardCommand, Join, Routed, Shape, Until};
pub use offer::{Offer, RoleOffer};
pub use shell::{ENHANCE, OfferedCommand, parse_routed, shell_commands, shell_help};
pub use surface::{Surface, UnknownSurface};
