//! The terminal, the processes and the record: all that the chat itself must not know.

mod clipboard;
mod facts;
mod following;
mod keyboard;
mod performer;
mod plain;
mod run;
mod start;
mod terminal;

pub use self::run::open;
pub use self::start::{ChatEnd, ChatOpening, ChatStart, HostedSession, SessionHost};
