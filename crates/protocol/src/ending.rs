//! Every way in which an agent can end. There is no other.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ModelErrorKind;

/// How an agent ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Ending {
    /// It said that it was done.
    Completed,
    /// It could not go on.
    Failed {
        /// Why.
        failure: Failure,
    },
    /// A person or its parent stopped it.
    Cancelled,
    /// The process went away under it.
    Interrupted {
        /// What is known about it.
        reason: String,
    },
    /// Its time was over.
    TimedOut,
    /// Its turns were used up.
    OutOfTurns,
    /// Its tokens were used up.
    OutOfTokens,
    /// Its money was used up.
    OutOfMoney,
    /// The model declined to do it.
    Refused,
}

impl Ending {
    /// One word for tables and the database.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed { .. } => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted { .. } => "interrupted",
            Self::TimedOut => "timed_out",
            Self::OutOfTurns => "out_of_turns",
            Self::OutOfTokens => "out_of_tokens",
            Self::OutOfMoney => "out_of_money",
            Self::Refused => "refused",
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::Failed { failure } => write!(f, "failed: {failure}"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Interrupted { reason } => write!(f, "interrupted: {reason}"),
            Self::TimedOut => f.write_str("out of time"),
            Self::OutOfTurns => f.write_str("out of turns"),
            Self::OutOfTokens => f.write_str("out of tokens"),
            Self::OutOfMoney => f.write_str("out of money"),
            Self::Refused => f.write_str("the model refused"),
        }
    }
}

/// Why an agent could not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "failure", rename_all = "snake_case")]
pub enum Failure {
    /// The model could not be reached or answered with an error.
    Model {
        /// What kind of error.
        kind: ModelErrorKind,
        /// What a person should read.
        message: String,
    },
    /// The model said nothing, and again nothing when asked.
    EmptyReply,
    /// Its report was shorter than a sentence. Only on older records: a short answer is an answer.
    NoReport,
    /// The model's replies were cut off again and again, by the output limit or by the provider.
    ReplyCutOff,
    /// The model made the same call over and over, with the same result.
    RepeatedCall {
        /// The tool it called.
        tool: String,
    },
    /// None of the model's calls could be run (malformed, unknown, not allowed), several turns in a row.
    MalformedCalls,
    /// The conversation does not fit the model's context, and could not be made to.
    ContextFull,
    /// Posse itself could not go on (disk full, damaged record).
    Internal {
        /// What a person should read.
        message: String,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { message, .. } => f.write_str(message),
            Self::EmptyReply => f.write_str("the model gave an empty reply twice"),
            Self::NoReport => f.write_str("the agent gave no report worth the name, twice"),
            Self::ReplyCutOff => f.write_str("the model's replies were cut off again and again"),
            Self::RepeatedCall { tool } => {
                write!(f, "the model kept making the same {tool} call with the same result")
            }
            Self::MalformedCalls => {
                f.write_str("none of the model's tool calls could be run, several turns in a row")
            }
            Self::ContextFull => {
                f.write_str("the task or the conversation is larger than the model's context")
            }
            Self::Internal { message } => f.write_str(message),
        }
    }
}
