//! The chat in a terminal.
//!
//! ```text
//!   keys, resizes ──┐                          ┌─▶ finished lines ─▶ Screen ─▶ terminal
//!   events ─────────┼─▶ Chat::handle (pure) ───┼─▶ live region (pure: draw) ──▶ Screen
//!   outcomes ───────┘        │                 └─▶ full-screen views
//!                            └─▶ effects ─▶ edge: sessions, record, programs ─▶ outcomes
//! ```
//!
//! The chat is inline and append-only: what is finished is printed once and belongs to the terminal's scrollback. `chat`,
//! `transcript`, `questions`, `composer`, `views` and `draw` are pure; only `edge` knows the terminal, processes and the record.
#![forbid(unsafe_code)]

mod chat;
mod commands;
mod composer;
mod draw;
#[cfg(unix)]
mod edge;
mod effect;
#[cfg(test)]
mod first_steps;
mod limits;
mod questions;
mod short_number;
mod transcript;
mod views;

pub use chat::{Chat, ChatFacts, ChatInput};
pub use commands::outside_commands;
pub use draw::region;
#[cfg(unix)]
pub use edge::{ChatEnd, ChatOpening, ChatStart, HostedSession, SessionHost, open};
pub use effect::{
    BeginFrom, BeginSession, ChatEffect, ChatFound, ChatOutcome, ChatQuery, ChatWishes, Leaving, OnTerminal,
    PromptWords, SteerCommand,
};
