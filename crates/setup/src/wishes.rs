//! What somebody wants of one session, whichever interface they say it in.

use std::num::{NonZeroU32, NonZeroU64};

use posse_protocol::{Approval, TraceParent};
use posse_surface::Surface;

/// What counts for this session, over what the files say. The default wishes for nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wishes {
    /// A configured model, or `PROVIDER/MODEL`. Without it, `POSSE_MODEL` counts.
    pub model: Option<String>,
    /// Turns of the main agent.
    pub max_turns: Option<NonZeroU32>,
    /// Tokens of all requests and replies together.
    pub max_tokens: Option<NonZeroU64>,
    /// Wall time.
    pub max_time_ms: Option<u64>,
    /// Money, in US dollars.
    pub max_cost_usd: Option<f64>,
    /// The role that the main agent works in: it has the role's text, and at most its rights and its budget.
    pub role: Option<String>,
    /// What is done without asking.
    pub approval: Option<Approval>,
    /// The most that is done without asking where `approval` says nothing: what held when the session began.
    pub approval_max: Option<Approval>,
    /// Commands run without the sandbox.
    pub no_sandbox: bool,
    /// The folder may be a home folder, or hold homes.
    pub workspace_is_home: bool,
    /// Nobody is delegated to.
    pub alone: bool,
    /// The main agent has no tools at all: it only answers.
    pub no_tools: bool,
    /// The main agent only delegates.
    pub coordinator: bool,
    /// Agents write to each other and share a board of tasks.
    pub team: bool,
    /// The tools that models delegate with.
    pub surface: Option<Surface>,
    /// Somebody is there to answer questions.
    pub person: bool,
    /// The session stays open after the answer and waits for the next prompt.
    pub stay: bool,
    /// The span of whoever asks for the session. Without it, `TRACEPARENT` counts.
    pub traceparent: Option<TraceParent>,
}
