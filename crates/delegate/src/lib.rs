//! The tree of agents of one session as a state machine without IO: admit, queue, budget, park, cancel, settle.
//!
//! ```text
//!             a slot is free
//!   Pending ───────────────────▶ Running                       holds a slot
//!      │                         ▲  │  ▲
//!      │ no slot is free         │  │  │ a slot is free, ahead
//!      ▼        its turn comes   │  │  │ of queued agents
//!   Queued ──────────────────────┘  │  │
//!                                   │ Returning                hold none
//!          it waits for children    ▼  ▲
//!          or for a person    Parked, NeedsPerson
//!                              what it waited for has happened
//!
//!   from each of them: settle(ending) ─▶ Settled(ending), once and for good; only main can be reopened: reopen_main
//! ```
//!
//! An agent that waits for both its children and a person is Parked until the children are done, then NeedsPerson. It
//! continues when it waits for neither.
//!
//! Cancelling does not change the state. It marks an agent and all below it as stopping: nothing new starts there, and each
//! of them settles when it has really stopped. An agent that waits holds no slot, so the agents cannot deadlock, and others
//! continue while a person is asked.
//!
//! The tree knows which agents exist, which may run, what each may do and spend, and which reports were delivered. It must
//! not know runtimes, files, clocks, models, conversations or what a report says: `engine` drives it and tells it what
//! happened. It can be serialised between any two calls, and restored from the recorded events of its agents. The crate
//! also has the [`Board`], the list of work that a team of agents shares.
#![forbid(unsafe_code)]

mod admission;
mod board;
mod budget;
mod known;
pub mod limits;
mod names;
mod node;
mod reading;
mod refusal;
mod restore;
mod settling;
mod slots;
mod tree;

pub use admission::{Admission, Request};
pub use board::{Board, BoardError, Item, ItemId, ItemState};
pub use known::{Known, KnownEnd, KnownMain, Misfit, Restored, StopCause};
pub use limits::{Limits, OverCap};
pub use node::{Endpoint, Family, Node, State};
pub use reading::StatusLook;
pub use refusal::Refusal;
pub use settling::Settled;
pub use slots::{Freed, Unparked};
pub use tree::Tree;
