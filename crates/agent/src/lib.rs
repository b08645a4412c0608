//! One agent's loop as a state machine: inputs go in, the next step comes out.
//!
//! ```text
//!            tell                 Replied (no calls)
//!   Ready ─────────▶ Replying ───────────────────────▶ Settled
//!                    ▲  │  │ ModelFailed, Cancel, …        ▲
//!     results are in │  │  └───────────────────────────────┤
//!                    │  ▼ Replied (calls)                  │
//!                   Working ──── Cancel ───────────────────┘
//! ```
//!
//! An agent whose sub-agents still run does not settle after its last reply: it is `Idle` until a message arrives, such as
//! their reports.
//!
//! It knows turns, budgets, repeated calls, malformed calls, when to compact the conversation, and every kind of
//! ending. It must not know runtimes, sockets, files, clocks or what a tool does: `engine` makes the model calls,
//! runs the tools and tells it the time. The whole machine can be serialised between any two inputs.
#![forbid(unsafe_code)]

mod agent;
mod calls;
mod compact;
mod conversation;
mod guard;
pub mod limits;
mod prompts;
mod step;

/// The name under which the to-do list is pinned.
pub const TODO: &str = "To-do list";

pub use agent::{Agent, Mail, Next, Recall, Recalled};
pub use conversation::MessageHistory;
pub use step::{Done, Input, Kin, Output, Settings, Step};
