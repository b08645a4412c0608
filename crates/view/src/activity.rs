//! What an agent does right now, as data; the words are in [`crate::words`].

use posse_protocol::{ProgressKind, QueueReason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits;
use crate::text::cut;

/// What an agent does right now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Activity {
    /// It has not done anything yet.
    #[default]
    Starting,
    /// It waits for its turn to begin.
    Queued {
        /// What for.
        reason: QueueReason,
        /// The machine whose turn it waits for, where that is why.
        at: Option<String>,
    },
    /// It goes on where it was interrupted, or where a person has answered.
    GoingOn,
    /// Its request waits for its turn at the model's endpoint.
    WaitingForTurn,
    /// Its request is on its way.
    WaitingForModel,
    /// Its request is sent again.
    Retrying {
        /// Which retry: 1, 2, 3, …
        attempt: u32,
        /// How often it is tried in all; 0 where that is not known.
        attempts_max: u32,
        /// How long it waits first.
        delay_ms: u64,
        /// What went wrong.
        reason: String,
    },
    /// Its model reasons.
    Thinking,
    /// Its model writes.
    Writing,
    /// Its model writes a call.
    WritingCall {
        /// Of this tool.
        tool: String,
    },
    /// It looks at the workspace before its first command.
    LookingAtFiles {
        /// How many were looked at.
        files: u64,
    },
    /// A call of a tool.
    Calling {
        /// What it is about.
        title: String,
    },
    /// It waits for a person's answer.
    AskingPerson {
        /// The tool that it wants to use.
        tool: String,
        /// The command, path or address.
        what: String,
    },
    /// It has asked a person something, and waits for the answer.
    AskingQuestion {
        /// What it asks.
        question: String,
    },
    /// It has said what it has to say, and waits for its sub-agents.
    WaitingForSubAgents,
    /// Nothing: it has ended, or nobody works on the session.
    Nothing,
}

impl Activity {
    /// What an agent does that makes this progress; none if that is what it did before.
    pub(crate) fn of(progress: &ProgressKind) -> Option<Self> {
        Some(match progress {
            ProgressKind::Arriving | ProgressKind::Output { .. } => return None,
            ProgressKind::Text(_) | ProgressKind::TextSoFar(_) => Self::Writing,
            ProgressKind::Reasoning(_) => Self::Thinking,
            ProgressKind::Calling(tool) => Self::WritingCall { tool: cut(tool, limits::TEXT_CHARS_MAX) },
            ProgressKind::Queued => Self::WaitingForTurn,
            ProgressKind::Served => Self::WaitingForModel,
            ProgressKind::Keeping(files) => Self::LookingAtFiles { files: *files },
        })
    }
}

/// Whether this is a part of a reply.
pub(crate) fn is_reply(progress: &ProgressKind) -> bool {
    use ProgressKind::{Arriving, Calling, Reasoning, Text, TextSoFar};
    matches!(progress, Text(_) | TextSoFar(_) | Reasoning(_) | Calling(_) | Arriving)
}
