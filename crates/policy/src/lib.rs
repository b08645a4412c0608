//! Pure decisions about rights: what two grants have in common, and whether a call may run.
//!
//! One grant makes both the list of tools a model sees (`offers`) and the gate at dispatch (`decide`), so the two
//! cannot disagree. This crate must not know files, clocks, runtimes or what a tool does.
#![forbid(unsafe_code)]

mod decide;
mod meet;
mod pattern;

pub use decide::{Decision, decide, delegates_to, offers, passes, reaches};
pub use meet::meet;
