//! The loop, driven without a runtime.
#![allow(clippy::expect_used, clippy::panic)]

mod attachments;
mod budgets;
mod calls;
mod compaction;
mod drive;
mod endings;
mod family;
mod loops;
mod recall;
mod simulation;
