//! What every interface shows of a session: one fold of its events into a [`SessionView`], and one set of [`words`] for it.
//!
//! ```text
//!   Event ──▶ fold ──▶ SessionView ──▶ words ──▶ terminal, table, Markdown, JSON, page
//!   Progress ─▶ note ─▶    │  ▲
//!                          ▼  │
//!                          JSON   (a snapshot with its sequence number; folding goes on from there)
//! ```
//!
//! Events are folded in the order of their sequence numbers. Folding one costs no more than the agent's level in the tree:
//! nothing here looks at all agents, and nothing keeps the texts of a conversation. An event that is in the view already
//! changes nothing; one after a gap, or of another session, is an error and changes nothing either.
//!
//! Pure: this crate must not know clocks, files, the record, terminals or the engine. The time is told to it. The texts in
//! a view are as agents and models wrote them, cut to a length: whoever shows them makes them harmless first.
#![forbid(unsafe_code)]

mod activity;
mod agent;
mod agent_list;
mod attention;
mod branch;
mod branches;
mod clock;
mod figures;
mod fold;
pub mod limits;
mod open_questions;
mod report;
mod text;
mod used;
mod view;
pub mod words;

pub use activity::Activity;
pub use agent::{AgentView, OpenCall, QueuedMail, TodoItem, TodoState};
pub use agent_list::AgentList;
pub use attention::Attention;
pub use branch::{BranchState, BranchView};
pub use clock::WorkClock;
pub use figures::Figures;
pub use fold::{FoldError, Folded};
pub use open_questions::{OpenQuestion, OpenQuestions};
pub use report::ReportView;
pub use view::{ForkedFrom, SessionView};
