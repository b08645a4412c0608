//! How an agent or a session does, in one word.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Ending;

/// The states of an agent. A session has those of its main agent, and never waits to begin.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// Admitted, and not begun.
    #[default]
    Pending,
    /// Waits for its turn to begin.
    Queued,
    /// At work, or waiting for sub-agents.
    Running,
    /// Waits for a person's answer.
    NeedsPerson,
    /// It has answered; its session is open for the next prompt.
    Resting,
    /// Its process is gone; it can be resumed.
    Interrupted,
    /// Ended: it said that it was done.
    Completed,
    /// Ended: it could not go on.
    Failed,
    /// Ended: a person or its parent stopped it.
    Cancelled,
    /// Ended: its time was over.
    TimedOut,
    /// Ended: its turns were used up.
    OutOfTurns,
    /// Ended: its tokens were used up.
    OutOfTokens,
    /// Ended: its money was used up.
    OutOfMoney,
    /// Ended: the model declined.
    Refused,
}

impl AgentState {
    /// Every state.
    pub const ALL: [Self; 14] = [
        Self::Pending,
        Self::Queued,
        Self::Running,
        Self::NeedsPerson,
        Self::Resting,
        Self::Interrupted,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
        Self::OutOfTurns,
        Self::OutOfTokens,
        Self::OutOfMoney,
        Self::Refused,
    ];

    /// The word that programs and the record have for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::NeedsPerson => "needs_person",
            Self::Resting => "resting",
            Self::Interrupted => "interrupted",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::OutOfTurns => "out_of_turns",
            Self::OutOfTokens => "out_of_tokens",
            Self::OutOfMoney => "out_of_money",
            Self::Refused => "refused",
        }
    }

    /// Whether it ended without having done what it was asked, and nobody wanted it so.
    pub fn is_failure(self) -> bool {
        use AgentState::{Failed, OutOfMoney, OutOfTokens, OutOfTurns, Refused, TimedOut};
        matches!(self, Failed | TimedOut | OutOfTurns | OutOfTokens | OutOfMoney | Refused)
    }
}

impl fmt::Display for AgentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl From<&Ending> for AgentState {
    fn from(ending: &Ending) -> Self {
        match ending {
            Ending::Completed => Self::Completed,
            Ending::Failed { .. } => Self::Failed,
            Ending::Cancelled => Self::Cancelled,
            Ending::Interrupted { .. } => Self::Interrupted,
            Ending::TimedOut => Self::TimedOut,
            Ending::OutOfTurns => Self::OutOfTurns,
            Ending::OutOfTokens => Self::OutOfTokens,
            Ending::OutOfMoney => Self::OutOfMoney,
            Ending::Refused => Self::Refused,
        }
    }
}

/// A word that is not a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownState;

impl fmt::Display for UnknownState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is not a state of an agent or a session")
    }
}

impl std::error::Error for UnknownState {}

impl FromStr for AgentState {
    type Err = UnknownState;

    fn from_str(word: &str) -> Result<Self, UnknownState> {
        Self::ALL.into_iter().find(|state| state.word() == word).ok_or(UnknownState)
    }
}
