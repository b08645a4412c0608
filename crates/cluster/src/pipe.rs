//! A courier over a pair of byte streams, such as the standard streams of a program on another machine. One pipe is one worker;
//! several pipes are one home's courier. A pipe that ends means that its worker is gone.
//!
//! ```text
//!   PipeHome ──┬── link ══ frames ══ link ── PipeWorker
//!              └── link ══ frames ══ link ── PipeWorker
//! ```
//!
//! It must not know how the streams came to be, nor what is in a message.

mod blob_traffic;
mod frame;
mod home;
mod link;
mod worker;

pub use home::{PipeEnd, PipeHome};
pub use worker::PipeWorker;
