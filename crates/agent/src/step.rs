//! What goes into the machine and what comes out of it.

use posse_protocol::{
    Budget, CallId, Ending, EventKind, ModelError, Prices, Purpose, Reply, Sender, ToolCall,
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
}

/// What an agent has to know of its sub-agents. Told to it before each input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kin {
    /// Sub-agents that have not ended: an agent that has some does not end, it waits for them.
    pub live: usize,
    /// Tokens they have used or may still use.
    pub tokens: u64,
    /// Money they have used or may still use.
    pub cost_usd: f64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Words for the agent. The first starts it; later ones are delivered at its next turn.
    Told {
        /// Whose words.
        from: Sender,
        /// The words.
        text: String,
    },
    /// What it has heard while it rested is to be answered.
    GoOn,
    /// The model call that was asked for came back.
    Replied(Reply),
    /// The model call that was asked for failed for good.
    ModelFailed(ModelError),
    /// The calls that were asked for are all answered.
    ToolsDone(Vec<Done>),
    /// Its time is over. The call or tools under way were stopped; this is what there is of them.
    TimeUp {
        /// Text of the reply that had arrived.
        partial: String,
        /// Calls that were answered before.
        done: Vec<Done>,
    },
    /// Somebody stopped it. The call or tools under way were stopped; this is what there is of them.
    Cancel {
        /// Text of the reply that had arrived.
        partial: String,
        /// Calls that were answered before.
        done: Vec<Done>,
    },
    /// Somebody has something to say that cannot wait. The call or tools under way were stopped; what was told before
    /// this comes next.
    Interrupted {
        /// Text of the reply that had arrived.
        partial: String,
        /// Calls that were answered before.
        done: Vec<Done>,
    },
    /// Posse itself cannot go on.
    Broken {
        /// What a person should read.
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
    /// Whether the tool ran at all: wrong arguments and denials do not count.
    pub ran: bool,
    /// Whether it could have changed anything.
    pub read_only: bool,
}

/// What the machine wants next, and what is to be put on record before that.
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
        /// In the order of the reply. Those with the same effect on the world may run at the same time.
        calls: Vec<ToolCall>,
    },
    /// Nothing to do until somebody says something or what is under way comes back.
    Wait,
    /// It has ended.
    Settle(Ending),
}
