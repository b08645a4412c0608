//! The tree of agents of one session as a state machine without IO: admit, queue, budget, park, cancel, settle.
//!
//! ```text
//!             a slot is free
//!   Pending ───────────────────▶ Running                       holds a slot
//!      │                         ▲  │  ▲
//!      │ no slot is free         │  │  │ its slot comes,
//!      ▼        its turn comes   │  │  │ before any queued one
//!   Queued ──────────────────────┘  │  │
//!                                   │ Returning                hold none
//!          it waits for children    ▼  ▲
//!          or for a person    Parked, NeedsPerson
//!                              what it waited for is there
//!
//!   from each of them: settle(ending) ─▶ Settled(ending), once; nothing leads out of it, but for main: reopen_main
//! ```
//!
//! An agent that waits for both its children and a person is Parked until the children are done, then NeedsPerson; it
//! comes back when neither is left.
//!
//! Cancelling sets no state: it marks an agent and all below it as stopping, which lets nothing new begin there; each
//! of them settles when it has really stopped. Whoever waits holds no slot, so a full house cannot wait for
//! itself, and others go on while a person is asked.
//!
//! The tree knows who exists, who may run, what each may do and spend, and whose report was handed to whom. It does
//! not know runtimes, files, clocks, models, conversations or what a report says: `engine` drives it and tells it what
//! happened. It can be serialised between any two calls, and restored from what is on record of its agents. Beside it is
//! the [`Board`], the list of work that a team of agents shares.
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
pub use reading::Look;
pub use refusal::Refusal;
pub use settling::Settled;
pub use slots::{Freed, Unparked};
pub use tree::Tree;
