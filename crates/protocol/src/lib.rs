//! The types that all crates share.
//!
//! Plain data with serde derives and a few pure functions on it. This crate must not know clocks, files, sockets,
//! async runtimes, databases or any provider's wire format.
#![forbid(unsafe_code)]

mod agent_state;
mod attachment;
mod budget;
mod call_kind;
mod change;
pub mod clip;
mod ending;
mod event;
mod grant;
mod handle;
mod hook_decision;
mod ids;
pub mod limits;
mod measured;
mod media;
mod message;
mod model_error;
mod note;
mod place;
mod question;
mod reply;
mod report;
mod role;
pub mod schemas;
mod task;
mod test_names;
mod title;
mod tool;
mod trace;
pub mod visible;
pub mod words;

pub use agent_state::{AgentState, UnknownState};
pub use attachment::{Attachment, AttachmentError, bytes_max as attachment_bytes_max};
pub use budget::{Budget, Prices, Spent};
pub use call_kind::CallKind;
pub use change::{Branch, Change, Conflict, KeptFile, Saved};
pub use ending::{Ending, Failure};
pub use event::{Event, EventKind, Progress, ProgressKind, Purpose, QueueReason, Sender, Update};
pub use grant::{Approval, Files, Grant, NameRules, Network, PathRules, Shell};
pub use handle::HandleRead;
pub use hook_decision::HookDecision;
pub use ids::{AgentId, CallId, MailId, ProcessId, Seq, SessionId};
pub use measured::{
    ChildEnded, CommandRun, CommandWork, CommitMade, RanTests, TestFileChange, TestFileDelta, TestRun,
    TestVerdict, TestsSeen,
};
pub use media::MediaType;
pub use message::{Message, Reasoning, ReasoningOrigin, ToolCall, ToolResult, Words};
pub use model_error::{ModelError, ModelErrorKind};
pub use note::{NewNote, Note, NoteScope};
pub use place::{ANYWHERE, HOME, PLACE_HINT, place};
pub use question::{Answer, FreeQuestion, Question};
pub use reply::{Reply, StopReason, Usage};
pub use report::{Below, Denial, FileChange, Receipt, Report};
pub use role::{ReportForm, Role, RoleOrigin};
pub use task::{Brief, ContextMode, Isolation, Task};
pub use test_names::{is_test_name, is_test_path};
pub use title::{TitleTooLong, title_of, typed_title};
pub use tool::{Effect, Needs, ToolOutcome, ToolSpec};
pub use trace::{NoTraceParent, SessionTrace, SpanId, TraceId, TraceParent};
