//! What goes into the machine and what comes out of it.

use posse_protocol::{
    Attachment, Budget, CallId, Ending, EventKind, ModelError, Prices, Purpose, Reply, Sender, ToolCall,
    Words,
};
use serde::{Deserialize, Serialize};

/// What is fixed for an agent's life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// What it may spend.
    pub budget: Budget,
    /// What its model costs, if known.
    pub prices: Option<Prices>,
    /// How many tokens its model takes in all, if known.
    pub context_window: Option<u64>,
    /// Bytes of its system prompt and tool descriptions, which are part of every request.
    pub fixed_bytes: usize,
    /// The longest report that its reader takes, in bytes, if a longer one is to be summed up by its model.
    pub sum_up_over: Option<usize>,
    /// Whether it rests after its answer and waits for the next prompt, instead of ending.
    #[serde(default)]
    pub stays: bool,
}

/// What an agent has to know of its sub-agents. Updated before each input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kin {
    /// Sub-agents that have not ended: the agent waits for them before it ends.
    pub live: usize,
    /// Tokens they have used or may still use.
    pub tokens: u64,
    /// Money they have used or may still use.
    pub cost_usd: f64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A message for the agent. The first starts it; later ones are delivered at its next turn.
    Told {
        /// Who wrote it.
        from: Sender,
        /// The text, and what is shown with it.
        text: Words,
    },
    /// Messages that arrived while it was idle have to be answered.
    GoOn,
    /// The requested model call returned.
    Replied(Reply),
    /// The requested model call failed, and all retries with it.
    ModelFailed(ModelError),
    /// All requested tool calls are answered.
    ToolsDone(Vec<Done>),
    /// It reached its time limit. The model call or tools in progress were stopped, with this result.
    TimeUp {
        /// Text of the reply that had arrived.
        partial: String,
        /// Calls that were answered before.
        done: Vec<Done>,
    },
    /// It was cancelled. The model call or tools in progress were stopped, with this result.
    Cancel {
        /// Text of the reply that had arrived.
        partial: String,
        /// Calls that were answered before.
        done: Vec<Done>,
    },
    /// A message arrived that cannot wait. The model call or tools in progress were stopped; the messages are delivered
    /// next.
    Interrupted {
        /// Text of the reply that had arrived.
        partial: String,
        /// Calls that were answered before.
        done: Vec<Done>,
    },
    /// The person stopped what it does. The model call or tools in progress were stopped, with this result. An agent that
    /// stays rests; any other ends.
    Stop {
        /// Text of the reply that had arrived.
        partial: String,
        /// Calls that were answered before.
        done: Vec<Done>,
    },
    /// The person wants the conversation shortened before it goes on.
    Compact,
    /// The session is closed: it does not stay any longer, and an agent that rests ends.
    Close,
    /// Posse itself cannot continue.
    Broken {
        /// The error, worded for a person.
        message: String,
    },
}

/// One answered call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Which call.
    pub id: CallId,
    /// Whether it did what it was asked.
    pub ok: bool,
    /// What the model is told.
    pub text: String,
    /// What the model is shown with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Whether the tool ran at all: wrong arguments and denials do not count.
    pub ran: bool,
    /// Whether it could have changed anything.
    pub read_only: bool,
}

/// What to do next, and what to record before that.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Decisions of the machine itself, in order.
    pub record: Vec<EventKind>,
    /// What to do now.
    pub step: Step,
}

/// The one thing to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Send the conversation to the model; answer with `Replied` or `ModelFailed`.
    CallModel {
        /// 1, 2, 3, …
        turn: u32,
        /// What for.
        purpose: Purpose,
    },
    /// Run these calls; answer with `ToolsDone`.
    CallTools {
        /// In the order of the reply. Calls that only read may run at the same time.
        calls: Vec<ToolCall>,
    },
    /// Do nothing until a message arrives or a call returns.
    Wait,
    /// It has answered, or could not, and waits for the next prompt.
    Rest(Ending),
    /// It has ended.
    Settle(Ending),
}
