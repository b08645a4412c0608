//! The record: one SQLite database, one writer.
//!
//! Events go in by [`Store::append`] and are the truth; the tables that people query are derived from them in the
//! same transaction. An event is published only once it is on record, in the order of the record. This crate must
//! not know the engine, the tree of agents, any face, or where the person keeps data.
#![forbid(unsafe_code)]

mod blobs;
mod connection;
mod delete;
mod durability;
mod error;
mod event_types;
mod files;
mod health;
mod leaving;
pub mod limits;
mod log;
mod memory;
mod new_event;
mod open_questions;
mod project;
mod queue;
mod read;
mod rows;
mod schema;
mod search;
mod session_pages;
mod stats;
mod store;
mod tidy;
mod transcript;
mod unrecorded;
mod words;
mod writer;

pub use durability::Durability;
pub use error::StoreError;
pub use files::{DATABASE_FILE, prepare_data_dir};
pub use health::Health;
pub use new_event::NewEvent;
pub use queue::Ack;
pub use rows::{AgentRow, SessionRow};
pub use search::{Hit, HitKind};
pub use session_pages::{SessionPlace, SessionQuery};
pub use stats::{RoleRecord, Stats, StatsQuery, StatsRow, TimeSpent};
pub use store::Store;
