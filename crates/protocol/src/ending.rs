//! Every way in which an agent can end.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ModelErrorKind;
use crate::model_error::write_sentences;
use crate::words::grouped;

/// How an agent ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Ending {
    /// It finished its task, as far as it says.
    Completed,
    /// It could not continue.
    Failed {
        /// Why.
        failure: Failure,
    },
    /// A person or its parent stopped it.
    Cancelled,
    /// Its process ended before it did.
    Interrupted {
        /// What is known about it.
        reason: String,
    },
    /// It reached its time limit.
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
    /// What a person should read about an ending that nobody asked for.
    pub fn error_message(&self) -> Option<String> {
        match self {
            Self::Completed | Self::Cancelled => None,
            Self::Failed { failure } => Some(failure.to_string()),
            Self::Interrupted { reason } => Some(reason.clone()),
            Self::TimedOut | Self::OutOfTurns | Self::OutOfTokens | Self::OutOfMoney | Self::Refused => {
                Some(self.to_string())
            }
        }
    }

    /// How it ended, in a word or two. Its `Display` says why as well.
    pub fn in_a_word(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed { .. } => "failed",
            Self::Cancelled => "stopped",
            Self::Interrupted { .. } => "interrupted",
            Self::TimedOut => "out of time",
            Self::OutOfTurns => "out of turns",
            Self::OutOfTokens => "out of tokens",
            Self::OutOfMoney => "out of money",
            Self::Refused => "refused",
        }
    }

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

/// Why an agent could not continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "failure", rename_all = "snake_case")]
pub enum Failure {
    /// The model could not be reached or answered with an error.
    Model {
        /// What kind of error.
        kind: ModelErrorKind,
        /// What happened, in one line.
        message: String,
        /// What the server said about it; empty if nothing.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        said: String,
        /// What to do about it; empty if there is nothing to do.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        advice: String,
    },
    /// The model sent an empty reply, and another one when asked again.
    EmptyReply,
    /// Its report was shorter than a sentence. Only in older records: today a short answer counts.
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
    ContextFull {
        /// About how many tokens it has, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
        /// How many tokens the model takes, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
    },
    /// Posse itself could not continue (disk full, damaged record).
    Internal {
        /// What a person should read.
        message: String,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { message, said, advice, .. } => write_sentences(f, message, said, advice),
            Self::EmptyReply => f.write_str("the model gave an empty reply twice"),
            Self::NoReport => f.write_str("the agent gave no report worth the name, twice"),
            Self::ReplyCutOff => f.write_str("the model's replies were cut off again and again"),
            Self::RepeatedCall { tool } => {
                write!(f, "the model kept making the same {tool} call with the same result")
            }
            Self::MalformedCalls => {
                f.write_str("none of the model's tool calls could be run, several turns in a row")
            }
            Self::ContextFull { tokens, window } => write_too_large(f, *tokens, *window),
            Self::Internal { message } => f.write_str(message),
        }
    }
}

fn write_too_large(f: &mut fmt::Formatter<'_>, tokens: Option<u64>, window: Option<u64>) -> fmt::Result {
    let takes = match window {
        Some(window) => format!("the model's context is {}", grouped(window)),
        None => "more than the model's context".to_string(),
    };
    match tokens {
        Some(tokens) => {
            // It is an estimate: more digits would say more than is known.
            let tokens = if tokens < 10_000 { tokens } else { (tokens + 500) / 1_000 * 1_000 };
            let about = format!("the conversation is about {} tokens, {takes}", grouped(tokens));
            write!(f, "{about}; give it less text, or put it in a file and let the agent read it")
        }
        None => f.write_str("the task or the conversation is larger than the model's context"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_records_of_failures_are_read() {
        let old = [
            (r#"{"failure":"context_full"}"#, Failure::ContextFull { tokens: None, window: None }),
            (
                r#"{"failure":"model","kind":"stalled","message":"It was silent."}"#,
                Failure::Model {
                    kind: ModelErrorKind::Stalled,
                    message: "It was silent.".to_string(),
                    said: String::new(),
                    advice: String::new(),
                },
            ),
        ];
        for (text, want) in old {
            assert_eq!(serde_json::from_str::<Failure>(text).unwrap(), want);
            assert_eq!(serde_json::to_string(&want).unwrap(), text);
        }
    }

    #[test]
    fn failures_in_one_line() {
        let model = |said: &str, advice: &str| Failure::Model {
            kind: ModelErrorKind::NotAuthorised,
            message: "h refused the key (401)".to_string(),
            said: said.to_string(),
            advice: advice.to_string(),
        };
        let cases = [
            (model("", ""), "h refused the key (401)"),
            (model("No.", "check KEY"), "h refused the key (401). It said: No. Check KEY."),
            (model("No", ""), "h refused the key (401). It said: No."),
            (
                Failure::ContextFull { tokens: Some(1_000_000), window: Some(32_768) },
                "the conversation is about 1,000,000 tokens, the model's context is 32,768; give it less text, or put it in a file and let the agent read it",
            ),
            (
                Failure::ContextFull { tokens: Some(900), window: None },
                "the conversation is about 900 tokens, more than the model's context; give it less text, or put it in a file and let the agent read it",
            ),
        ];
        for (failure, want) in cases {
            assert_eq!(failure.to_string(), want);
        }
    }
}
