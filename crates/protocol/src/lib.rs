//! The nouns that every other crate speaks in.
//!
//! Plain data with serde derives and a few pure functions on it. This crate must not know clocks, files, sockets,
//! async runtimes, databases or any provider's wire format.
#![forbid(unsafe_code)]

mod budget;
mod ending;
mod event;
mod grant;
mod handle;
mod ids;
pub mod limits;
mod message;
mod model_error;
mod reply;
mod report;
mod role;
mod task;
mod tool;

pub use budget::{Budget, Prices, Spent};
pub use ending::{Ending, Failure};
pub use event::{Event, EventKind, Progress, ProgressKind, QueueReason, Sender, Update};
pub use grant::{Files, Grant, NameRules, Network, Shell};
pub use handle::HandleRead;
pub use ids::{AgentId, CallId, Seq, SessionId};
pub use message::{Message, Reasoning, ReasoningOrigin, ToolCall, ToolResult};
pub use model_error::{ModelError, ModelErrorKind};
pub use reply::{Reply, StopReason, Usage};
pub use report::{Below, CommandRun, FileChange, Receipt, Report, TestRun};
pub use role::{Role, RoleOrigin};
pub use task::{ContextMode, Task};
pub use tool::{Effect, Needs, ToolOutcome, ToolSpec};
