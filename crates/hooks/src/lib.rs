//! Hooks: commands and addresses that a settings file names for moments of a session, in the shape that other coding agents
//! use. This crate reads them, says which of them a moment concerns, what each is told, and what its answer means.
//!
//! It must not know runtimes, files, processes, sockets or clocks: `engine` runs hooks. What a hook says is a stranger's
//! text; every part of it has a cap, and a mistake is a value that names the hook.
#![forbid(unsafe_code)]

mod answer;
mod combined;
mod event;
mod hook;
mod input;
pub mod limits;
mod matcher;
mod moment;
mod read;
mod tool_input;
mod transcript;
mod within;

pub use answer::{HookAnswer, HookExit, HookVerdict, read_answer};
pub use combined::{CombinedAnswer, HookVoice, combine};
pub use event::HookEvent;
pub use hook::{Hook, HookAction, HookOrigin, HookOwner, HookScope, HookSet, OnTimeout};
pub use input::{HookContext, mode_word};
pub use matcher::{HookMatcher, MatcherError};
pub use moment::{HookMoment, HookToolCall};
pub use read::{HeaderVariable, HookWarning, read_front_matter, read_settings};
pub use tool_input::{foreign_input, foreign_name, own_input};
pub use transcript::transcript_line;
pub use within::{Surveyed, names_place};
