//! The messages of a conversation, independent of any provider's format.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Attachment, CallId};

/// One message of a conversation. The system prompt is kept separately: it is fixed for an agent's life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "author", rename_all = "snake_case")]
pub enum Message {
    /// Text of the person, the parent agent, or Posse itself.
    User {
        /// The words.
        text: String,
        /// What is shown with them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    /// One reply of the model.
    Assistant {
        /// What it said; empty if it only called tools.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// What it thought, in the order it came.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reasoning: Vec<Reasoning>,
        /// The tools it called, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// The results of all calls of one reply, in the order of the calls.
    Tools {
        /// One result per call.
        results: Vec<ToolResult>,
    },
}

impl Message {
    /// A user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), attachments: Vec::new() }
    }

    /// What is shown with it, results of tools included.
    pub fn attachments(&self) -> impl Iterator<Item = &Attachment> {
        let (own, results): (&[Attachment], &[ToolResult]) = match self {
            Self::User { attachments, .. } => (attachments, &[]),
            Self::Assistant { .. } => (&[], &[]),
            Self::Tools { results } => (&[], results),
        };
        own.iter().chain(results.iter().flat_map(|result| &result.attachments))
    }

    /// About how many bytes this message takes in a request; for estimates, not for buffers. An attachment counts as the
    /// text that takes as many tokens.
    pub fn bytes(&self) -> usize {
        const FRAME: usize = 32;
        match self {
            Self::User { text, attachments } => FRAME + text.len() + shown_bytes(attachments),
            Self::Assistant { text, reasoning, calls } => {
                let reasoning: usize = reasoning.iter().map(Reasoning::bytes).sum();
                let calls: usize = calls.iter().map(|c| FRAME + c.name.len() + c.arguments.len()).sum();
                FRAME + text.len() + reasoning + calls
            }
            Self::Tools { results } => {
                results.iter().map(|r| FRAME + r.text.len() + shown_bytes(&r.attachments)).sum()
            }
        }
    }
}

/// What somebody says, and what they show with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// What they say.
    pub text: String,
    /// What they show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

impl Words {
    /// About how many bytes they take in a request, as `Message::bytes` counts.
    pub fn bytes(&self) -> usize {
        self.text.len() + shown_bytes(&self.attachments)
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self { text, attachments: Vec::new() }
    }
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for Words {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl From<Words> for Message {
    fn from(words: Words) -> Self {
        Self::User { text: words.text, attachments: words.attachments }
    }
}

/// What attachments count for: their base64 is not text that a model reads.
fn shown_bytes(attachments: &[Attachment]) -> usize {
    attachments.iter().map(Attachment::text_bytes).sum()
}

/// One piece of a model's reasoning, with what its provider needs to get it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reasoning {
    /// The readable text; empty where the provider hides it.
    pub text: String,
    /// Which kind of provider it came from: only that kind gets it back.
    pub origin: ReasoningOrigin,
    /// The provider's own JSON for this piece (signatures, encrypted content), to be sent back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<String>,
}

impl Reasoning {
    fn bytes(&self) -> usize {
        self.opaque.as_ref().map_or(self.text.len(), String::len)
    }
}

/// Where a piece of reasoning came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningOrigin {
    /// `reasoning_content` (or `reasoning`) of Chat Completions.
    Chat,
    /// `reasoning_details` of Chat Completions.
    ChatDetails,
    /// A `reasoning` item of Responses.
    Responses,
    /// A `thinking` or `redacted_thinking` block of Anthropic Messages.
    Anthropic,
}

/// A model's request to run a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Unique within the conversation.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments exactly as the model wrote them. Not necessarily JSON: the code that runs it checks.
    pub arguments: String,
}

/// The result of one call, for the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// Which call this answers.
    pub id: CallId,
    /// Whether the call did what it was asked.
    pub ok: bool,
    /// The result, or what went wrong and what to do about it.
    pub text: String,
    /// What is shown with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}
