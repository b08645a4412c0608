//! What a person is asked before a call runs, and what they can answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CallId;

/// What a person is asked: whether a call may run, or what an agent wants to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// Which call of the agent.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The exact command, path or address, or the words of a free question; whole and as the agent wrote it.
    pub what: String,
    /// What the agent wants to know, where this is a free question. None where it is about whether a call may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<FreeQuestion>,
    /// Where a path really leads, links resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_path: Option<String>,
    /// What it would change, as a diff; its start and its end where it is very long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Whether it leaves the sandbox, and so has all the rights of the person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves: bool,
    /// For a call that leaves the sandbox: the files that the session wrote last, since it may run what is in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
    /// How many more it wrote.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub written_more: usize,
    /// For the same: what runs beside it and can write files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writing: Vec<String>,
    /// Why it is not done without asking; empty for a free question.
    pub why: String,
    /// What "for this pattern" would allow from now on; empty for a free question.
    pub pattern: String,
}

/// A question that is answered in words, and allows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FreeQuestion {
    /// Answers that the agent proposes; the person may give another one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

impl Question {
    /// A question about one call, with nothing told besides.
    pub fn new(call: CallId, tool: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            call,
            tool: tool.into(),
            what: what.into(),
            asks: None,
            real_path: None,
            preview: None,
            leaves: false,
            written: Vec::new(),
            written_more: 0,
            writing: Vec::new(),
            why: String::new(),
            pattern: String::new(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// This call may run.
    Once,
    /// From now on this agent's and everybody's calls of this tool may run, until the session ends.
    Session,
    /// From now on everything that the pattern matches may run, until the session ends.
    Pattern {
        /// Such as `edit_file(src/*)`.
        pattern: String,
    },
    /// It may not run, and that is final for this call; or the person does not answer a free question.
    No {
        /// What the agent is told.
        reason: String,
    },
    /// The person's words, for a free question.
    Said {
        /// What the agent is told.
        text: String,
    },
    /// Nobody is there to ask, so it did not run.
    Nobody,
    /// It was taken back before anybody answered: the agent was stopped, or told something else.
    Withdrawn,
}
